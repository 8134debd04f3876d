-- What a member's teams have on one project lies together: with team and project in the order of the constraint, each team
-- was another page of the largest index.
create unique index team_projects_place on team_projects (project_id, team_id);
