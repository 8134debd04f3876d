-- Indexes that are small or hold all that the most frequent questions take, so that fewer rows have to be fetched.

-- A page of access, in its order.
drop index team_projects_order;
create index team_projects_order on team_projects (project_id, created_at, id, team_id, access, chosen, beyond);
drop index team_workspaces_order;
create index team_workspaces_order on team_workspaces (workspace_id, created_at, id, team_id, access, chosen, beyond);

-- The few teams that hold anything for a whole organization, and the few site admins. Where an index is known to be
-- unique, SQLite prefers it to that of all.
create unique index teams_holding on teams (id) where organization_access <> 0 or name = 'owners';
drop index users_admin;
create unique index users_admin on users (id) where is_admin = 1;
