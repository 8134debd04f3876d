-- What a change did to effective access, and the project and the team that it concerns. Rows from before say none of it,
-- and their hashes hold: what is hashed leaves out later columns that say nothing.

alter table audit_events add column effect ctext;
alter table audit_events add column project_id ctext;
alter table audit_events add column team_id ctext;

-- For the trail of one project, one team or one actor. A row from before is found by its resource, where that is the project or the team.
create index audit_events_project on audit_events (
  chain, coalesce(project_id, case resource_type when 'project' then resource_id end), position
);
create index audit_events_team on audit_events (
  chain, coalesce(team_id, case resource_type when 'team' then resource_id end), position
);
create index audit_events_actor on audit_events (chain, actor_id, position);
create index audit_events_action on audit_events (chain, action, position);
