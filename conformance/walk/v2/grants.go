package main

import (
	"bailiwick.test/conformance/walk/report"
	"github.com/hashicorp/go-tfe/v2"
	"github.com/hashicorp/go-tfe/v2/api/models"
	"github.com/hashicorp/go-tfe/v2/api/teamprojects"
	"github.com/hashicorp/go-tfe/v2/api/teamworkspaces"
)

// level is what a level stands for on a project and on its workspaces.
type level struct {
	access              string
	project, workspaces object
}

func onWorkspaces(runs, sentinelMocks, stateVersions, variables string, create, locking, move, remove, runTasks bool) object {
	return object{
		"runs": runs, "sentinel-mocks": sentinelMocks, "state-versions": stateVersions, "variables": variables,
		"create": create, "locking": locking, "move": move, "delete": remove, "run-tasks": runTasks,
	}
}

var projectLevels = []level{
	{"read", object{"settings": "read", "teams": "none"}, onWorkspaces("read", "none", "read", "read", false, false, false, false, false)},
	{"write", object{"settings": "read", "teams": "none"}, onWorkspaces("apply", "read", "write", "write", false, true, false, false, false)},
	{"maintain", object{"settings": "read", "teams": "none"}, onWorkspaces("apply", "read", "write", "write", true, true, false, true, true)},
	{"admin", object{"settings": "delete", "teams": "manage"}, onWorkspaces("apply", "read", "write", "write", true, true, true, true, true)},
}

func (w *walk) teamProjects() {
	const (
		family   = "Team access to projects"
		listPath = "/api/v2/team-projects"
		onePath  = "/api/v2/team-projects/{id}"
	)
	type query = teamprojects.TeamProjectsRequestBuilderGetQueryParameters
	one := func(id string) *teamprojects.WithTeam_project_ItemRequestBuilder {
		return w.api.TeamProjects().ByTeam_project_id(id)
	}
	// The provider always sends both objects, and empty ones with a fixed level.
	body := func(c check, access string, project, workspaces, relationships object) *models.TeamProjectsEnvelope {
		return fill(c, models.NewTeamProjectsEnvelope(), envelope("team-projects", object{
			"access": access, "project-access": project, "workspace-access": workspaces,
		}, relationships))
	}
	grant := func(c check, team, project, access string, onProject, onWorkspaces object) (models.TeamProjectsEnvelopeable, error) {
		relationships := object{"team": to("teams", team), "project": to("projects", project)}
		return w.api.TeamProjects().Post(w.context, body(c, access, onProject, onWorkspaces, relationships), nil)
	}
	add := func(c check, access string, onProject, onWorkspaces object) resource {
		return c.got(grant(c, c.needs("team", w.team).id(), c.needs("project", w.project).id(), access, onProject, onWorkspaces)).one
	}
	update := func(c check, id, access string, onProject, onWorkspaces object) resource {
		changed := c.got(one(id).Patch(w.context, body(c, access, onProject, onWorkspaces, nil), nil)).one
		report.Equal(c.Check, "grant read again", c.got(one(id).Get(w.context, nil)).one, changed)
		return changed
	}
	stands := func(c check, grant resource, level level) {
		c.has(grant, object{"access": level.access, "project-access": level.project, "workspace-access": level.workspaces})
	}
	var made resource

	for _, level := range projectLevels {
		w.check(family, "POST "+listPath, "grant with the level "+level.access, func(c check) {
			made := add(c, level.access, object{}, object{})
			stands(c, made, level)
			report.Equal(c.Check, "team", made.related("team"), w.team.id())
			report.Equal(c.Check, "project", made.related("project"), w.project.id())
			c.OK(one(made.id()).Delete(w.context, nil))
		})
	}
	w.check(family, "POST "+listPath, "a custom grant of a few permissions takes the defaults", func(c check) {
		made := add(c, "custom", object{}, object{"runs": "plan", "locking": true})
		stands(c, made, level{"custom", object{"settings": "read", "teams": "none"}, onWorkspaces("plan", "none", "none", "none", false, true, false, false, false)})
		c.OK(one(made.id()).Delete(w.context, nil))
	})
	w.check(family, "POST "+listPath, "a custom grant of every permission", func(c check) {
		onProject := object{"settings": "update", "teams": "manage", "variable-sets": "write"}
		all := onWorkspaces("apply", "read", "read-outputs", "write", true, true, true, true, true)
		all["policy-overrides"] = true
		made = add(c, "custom", onProject, all)
		stands(c, made, level{"custom", onProject, all})
	})
	w.check(family, "POST "+listPath, "a second grant for the pair and an absent team or project are refused", func(c check) {
		c.needs("grant", made)
		_, err := grant(c, w.team.id(), w.project.id(), "read", object{}, object{})
		c.Is(err, tfe.ErrUnprocessableEntity)
		_, err = grant(c, nobody, w.project.id(), "read", object{}, object{})
		c.Is(err, tfe.ErrNotFound)
		_, err = grant(c, w.team.id(), nobody, "read", object{}, object{})
		c.Is(err, tfe.ErrNotFound)
	})
	w.check(family, "GET "+onePath, "read gives what create gave", func(c check) {
		c.needs("grant", made)
		report.Equal(c.Check, "grant", c.got(one(made.id()).Get(w.context, nil)).one, made)
		_, err := one(nobody).Get(w.context, nil)
		c.Is(err, tfe.ErrNotFound)
	})
	w.check(family, "GET "+listPath, "list holds what create gave", func(c check) {
		c.needs("grant", made)
		list := func(query query) document {
			query.Filterprojectid = new(w.project.id())
			return c.got(w.api.TeamProjects().Get(w.context, with(query)))
		}
		report.Equal(c.Check, "grants", list(query{}).many, []resource{made})
		report.Equal(c.Check, "grants of the team", list(query{Filterteamid: new(w.team.id()), Pagesize: new(int32(100))}).many, []resource{made})
		c.holds("pagination", list(query{}).pagination, object{"current-page": 1, "prev-page": nil, "next-page": nil, "total-pages": 1, "total-count": 1})
		c.That("a page past the end is empty", len(list(query{Pagenumber: new(int32(999))}).many) == 0)
		_, err := w.api.TeamProjects().Get(w.context, with(query{Filterprojectid: new(nobody)}))
		c.Is(err, tfe.ErrNotFound)
	})
	w.check(family, "PATCH "+onePath, "from custom to custom, what is not sent stays", func(c check) {
		changed := update(c, c.needs("grant", made).id(), "custom", object{"teams": "read"}, object{"create": false, "policy-overrides": false})
		wanted := onWorkspaces("apply", "read", "read-outputs", "write", false, true, true, true, true)
		wanted["policy-overrides"] = false
		stands(c, changed, level{"custom", object{"settings": "update", "teams": "read", "variable-sets": "write"}, wanted})
	})
	for _, level := range projectLevels {
		w.check(family, "PATCH "+onePath, "to the level "+level.access, func(c check) {
			stands(c, update(c, c.needs("grant", made).id(), level.access, object{}, object{}), level)
		})
	}
	w.check(family, "PATCH "+onePath, "from fixed to custom, what is not sent keeps its implied value", func(c check) {
		c.needs("grant", made)
		update(c, made.id(), "write", object{}, object{})
		changed := update(c, made.id(), "custom", object{"settings": "delete"}, object{"move": true})
		stands(c, changed, level{"custom", object{"settings": "delete", "teams": "none"}, onWorkspaces("apply", "read", "write", "write", false, true, true, false, false)})
	})
	w.check(family, "PATCH "+onePath, "an absent one is not found", func(c check) {
		_, err := one(nobody).Patch(w.context, body(c, "read", object{}, object{}, nil), nil)
		c.Is(err, tfe.ErrNotFound)
	})
	w.check(family, "DELETE "+onePath, "remove", func(c check) {
		c.OK(one(c.needs("grant", made).id()).Delete(w.context, nil))
		_, err := one(made.id()).Get(w.context, nil)
		c.Is(err, tfe.ErrNotFound)
		c.Is(one(made.id()).Delete(w.context, nil), tfe.ErrNotFound)
	})
	w.check(family, "GET "+onePath, "a grant goes with its team", func(c check) {
		team := c.got(w.createTeam(c, object{"name": "short"})).one
		made := c.got(grant(c, team.id(), c.needs("project", w.project).id(), "read", object{}, object{})).one
		c.OK(w.api.Teams().ById(team.id()).Delete(w.context, nil))
		_, err := one(made.id()).Get(w.context, nil)
		c.Is(err, tfe.ErrNotFound)
	})
}

func onWorkspace(access, runs, variables, stateVersions, sentinelMocks string, locking, runTasks bool) object {
	return object{
		"access": access, "runs": runs, "variables": variables, "state-versions": stateVersions, "sentinel-mocks": sentinelMocks,
		"workspace-locking": locking, "run-tasks": runTasks,
	}
}

var workspaceLevels = []object{
	onWorkspace("read", "read", "read", "read", "none", false, false),
	onWorkspace("plan", "plan", "read", "read", "none", false, false),
	onWorkspace("write", "apply", "write", "write", "read", true, false),
	onWorkspace("admin", "apply", "write", "write", "read", true, true),
}

func (w *walk) teamWorkspaces() {
	const (
		family   = "Team access to workspaces"
		listPath = "/api/v2/team-workspaces"
		onePath  = "/api/v2/team-workspaces/{id}"
	)
	type query = teamworkspaces.TeamWorkspacesRequestBuilderGetQueryParameters
	one := func(id string) *teamworkspaces.WithTeam_workspace_ItemRequestBuilder {
		return w.api.TeamWorkspaces().ByTeam_workspace_id(id)
	}
	body := func(c check, attributes, relationships object) *models.TeamWorkspacesEnvelope {
		return fill(c, models.NewTeamWorkspacesEnvelope(), envelope("team-workspaces", attributes, relationships))
	}
	grant := func(c check, workspace string, attributes object) (models.TeamWorkspacesEnvelopeable, error) {
		relationships := object{"team": to("teams", c.needs("team", w.team).id()), "workspace": to("workspaces", workspace)}
		return w.api.TeamWorkspaces().Post(w.context, body(c, attributes, relationships), nil)
	}
	add := func(c check, attributes object) resource {
		return c.got(grant(c, c.needs("workspace", w.workspace).id(), attributes)).one
	}
	update := func(c check, id string, attributes object) resource {
		changed := c.got(one(id).Patch(w.context, body(c, attributes, nil), nil)).one
		report.Equal(c.Check, "grant read again", c.got(one(id).Get(w.context, nil)).one, changed)
		return changed
	}
	var made resource

	for _, level := range workspaceLevels {
		access := level["access"].(string)
		w.check(family, "POST "+listPath, "grant with the level "+access, func(c check) {
			made := add(c, object{"access": access})
			c.has(made, level)
			report.Equal(c.Check, "team", made.related("team"), w.team.id())
			report.Equal(c.Check, "workspace", made.related("workspace"), w.workspace.id())
			c.OK(one(made.id()).Delete(w.context, nil))
		})
	}
	w.check(family, "POST "+listPath, "a permission with a fixed level is refused", func(c check) {
		_, err := grant(c, c.needs("workspace", w.workspace).id(), object{"access": "read", "runs": "apply"})
		c.Is(err, tfe.ErrUnprocessableEntity)
		c.Says(err, "invalid attribute", "read", "custom")
	})
	w.check(family, "POST "+listPath, "a custom grant", func(c check) {
		made = add(c, object{"access": "custom", "runs": "plan", "state-versions": "read-outputs", "run-tasks": true})
		c.has(made, onWorkspace("custom", "plan", "none", "read-outputs", "none", false, true))
	})
	w.check(family, "POST "+listPath, "a second grant for the pair is refused", func(c check) {
		c.needs("grant", made)
		_, err := grant(c, w.workspace.id(), object{"access": "read"})
		c.Says(err, "invalid attribute")
		_, err = grant(c, nobody, object{"access": "read"})
		c.Is(err, tfe.ErrNotFound)
	})
	w.check(family, "GET "+onePath, "read gives what create gave", func(c check) {
		c.needs("grant", made)
		report.Equal(c.Check, "grant", c.got(one(made.id()).Get(w.context, nil)).one, made)
		_, err := one(nobody).Get(w.context, nil)
		c.Is(err, tfe.ErrNotFound)
	})
	w.check(family, "GET "+listPath, "list holds what create gave", func(c check) {
		c.needs("grant", made)
		list := func(query query) document {
			query.Filterworkspaceid = new(w.workspace.id())
			return c.got(w.api.TeamWorkspaces().Get(w.context, with(query)))
		}
		report.Equal(c.Check, "grants", list(query{}).many, []resource{made})
		report.Equal(c.Check, "grants of the team", list(query{Filterteamid: new(w.team.id()), Pagesize: new(int32(100))}).many, []resource{made})
		c.That("a page past the end is empty", len(list(query{Pagenumber: new(int32(999))}).many) == 0)
		_, err := w.api.TeamWorkspaces().Get(w.context, with(query{Filterworkspaceid: new(nobody)}))
		c.Is(err, tfe.ErrNotFound)
	})
	for _, level := range workspaceLevels {
		access := level["access"].(string)
		w.check(family, "PATCH "+onePath, "to the level "+access, func(c check) {
			c.has(update(c, c.needs("grant", made).id(), object{"access": access}), level)
		})
	}
	w.check(family, "PATCH "+onePath, "from fixed to custom, what is not sent keeps its implied value", func(c check) {
		c.needs("grant", made)
		update(c, made.id(), object{"access": "write"})
		changed := update(c, made.id(), object{"access": "custom", "variables": "none"})
		c.has(changed, onWorkspace("custom", "apply", "none", "write", "read", true, false))
	})
	w.check(family, "DELETE "+onePath, "remove", func(c check) {
		c.OK(one(c.needs("grant", made).id()).Delete(w.context, nil))
		_, err := one(made.id()).Get(w.context, nil)
		c.Is(err, tfe.ErrNotFound)
		c.Is(one(made.id()).Delete(w.context, nil), tfe.ErrNotFound)
	})
}
