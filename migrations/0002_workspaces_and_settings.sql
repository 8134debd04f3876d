-- Workspaces, team access to them, tags, and the settings that clients keep on organizations, projects and workspaces.
-- Settings that decide nothing here are one JSON object of what was set; their defaults are in the code.

alter table users add column unconfirmed_email ctext;
alter table users add column password_hash ctext;

alter table organizations add column user_tokens_enabled integer not null default 1;
alter table organizations add column settings ctext not null default '{}';

alter table projects add column settings ctext not null default '{}';

alter table authentication_tokens add column last_used_at ctext;

-- What the actor was called at the time.
alter table audit_events add column actor_name ctext;

create table workspaces (
  id ctext primary key,
  organization_id ctext not null references organizations (id) on delete cascade,
  project_id ctext not null,
  name ctext not null,
  settings ctext not null,
  locked_by_type ctext,
  locked_by_id ctext,
  lock_reason ctext,
  created_at ctext not null,
  updated_at ctext not null,
  check ((locked_by_type is null) = (locked_by_id is null)),
  unique (id, organization_id),
  foreign key (project_id, organization_id) references projects (id, organization_id) on delete cascade
);
create unique index workspaces_name on workspaces (organization_id, lower(name));
create index workspaces_order on workspaces (organization_id, created_at, id);
create index workspaces_project on workspaces (project_id, created_at, id);

-- As team_projects: team and workspace belong to one organization, and only a custom grant carries permissions.
create table team_workspaces (
  id ctext primary key,
  organization_id ctext not null,
  workspace_id ctext not null,
  team_id ctext not null,
  access ctext not null check (access in ('read', 'plan', 'write', 'admin', 'custom')),
  chosen integer,
  beyond integer,
  created_at ctext not null,
  check ((access = 'custom') = (chosen is not null)),
  check ((chosen is null) = (beyond is null)),
  unique (team_id, workspace_id),
  foreign key (team_id, organization_id) references teams (id, organization_id) on delete cascade,
  foreign key (workspace_id, organization_id) references workspaces (id, organization_id) on delete cascade
);
create index team_workspaces_order on team_workspaces (workspace_id, created_at, id);

-- A key and a value on a project or on a workspace, which has those of its project too unless it sets the key itself.
-- ordinal is the place in the order in which they were given.
create table tag_bindings (
  id ctext primary key,
  project_id ctext references projects (id) on delete cascade,
  workspace_id ctext references workspaces (id) on delete cascade,
  key ctext not null,
  value ctext not null,
  ordinal integer not null,
  created_at ctext not null,
  check ((project_id is null) <> (workspace_id is null))
);
create unique index tag_bindings_project on tag_bindings (project_id, key);
create unique index tag_bindings_workspace on tag_bindings (workspace_id, key);
