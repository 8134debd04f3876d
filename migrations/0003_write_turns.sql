-- Has no rows. On PostgreSQL every write locks it first, so that writes go one after the other on all servers, as they
-- do on SQLite: each is authorised by the state that it commits against.
create table write_turns (
  id ctext primary key
);
