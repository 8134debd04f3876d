package main

import (
	"bailiwick.test/conformance/walk/report"
	"github.com/hashicorp/go-tfe"
)

type (
	onProject    = tfe.TeamProjectAccessProjectPermissions
	onWorkspaces = tfe.TeamProjectAccessWorkspacePermissions
)

// What each level on a project stands for. Variable sets are left to the server where the level is fixed.
var projectLevels = []struct {
	access     tfe.TeamProjectAccessType
	project    onProject
	workspaces onWorkspaces
}{
	{tfe.TeamProjectAccessRead,
		onProject{ProjectSettingsPermission: "read", ProjectTeamsPermission: "none"},
		onWorkspaces{WorkspaceRunsPermission: "read", WorkspaceSentinelMocksPermission: "none", WorkspaceStateVersionsPermission: "read", WorkspaceVariablesPermission: "read"}},
	{tfe.TeamProjectAccessWrite,
		onProject{ProjectSettingsPermission: "read", ProjectTeamsPermission: "none"},
		onWorkspaces{WorkspaceRunsPermission: "apply", WorkspaceSentinelMocksPermission: "read", WorkspaceStateVersionsPermission: "write", WorkspaceVariablesPermission: "write", WorkspaceLockingPermission: true}},
	{tfe.TeamProjectAccessMaintain,
		onProject{ProjectSettingsPermission: "read", ProjectTeamsPermission: "none"},
		onWorkspaces{WorkspaceRunsPermission: "apply", WorkspaceSentinelMocksPermission: "read", WorkspaceStateVersionsPermission: "write", WorkspaceVariablesPermission: "write",
			WorkspaceCreatePermission: true, WorkspaceLockingPermission: true, WorkspaceDeletePermission: true, WorkspaceRunTasksPermission: true}},
	{tfe.TeamProjectAccessAdmin,
		onProject{ProjectSettingsPermission: "delete", ProjectTeamsPermission: "manage"},
		onWorkspaces{WorkspaceRunsPermission: "apply", WorkspaceSentinelMocksPermission: "read", WorkspaceStateVersionsPermission: "write", WorkspaceVariablesPermission: "write",
			WorkspaceCreatePermission: true, WorkspaceLockingPermission: true, WorkspaceMovePermission: true, WorkspaceDeletePermission: true, WorkspaceRunTasksPermission: true}},
}

// permissions compares both parts of a grant; variable sets count only if they are asked for.
func permissions(c *report.Check, grant *tfe.TeamProjectAccess, access tfe.TeamProjectAccessType, project onProject, workspaces onWorkspaces) {
	report.Equal(c, "access", grant.Access, access)
	got := *report.Needs(c, "project-access", grant.ProjectAccess)
	if project.ProjectVariableSetsPermission == "" {
		got.ProjectVariableSetsPermission = ""
	}
	report.Equal(c, "project-access with "+string(access), got, project)
	report.Equal(c, "workspace-access with "+string(access), *report.Needs(c, "workspace-access", grant.WorkspaceAccess), workspaces)
}

func (w *walk) teamProjects() {
	const (
		family   = "Team access to projects"
		listPath = "/api/v2/team-projects"
		onePath  = "/api/v2/team-projects/{id}"
	)
	grants := w.client.TeamProjectAccess
	var grant *tfe.TeamProjectAccess
	add := func(c *report.Check, options tfe.TeamProjectAccessAddOptions) *tfe.TeamProjectAccess {
		options.Team, options.Project = report.Needs(c, "team", w.team), report.Needs(c, "project", w.project)
		made, err := grants.Add(w.context, options)
		c.OK(err)
		return made
	}
	update := func(c *report.Check, id string, options tfe.TeamProjectAccessUpdateOptions) *tfe.TeamProjectAccess {
		changed, err := grants.Update(w.context, id, options)
		c.OK(err)
		read, err := grants.Read(w.context, id)
		c.OK(err)
		report.Equal(c, "grant read again", read, changed)
		return changed
	}

	for _, level := range projectLevels {
		w.Check(family, "POST "+listPath, "grant with the level "+string(level.access), func(c *report.Check) {
			made := add(c, tfe.TeamProjectAccessAddOptions{Access: level.access})
			permissions(c, made, level.access, level.project, level.workspaces)
			report.Equal(c, "team", report.Needs(c, "team of it", made.Team).ID, w.team.ID)
			report.Equal(c, "project", report.Needs(c, "project of it", made.Project).ID, w.project.ID)
			c.OK(grants.Remove(w.context, made.ID))
		})
	}
	w.Check(family, "POST "+listPath, "a custom grant of a few permissions takes the defaults", func(c *report.Check) {
		made := add(c, tfe.TeamProjectAccessAddOptions{
			Access:        tfe.TeamProjectAccessCustom,
			ProjectAccess: &tfe.TeamProjectAccessProjectPermissionsOptions{},
			WorkspaceAccess: &tfe.TeamProjectAccessWorkspacePermissionsOptions{
				Runs: tfe.WorkspaceRunsPermission(tfe.WorkspaceRunsPermissionPlan), Locking: tfe.Bool(true), Delete: tfe.Bool(false),
			},
		})
		permissions(c, made, tfe.TeamProjectAccessCustom,
			onProject{ProjectSettingsPermission: "read", ProjectTeamsPermission: "none"},
			onWorkspaces{WorkspaceRunsPermission: "plan", WorkspaceSentinelMocksPermission: "none", WorkspaceStateVersionsPermission: "none", WorkspaceVariablesPermission: "none", WorkspaceLockingPermission: true})
		c.OK(grants.Remove(w.context, made.ID))
	})
	w.Check(family, "POST "+listPath, "a custom grant of every permission", func(c *report.Check) {
		grant = add(c, tfe.TeamProjectAccessAddOptions{
			Access: tfe.TeamProjectAccessCustom,
			ProjectAccess: &tfe.TeamProjectAccessProjectPermissionsOptions{
				Settings:     tfe.ProjectSettingsPermission(tfe.ProjectSettingsPermissionUpdate),
				Teams:        tfe.ProjectTeamsPermission(tfe.ProjectTeamsPermissionManage),
				VariableSets: tfe.ProjectVariableSetsPermission(tfe.ProjectVariableSetsPermissionWrite),
			},
			WorkspaceAccess: &tfe.TeamProjectAccessWorkspacePermissionsOptions{
				Runs:          tfe.WorkspaceRunsPermission(tfe.WorkspaceRunsPermissionApply),
				SentinelMocks: tfe.WorkspaceSentinelMocksPermission(tfe.WorkspaceSentinelMocksPermissionRead),
				StateVersions: tfe.WorkspaceStateVersionsPermission(tfe.WorkspaceStateVersionsPermissionReadOutputs),
				Variables:     tfe.WorkspaceVariablesPermission(tfe.WorkspaceVariablesPermissionWrite),
				Create:        tfe.Bool(true), Locking: tfe.Bool(true), Move: tfe.Bool(true), Delete: tfe.Bool(true), RunTasks: tfe.Bool(true), PolicyOverrides: tfe.Bool(true),
			},
		})
		permissions(c, grant, tfe.TeamProjectAccessCustom,
			onProject{ProjectSettingsPermission: "update", ProjectTeamsPermission: "manage", ProjectVariableSetsPermission: "write"},
			onWorkspaces{WorkspaceRunsPermission: "apply", WorkspaceSentinelMocksPermission: "read", WorkspaceStateVersionsPermission: "read-outputs", WorkspaceVariablesPermission: "write",
				WorkspaceCreatePermission: true, WorkspaceLockingPermission: true, WorkspaceMovePermission: true, WorkspaceDeletePermission: true, WorkspaceRunTasksPermission: true, WorkspacePolicyOverridesPermission: true})
	})
	w.Check(family, "POST "+listPath, "a second grant for the pair and an absent team or project are refused", func(c *report.Check) {
		report.Needs(c, "grant", grant)
		_, err := grants.Add(w.context, tfe.TeamProjectAccessAddOptions{Access: tfe.TeamProjectAccessRead, Team: w.team, Project: w.project})
		c.Says(err, "invalid attribute")
		_, err = grants.Add(w.context, tfe.TeamProjectAccessAddOptions{Access: tfe.TeamProjectAccessRead, Team: &tfe.Team{ID: nobody}, Project: w.project})
		c.Is(err, tfe.ErrResourceNotFound)
		_, err = grants.Add(w.context, tfe.TeamProjectAccessAddOptions{Access: tfe.TeamProjectAccessRead, Team: w.team, Project: &tfe.Project{ID: nobody}})
		c.Is(err, tfe.ErrResourceNotFound)
	})
	w.Check(family, "GET "+onePath, "read gives what create gave", func(c *report.Check) {
		made := report.Needs(c, "grant", grant)
		read, err := grants.Read(w.context, made.ID)
		c.OK(err)
		report.Equal(c, "grant", read, made)
		_, err = grants.Read(w.context, nobody)
		c.Is(err, tfe.ErrResourceNotFound)
	})
	w.Check(family, "GET "+listPath, "list holds what create gave", func(c *report.Check) {
		made := report.Needs(c, "grant", grant)
		found, err := grants.List(w.context, tfe.TeamProjectAccessListOptions{ProjectID: w.project.ID})
		c.OK(err)
		report.Equal(c, "grants", found.Items, []*tfe.TeamProjectAccess{made})
		report.Equal(c, "pagination", *found.Pagination, tfe.Pagination{CurrentPage: 1, TotalPages: 1, TotalCount: 1})
		found, err = grants.List(w.context, tfe.TeamProjectAccessListOptions{ProjectID: w.project.ID, ListOptions: tfe.ListOptions{PageNumber: 999}})
		c.OK(err)
		c.That("a page past the end is empty", len(found.Items) == 0)
		_, err = grants.List(w.context, tfe.TeamProjectAccessListOptions{ProjectID: nobody})
		c.Is(err, tfe.ErrResourceNotFound)
	})
	w.Check(family, "PATCH "+onePath, "from custom to custom, what is not sent stays", func(c *report.Check) {
		made := report.Needs(c, "grant", grant)
		changed := update(c, made.ID, tfe.TeamProjectAccessUpdateOptions{
			Access:          tfe.ProjectAccess(tfe.TeamProjectAccessCustom),
			ProjectAccess:   &tfe.TeamProjectAccessProjectPermissionsOptions{Teams: tfe.ProjectTeamsPermission(tfe.ProjectTeamsPermissionRead)},
			WorkspaceAccess: &tfe.TeamProjectAccessWorkspacePermissionsOptions{Create: tfe.Bool(false), PolicyOverrides: tfe.Bool(false)},
		})
		permissions(c, changed, tfe.TeamProjectAccessCustom,
			onProject{ProjectSettingsPermission: "update", ProjectTeamsPermission: "read", ProjectVariableSetsPermission: "write"},
			onWorkspaces{WorkspaceRunsPermission: "apply", WorkspaceSentinelMocksPermission: "read", WorkspaceStateVersionsPermission: "read-outputs", WorkspaceVariablesPermission: "write",
				WorkspaceLockingPermission: true, WorkspaceMovePermission: true, WorkspaceDeletePermission: true, WorkspaceRunTasksPermission: true})
	})
	for _, level := range projectLevels {
		w.Check(family, "PATCH "+onePath, "to the level "+string(level.access), func(c *report.Check) {
			made := report.Needs(c, "grant", grant)
			permissions(c, update(c, made.ID, tfe.TeamProjectAccessUpdateOptions{Access: tfe.ProjectAccess(level.access)}), level.access, level.project, level.workspaces)
		})
	}
	w.Check(family, "PATCH "+onePath, "from fixed to custom, what is not sent keeps its implied value", func(c *report.Check) {
		made := report.Needs(c, "grant", grant)
		update(c, made.ID, tfe.TeamProjectAccessUpdateOptions{Access: tfe.ProjectAccess(tfe.TeamProjectAccessWrite)})
		changed := update(c, made.ID, tfe.TeamProjectAccessUpdateOptions{
			Access:          tfe.ProjectAccess(tfe.TeamProjectAccessCustom),
			ProjectAccess:   &tfe.TeamProjectAccessProjectPermissionsOptions{Settings: tfe.ProjectSettingsPermission(tfe.ProjectSettingsPermissionDelete)},
			WorkspaceAccess: &tfe.TeamProjectAccessWorkspacePermissionsOptions{Move: tfe.Bool(true)},
		})
		permissions(c, changed, tfe.TeamProjectAccessCustom,
			onProject{ProjectSettingsPermission: "delete", ProjectTeamsPermission: "none"},
			onWorkspaces{WorkspaceRunsPermission: "apply", WorkspaceSentinelMocksPermission: "read", WorkspaceStateVersionsPermission: "write", WorkspaceVariablesPermission: "write",
				WorkspaceLockingPermission: true, WorkspaceMovePermission: true})
	})
	w.Check(family, "PATCH "+onePath, "an absent one is not found, a wrong level is refused", func(c *report.Check) {
		made := report.Needs(c, "grant", grant)
		_, err := grants.Update(w.context, nobody, tfe.TeamProjectAccessUpdateOptions{Access: tfe.ProjectAccess(tfe.TeamProjectAccessRead)})
		c.Is(err, tfe.ErrResourceNotFound)
		request, err := w.client.NewRequest("PATCH", "team-projects/"+made.ID, &struct {
			Type   string `jsonapi:"primary,team-projects"`
			Access string `jsonapi:"attr,access"`
		}{Access: "plan"})
		c.OK(err)
		c.Says(request.Do(w.context, nil), "invalid attribute")
	})
	w.Check(family, "DELETE "+onePath, "remove", func(c *report.Check) {
		made := report.Needs(c, "grant", grant)
		c.OK(grants.Remove(w.context, made.ID))
		_, err := grants.Read(w.context, made.ID)
		c.Is(err, tfe.ErrResourceNotFound)
		c.Is(grants.Remove(w.context, made.ID), tfe.ErrResourceNotFound)
	})
	w.Check(family, "GET "+onePath, "a grant goes with its team", func(c *report.Check) {
		team, err := w.client.Teams.Create(w.context, report.Needs(c, "organization", w.organization).Name, tfe.TeamCreateOptions{Name: tfe.String("short")})
		c.OK(err)
		made, err := grants.Add(w.context, tfe.TeamProjectAccessAddOptions{Access: tfe.TeamProjectAccessRead, Team: team, Project: report.Needs(c, "project", w.project)})
		c.OK(err)
		c.OK(w.client.Teams.Delete(w.context, team.ID))
		_, err = grants.Read(w.context, made.ID)
		c.Is(err, tfe.ErrResourceNotFound)
	})
}

// What each level on a workspace stands for, without id, team and workspace.
var workspaceLevels = []tfe.TeamAccess{
	{Access: tfe.AccessRead, Runs: "read", Variables: "read", StateVersions: "read", SentinelMocks: "none"},
	{Access: tfe.AccessPlan, Runs: "plan", Variables: "read", StateVersions: "read", SentinelMocks: "none"},
	{Access: tfe.AccessWrite, Runs: "apply", Variables: "write", StateVersions: "write", SentinelMocks: "read", WorkspaceLocking: true},
	{Access: tfe.AccessAdmin, Runs: "apply", Variables: "write", StateVersions: "write", SentinelMocks: "read", WorkspaceLocking: true, RunTasks: true},
}

func (w *walk) teamWorkspaces() {
	const (
		family   = "Team access to workspaces"
		listPath = "/api/v2/team-workspaces"
		onePath  = "/api/v2/team-workspaces/{id}"
	)
	grants := w.client.TeamAccess
	var grant *tfe.TeamAccess
	add := func(c *report.Check, options tfe.TeamAccessAddOptions) *tfe.TeamAccess {
		options.Team, options.Workspace = report.Needs(c, "team", w.team), report.Needs(c, "workspace", w.workspace)
		made, err := grants.Add(w.context, options)
		c.OK(err)
		return made
	}
	bare := func(grant *tfe.TeamAccess) tfe.TeamAccess {
		copied := *grant
		copied.ID, copied.Team, copied.Workspace = "", nil, nil
		return copied
	}
	update := func(c *report.Check, id string, options tfe.TeamAccessUpdateOptions) tfe.TeamAccess {
		changed, err := grants.Update(w.context, id, options)
		c.OK(err)
		read, err := grants.Read(w.context, id)
		c.OK(err)
		report.Equal(c, "grant read again", read, changed)
		return bare(changed)
	}

	for _, level := range workspaceLevels {
		w.Check(family, "POST "+listPath, "grant with the level "+string(level.Access), func(c *report.Check) {
			made := add(c, tfe.TeamAccessAddOptions{Access: tfe.Access(level.Access)})
			report.Equal(c, "grant", bare(made), level)
			report.Equal(c, "team", report.Needs(c, "team of it", made.Team).ID, w.team.ID)
			report.Equal(c, "workspace", report.Needs(c, "workspace of it", made.Workspace).ID, w.workspace.ID)
			c.OK(grants.Remove(w.context, made.ID))
		})
	}
	w.Check(family, "POST "+listPath, "a permission with a fixed level is refused", func(c *report.Check) {
		_, err := grants.Add(w.context, tfe.TeamAccessAddOptions{
			Access: tfe.Access(tfe.AccessRead), Runs: tfe.RunsPermission(tfe.RunsPermissionApply),
			Team: report.Needs(c, "team", w.team), Workspace: report.Needs(c, "workspace", w.workspace),
		})
		c.Says(err, "invalid attribute", "read", "custom")
	})
	w.Check(family, "POST "+listPath, "a custom grant", func(c *report.Check) {
		grant = add(c, tfe.TeamAccessAddOptions{
			Access:        tfe.Access(tfe.AccessCustom),
			Runs:          tfe.RunsPermission(tfe.RunsPermissionPlan),
			StateVersions: tfe.StateVersionsPermission(tfe.StateVersionsPermissionReadOutputs),
			RunTasks:      tfe.Bool(true),
		})
		report.Equal(c, "grant", bare(grant), tfe.TeamAccess{Access: tfe.AccessCustom, Runs: "plan", Variables: "none", StateVersions: "read-outputs", SentinelMocks: "none", RunTasks: true})
	})
	w.Check(family, "POST "+listPath, "a second grant for the pair is refused", func(c *report.Check) {
		report.Needs(c, "grant", grant)
		_, err := grants.Add(w.context, tfe.TeamAccessAddOptions{Access: tfe.Access(tfe.AccessRead), Team: w.team, Workspace: w.workspace})
		c.Says(err, "invalid attribute")
		_, err = grants.Add(w.context, tfe.TeamAccessAddOptions{Access: tfe.Access(tfe.AccessRead), Team: w.team, Workspace: &tfe.Workspace{ID: nobody}})
		c.Is(err, tfe.ErrResourceNotFound)
	})
	w.Check(family, "GET "+onePath, "read gives what create gave", func(c *report.Check) {
		made := report.Needs(c, "grant", grant)
		read, err := grants.Read(w.context, made.ID)
		c.OK(err)
		report.Equal(c, "grant", read, made)
		_, err = grants.Read(w.context, nobody)
		c.Is(err, tfe.ErrResourceNotFound)
	})
	w.Check(family, "GET "+listPath, "list holds what create gave", func(c *report.Check) {
		made := report.Needs(c, "grant", grant)
		found, err := grants.List(w.context, &tfe.TeamAccessListOptions{WorkspaceID: w.workspace.ID})
		c.OK(err)
		report.Equal(c, "grants", found.Items, []*tfe.TeamAccess{made})
		found, err = grants.List(w.context, &tfe.TeamAccessListOptions{WorkspaceID: w.workspace.ID, ListOptions: tfe.ListOptions{PageNumber: 999, PageSize: 100}})
		c.OK(err)
		c.That("a page past the end is empty", len(found.Items) == 0)
		_, err = grants.List(w.context, &tfe.TeamAccessListOptions{WorkspaceID: nobody})
		c.Is(err, tfe.ErrResourceNotFound)
	})
	for _, level := range workspaceLevels {
		w.Check(family, "PATCH "+onePath, "to the level "+string(level.Access), func(c *report.Check) {
			made := report.Needs(c, "grant", grant)
			report.Equal(c, "grant", update(c, made.ID, tfe.TeamAccessUpdateOptions{Access: tfe.Access(level.Access)}), level)
		})
	}
	w.Check(family, "PATCH "+onePath, "from fixed to custom, what is not sent keeps its implied value", func(c *report.Check) {
		made := report.Needs(c, "grant", grant)
		update(c, made.ID, tfe.TeamAccessUpdateOptions{Access: tfe.Access(tfe.AccessWrite)})
		changed := update(c, made.ID, tfe.TeamAccessUpdateOptions{Access: tfe.Access(tfe.AccessCustom), Variables: tfe.VariablesPermission(tfe.VariablesPermissionNone)})
		report.Equal(c, "grant", changed, tfe.TeamAccess{Access: tfe.AccessCustom, Runs: "apply", Variables: "none", StateVersions: "write", SentinelMocks: "read", WorkspaceLocking: true})
	})
	w.Check(family, "DELETE "+onePath, "remove", func(c *report.Check) {
		made := report.Needs(c, "grant", grant)
		c.OK(grants.Remove(w.context, made.ID))
		_, err := grants.Read(w.context, made.ID)
		c.Is(err, tfe.ErrResourceNotFound)
		c.Is(grants.Remove(w.context, made.ID), tfe.ErrResourceNotFound)
	})
}
