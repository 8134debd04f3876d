-- What a member's teams have on one project lies together: by team first, as the constraint has it, each team was another
-- page. Unique, so that SQLite prefers it.
create unique index team_projects_place on team_projects (project_id, team_id);
