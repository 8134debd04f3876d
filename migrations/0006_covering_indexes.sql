-- Indexes that hold all that the most frequent questions take, so that the rows themselves are left alone.

-- A page of access, in its order.
drop index team_projects_order;
create index team_projects_order on team_projects (project_id, created_at, id, team_id, access, chosen, beyond);
drop index team_workspaces_order;
create index team_workspaces_order on team_workspaces (workspace_id, created_at, id, team_id, access, chosen, beyond);

-- Whether a user belongs to an organization, and as what.
create index organization_memberships_member on organization_memberships (user_id, organization_id, id);

-- The few teams that hold anything for a whole organization.
create index teams_holding on teams (id, organization_access, name) where organization_access <> 0 or name = 'owners';
