-- The audit trail as chains: one for each organization, and one for what belongs to none.
-- A row holds its place in its chain, the hash of the row before it, and the hash of all that it says.
-- Rows from before are linked by the code, in this migration's own transaction.

alter table audit_events add column chain ctext;
alter table audit_events add column position integer;
alter table audit_events add column previous_hash ctext;
alter table audit_events add column hash ctext;
create unique index audit_events_chain on audit_events (chain, position);
-- Empty, unless somebody else has written: what belongs to no chain is found without a look at every row.
create index audit_events_unlinked on audit_events (id) where chain is null or position is null;

-- The last row of each chain, so that one that was cut is seen to be. No foreign keys: it outlives its organization.
create table audit_heads (
  chain ctext primary key,
  position integer not null,
  hash ctext not null
);
