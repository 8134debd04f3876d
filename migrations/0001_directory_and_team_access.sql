-- One text for SQLite and PostgreSQL. ctext is text compared and ordered bytewise on both.
-- Flags are integers 0 and 1, times are ISO 8601 text ending in Z, permission sets are integers.

create table server_keys (
  name ctext primary key,
  value ctext not null
);

create table users (
  id ctext primary key,
  username ctext not null,
  email ctext not null,
  is_admin integer not null,
  created_at ctext not null
);
create unique index users_username on users (lower(username));
create unique index users_email on users (lower(email));
create index users_order on users (created_at, id);
create index users_admin on users (id) where is_admin = 1;

create table organizations (
  id ctext primary key,
  name ctext not null,
  email ctext not null,
  created_at ctext not null
);
create unique index organizations_name on organizations (lower(name));

-- Either a user's membership, or an invitation by e-mail until a user of that e-mail exists.
create table organization_memberships (
  id ctext primary key,
  organization_id ctext not null references organizations (id) on delete cascade,
  user_id ctext references users (id) on delete cascade,
  invited_email ctext,
  created_at ctext not null,
  check ((user_id is null) <> (invited_email is null)),
  unique (user_id, organization_id),
  unique (id, organization_id)
);
create unique index organization_memberships_invited on organization_memberships (lower(invited_email), organization_id);
create index organization_memberships_order on organization_memberships (organization_id, created_at, id);

create table teams (
  id ctext primary key,
  organization_id ctext not null references organizations (id) on delete cascade,
  name ctext not null,
  visibility ctext not null check (visibility in ('secret', 'organization')),
  sso_team_id ctext,
  allow_member_token_management integer not null,
  organization_access integer not null,
  created_at ctext not null,
  unique (id, organization_id)
);
create unique index teams_name on teams (organization_id, lower(name));
create index teams_order on teams (organization_id, created_at, id);

create table team_memberships (
  organization_id ctext not null,
  team_id ctext not null,
  membership_id ctext not null,
  created_at ctext not null,
  primary key (team_id, membership_id),
  foreign key (team_id, organization_id) references teams (id, organization_id) on delete cascade,
  foreign key (membership_id, organization_id) references organization_memberships (id, organization_id) on delete cascade
);
create index team_memberships_member on team_memberships (membership_id, team_id);

create table projects (
  id ctext primary key,
  organization_id ctext not null references organizations (id) on delete cascade,
  name ctext not null,
  description ctext,
  is_default integer not null,
  created_at ctext not null,
  unique (id, organization_id)
);
create unique index projects_name on projects (organization_id, lower(name));
create unique index projects_default on projects (organization_id) where is_default = 1;
create index projects_order on projects (organization_id, created_at, id);

-- Team and project belong to one organization. A fixed level carries no permissions of its own; a custom grant has
-- those chosen, and beyond: the mask of the permissions later than the interface that it shows.
create table team_projects (
  id ctext primary key,
  organization_id ctext not null,
  project_id ctext not null,
  team_id ctext not null,
  access ctext not null check (access in ('read', 'write', 'maintain', 'admin', 'custom')),
  chosen integer,
  beyond integer,
  created_at ctext not null,
  check ((access = 'custom') = (chosen is not null)),
  check ((chosen is null) = (beyond is null)),
  unique (team_id, project_id),
  foreign key (team_id, organization_id) references teams (id, organization_id) on delete cascade,
  foreign key (project_id, organization_id) references projects (id, organization_id) on delete cascade
);
create index team_projects_order on team_projects (project_id, created_at, id);

-- A token belongs to a user, a team or an organization. lookup is its public part; the secret part is stored as a keyed hash.
-- slot holds at most one token per owner where the interface knows only one.
create table authentication_tokens (
  id ctext primary key,
  lookup ctext not null unique,
  hash ctext not null,
  user_id ctext references users (id) on delete cascade,
  team_id ctext references teams (id) on delete cascade,
  organization_id ctext references organizations (id) on delete cascade,
  slot ctext,
  description ctext,
  created_by_type ctext not null,
  created_by_id ctext not null,
  created_at ctext not null,
  expired_at ctext
);
create unique index authentication_tokens_hash on authentication_tokens (hash);
create index authentication_tokens_user on authentication_tokens (user_id, created_at, id);
create index authentication_tokens_team on authentication_tokens (team_id, created_at, id);
create index authentication_tokens_organization on authentication_tokens (organization_id, created_at, id);
create unique index authentication_tokens_team_slot on authentication_tokens (team_id, slot);
create unique index authentication_tokens_organization_slot on authentication_tokens (organization_id, slot);
create unique index authentication_tokens_description on authentication_tokens (team_id, description);

-- No foreign keys: an event outlives all that it tells of.
create table audit_events (
  id ctext primary key,
  organization_id ctext,
  action ctext not null,
  resource_type ctext not null,
  resource_id ctext not null,
  actor_type ctext not null,
  actor_id ctext not null,
  token_id ctext not null,
  request_id ctext not null,
  created_at ctext not null,
  before_change ctext,
  after_change ctext
);
create index audit_events_order on audit_events (organization_id, created_at, id);
