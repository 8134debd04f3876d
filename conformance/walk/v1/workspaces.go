package main

import (
	"bailiwick.test/conformance/walk/report"
	"github.com/hashicorp/go-tfe"
)

const (
	workspacesPath      = organizationPath + "/workspaces"
	namedWorkspacePath  = workspacesPath + "/{name}"
	workspacePath       = "/api/v2/workspaces/{id}"
	lockPath            = workspacePath + "/actions/lock"
	unlockPath          = workspacePath + "/actions/unlock"
	forceUnlockPath     = workspacePath + "/actions/force-unlock"
	safeDeletePath      = workspacePath + "/actions/safe-delete"
	namedSafeDeletePath = namedWorkspacePath + "/actions/safe-delete"
)

func (w *walk) workspaces() {
	const family = "Workspaces"
	workspaces := w.client.Workspaces
	nameOf := func(workspace *tfe.Workspace) string { return workspace.Name }
	organization := func(c *report.Check) string { return report.Needs(c, "organization", w.organization).Name }
	create := func(c *report.Check, name string) *tfe.Workspace {
		made, err := workspaces.Create(w.context, organization(c), tfe.WorkspaceCreateOptions{Name: tfe.String(name)})
		c.OK(err)
		return made
	}
	list := func(c *report.Check, options tfe.WorkspaceListOptions) *tfe.WorkspaceList {
		found, err := workspaces.List(w.context, organization(c), &options)
		c.OK(err)
		return found
	}

	w.Check(family, "POST "+workspacesPath, "create with many attributes", func(c *report.Check) {
		project := report.Needs(c, "project", w.project)
		made, err := workspaces.Create(w.context, organization(c), tfe.WorkspaceCreateOptions{
			Name:                       tfe.String("walked"),
			Description:                tfe.String("Made by a walk"),
			Project:                    &tfe.Project{ID: project.ID},
			AllowDestroyPlan:           tfe.Bool(false),
			AutoApply:                  tfe.Bool(true),
			AutoApplyRunTrigger:        tfe.Bool(true),
			FileTriggersEnabled:        tfe.Bool(true),
			GlobalRemoteState:          tfe.Bool(false),
			QueueAllRuns:               tfe.Bool(true),
			SpeculativeEnabled:         tfe.Bool(false),
			SourceName:                 tfe.String("walk"),
			SourceURL:                  tfe.String("https://example.com/walk"),
			StructuredRunOutputEnabled: tfe.Bool(true),
			TriggerPrefixes:            []string{"modules", "shared"},
			WorkingDirectory:           tfe.String("live"),
			ExecutionMode:              tfe.String("local"),
			SettingOverwrites:          &tfe.WorkspaceSettingOverwritesOptions{ExecutionMode: tfe.Bool(true)},
			TagBindings:                []*tfe.TagBinding{{Key: "tier", Value: "one"}},
		})
		c.OK(err)
		w.workspace = made
		report.Equal(c, "name", made.Name, "walked")
		report.Equal(c, "description", made.Description, "Made by a walk")
		report.Equal(c, "project", report.Needs(c, "project of it", made.Project).ID, project.ID)
		report.Equal(c, "organization", report.Needs(c, "organization of it", made.Organization).Name, w.organization.Name)
		report.Equal(c, "destroy plans", made.AllowDestroyPlan, false)
		report.Equal(c, "auto apply", made.AutoApply, true)
		report.Equal(c, "auto apply of triggered runs", made.AutoApplyRunTrigger, true)
		report.Equal(c, "queue all runs", made.QueueAllRuns, true)
		report.Equal(c, "speculative plans", made.SpeculativeEnabled, false)
		report.Equal(c, "source name", made.SourceName, "walk")
		report.Equal(c, "source address", made.SourceURL, "https://example.com/walk")
		report.Equal(c, "trigger prefixes", made.TriggerPrefixes, []string{"modules", "shared"})
		report.Equal(c, "working directory", made.WorkingDirectory, "live")
		report.Equal(c, "execution mode", made.ExecutionMode, "local")
		report.Equal(c, "operations", made.Operations, false)
		report.Equal(c, "locked", made.Locked, false)
		c.That("a version is told", made.TerraformVersion != "")
		c.That("times are told", !made.CreatedAt.IsZero() && !made.UpdatedAt.IsZero())
		permissions := report.Needs(c, "permissions of it", made.Permissions)
		c.That("an owner may update, lock and delete", permissions.CanUpdate && permissions.CanLock && permissions.CanDestroy)
		c.That("force-delete is told", permissions.CanForceDelete != nil)
		c.That("actions are told", made.Actions != nil)
		c.That("overwrites are told", made.SettingOverwrites != nil && made.SettingOverwrites.ExecutionMode != nil && *made.SettingOverwrites.ExecutionMode)
	})
	w.Check(family, "POST "+workspacesPath, "create with a name only", func(c *report.Check) {
		made := create(c, "plain")
		report.Equal(c, "project", report.Needs(c, "project of it", made.Project).ID, report.Needs(c, "default project", w.organization.DefaultProject).ID)
		report.Equal(c, "execution mode", made.ExecutionMode, "remote")
		report.Equal(c, "operations", made.Operations, true)
		report.Equal(c, "destroy plans", made.AllowDestroyPlan, true)
		report.Equal(c, "file triggers", made.FileTriggersEnabled, true)
		report.Equal(c, "speculative plans", made.SpeculativeEnabled, true)
		report.Equal(c, "structured output", made.StructuredRunOutputEnabled, true)
		report.Equal(c, "queue all runs", made.QueueAllRuns, false)
		report.Equal(c, "auto apply", made.AutoApply, false)
		report.Equal(c, "state shared with all", made.GlobalRemoteState, false)
		report.Equal(c, "source", made.Source, tfe.WorkspaceSourceAPI)
	})
	w.Check(family, "POST "+workspacesPath, "a name that is taken or wrong is refused", func(c *report.Check) {
		_, err := workspaces.Create(w.context, organization(c), tfe.WorkspaceCreateOptions{Name: tfe.String("plain")})
		c.Says(err, "invalid attribute")
		_, err = workspaces.Create(w.context, organization(c), tfe.WorkspaceCreateOptions{Name: tfe.String("other"), TerraformVersion: tfe.String("nonexisting")})
		c.Says(err, "invalid attribute")
		_, err = workspaces.Create(w.context, nobody, tfe.WorkspaceCreateOptions{Name: tfe.String("other")})
		c.Is(err, tfe.ErrResourceNotFound)
	})
	w.Check(family, "GET "+namedWorkspacePath, "read by name gives what create gave", func(c *report.Check) {
		made := report.Needs(c, "workspace", w.workspace)
		read, err := workspaces.Read(w.context, organization(c), made.Name)
		c.OK(err)
		report.Equal(c, "workspace", read, made)
		_, err = workspaces.Read(w.context, organization(c), nobody)
		c.Is(err, tfe.ErrResourceNotFound)
	})
	w.Check(family, "GET "+workspacePath, "read by id gives what create gave", func(c *report.Check) {
		made := report.Needs(c, "workspace", w.workspace)
		read, err := workspaces.ReadByID(w.context, made.ID)
		c.OK(err)
		report.Equal(c, "workspace", read, made)
		_, err = workspaces.ReadByID(w.context, nobody)
		c.Is(err, tfe.ErrResourceNotFound)
	})
	w.Check(family, "GET "+workspacePath, "with its organization, project and effective tags", func(c *report.Check) {
		made := report.Needs(c, "workspace", w.workspace)
		read, err := workspaces.ReadByIDWithOptions(w.context, made.ID, &tfe.WorkspaceReadOptions{Include: []tfe.WSIncludeOpt{tfe.WSOrganization, tfe.WSProject, tfe.WSEffectiveTagBindings}})
		c.OK(err)
		report.Equal(c, "name of the project", report.Needs(c, "project of it", read.Project).Name, w.project.Name)
		report.Equal(c, "e-mail of the organization", report.Needs(c, "organization of it", read.Organization).Email, w.organization.Email)
		report.Same(c, "tags", report.Map(read.EffectiveTagBindings, effectiveTagOf), []string{"tier=one"})
	})
	w.Check(family, "GET "+workspacePath, "an unknown include is told apart", func(c *report.Check) {
		made := report.Needs(c, "workspace", w.workspace)
		_, err := workspaces.ReadByIDWithOptions(w.context, made.ID, &tfe.WorkspaceReadOptions{Include: []tfe.WSIncludeOpt{"nothing"}})
		c.Is(err, tfe.ErrInvalidIncludeValue)
	})
	w.Check(family, "GET "+workspacesPath, "list holds what create gave", func(c *report.Check) {
		made, found := report.Needs(c, "workspace", w.workspace), list(c, tfe.WorkspaceListOptions{})
		report.Same(c, "names", report.Map(found.Items, nameOf), []string{"plain", "walked"})
		report.Equal(c, "total", found.TotalCount, 2)
		for _, item := range found.Items {
			if item.ID == made.ID {
				report.Equal(c, "workspace in the list", item, made)
			}
		}
	})
	w.Check(family, "GET "+workspacesPath, "by name, by project, by tag, sorted, pages", func(c *report.Check) {
		made := report.Needs(c, "workspace", w.workspace)
		for what, found := range map[string]*tfe.WorkspaceList{
			"by part of the name": list(c, tfe.WorkspaceListOptions{Search: "walk"}),
			"by wildcard":         list(c, tfe.WorkspaceListOptions{WildcardName: "*ked"}),
			"by project":          list(c, tfe.WorkspaceListOptions{ProjectID: made.Project.ID}),
			"by tag":              list(c, tfe.WorkspaceListOptions{TagBindings: []*tfe.TagBinding{{Key: "tier", Value: "one"}}}),
		} {
			report.Same(c, what, report.Map(found.Items, nameOf), []string{"walked"})
		}
		report.Equal(c, "order backwards", report.Map(list(c, tfe.WorkspaceListOptions{Sort: "-name"}).Items, nameOf), []string{"walked", "plain"})
		report.Equal(c, "pagination of the first page", *list(c, tfe.WorkspaceListOptions{ListOptions: tfe.ListOptions{PageSize: 1}}).Pagination, tfe.Pagination{CurrentPage: 1, NextPage: 2, TotalPages: 2, TotalCount: 2})
		page := list(c, tfe.WorkspaceListOptions{ListOptions: tfe.ListOptions{PageNumber: 2, PageSize: 1}})
		report.Equal(c, "pagination", *page.Pagination, tfe.Pagination{CurrentPage: 2, PreviousPage: 1, TotalPages: 2, TotalCount: 2})
		c.That("a page past the end is empty", len(list(c, tfe.WorkspaceListOptions{ListOptions: tfe.ListOptions{PageNumber: 999}}).Items) == 0)
	})
	w.Check(family, "PATCH "+namedWorkspacePath, "update by name", func(c *report.Check) {
		made := report.Needs(c, "workspace", w.workspace)
		changed, err := workspaces.Update(w.context, organization(c), made.Name, tfe.WorkspaceUpdateOptions{Name: tfe.String("walked-on"), AutoApply: tfe.Bool(false), Description: tfe.String("")})
		c.OK(err)
		w.workspace = changed
		report.Equal(c, "name", changed.Name, "walked-on")
		report.Equal(c, "auto apply", changed.AutoApply, false)
		report.Equal(c, "description", changed.Description, "")
		report.Equal(c, "working directory", changed.WorkingDirectory, "live")
		read, err := workspaces.ReadByID(w.context, made.ID)
		c.OK(err)
		report.Equal(c, "workspace read again", read, changed)
		_, err = workspaces.Read(w.context, organization(c), "walked")
		c.Is(err, tfe.ErrResourceNotFound)
	})
	w.Check(family, "PATCH "+workspacePath, "move to another project and back", func(c *report.Check) {
		made, elsewhere := report.Needs(c, "workspace", w.workspace), report.Needs(c, "default project", w.organization.DefaultProject)
		moved, err := workspaces.UpdateByID(w.context, made.ID, tfe.WorkspaceUpdateOptions{Project: &tfe.Project{ID: elsewhere.ID}})
		c.OK(err)
		report.Equal(c, "project", report.Needs(c, "project of it", moved.Project).ID, elsewhere.ID)
		moved, err = workspaces.UpdateByID(w.context, made.ID, tfe.WorkspaceUpdateOptions{Project: &tfe.Project{ID: w.project.ID}})
		c.OK(err)
		report.Equal(c, "project", report.Needs(c, "project of it", moved.Project).ID, w.project.ID)
		_, err = workspaces.UpdateByID(w.context, nobody, tfe.WorkspaceUpdateOptions{Name: tfe.String("none")})
		c.Is(err, tfe.ErrResourceNotFound)
	})

	w.Check(family, "POST "+lockPath, "lock, and not twice", func(c *report.Check) {
		made := report.Needs(c, "workspace", w.workspace)
		locked, err := workspaces.Lock(w.context, made.ID, tfe.WorkspaceLockOptions{Reason: tfe.String("walked over")})
		c.OK(err)
		c.That("it is locked", locked.Locked)
		c.That("a user has locked it", locked.LockedBy != nil && locked.LockedBy.User != nil)
		_, err = workspaces.Lock(w.context, made.ID, tfe.WorkspaceLockOptions{})
		c.Is(err, tfe.ErrWorkspaceLocked)
		_, err = workspaces.Lock(w.context, nobody, tfe.WorkspaceLockOptions{})
		c.Is(err, tfe.ErrResourceNotFound)
		read, err := workspaces.ReadByIDWithOptions(w.context, made.ID, &tfe.WorkspaceReadOptions{Include: []tfe.WSIncludeOpt{tfe.WSLockedBy}})
		c.OK(err)
		c.That("the user is included", read.LockedBy != nil && read.LockedBy.User != nil && read.LockedBy.User.Username != "")
	})
	w.Check(family, "POST "+safeDeletePath, "a locked one is not deleted", func(c *report.Check) {
		made := report.Needs(c, "workspace", w.workspace)
		c.Is(workspaces.SafeDeleteByID(w.context, made.ID), tfe.ErrWorkspaceLockedCannotDelete)
	})
	w.Check(family, "POST "+unlockPath, "somebody else's lock is told apart", func(c *report.Check) {
		made, team := report.Needs(c, "workspace", w.workspace), report.Needs(c, "team", w.team)
		report.Needs(c, "membership", w.membership)
		c.OK(w.client.TeamMembers.Add(w.context, team.ID, tfe.TeamMemberAddOptions{Usernames: []string{w.member.Username}}))
		client, err := w.as(w.member.Token)
		c.OK(err)
		_, err = client.Workspaces.Unlock(w.context, made.ID)
		c.Is(err, tfe.ErrWorkspaceLockedByUser)
		c.OK(w.client.TeamMembers.Remove(w.context, team.ID, tfe.TeamMemberRemoveOptions{Usernames: []string{w.member.Username}}))
	})
	w.Check(family, "POST "+unlockPath, "unlock, and not twice", func(c *report.Check) {
		made := report.Needs(c, "workspace", w.workspace)
		unlocked, err := workspaces.Unlock(w.context, made.ID)
		c.OK(err)
		c.That("it is unlocked", !unlocked.Locked)
		c.That("nobody has locked it", unlocked.LockedBy == nil || unlocked.LockedBy.User == nil)
		_, err = workspaces.Unlock(w.context, made.ID)
		c.Is(err, tfe.ErrWorkspaceNotLocked)
		_, err = workspaces.Unlock(w.context, nobody)
		c.Is(err, tfe.ErrResourceNotFound)
	})
	w.Check(family, "POST "+forceUnlockPath, "unlock by force, and not twice", func(c *report.Check) {
		made := report.Needs(c, "workspace", w.workspace)
		_, err := workspaces.Lock(w.context, made.ID, tfe.WorkspaceLockOptions{})
		c.OK(err)
		unlocked, err := workspaces.ForceUnlock(w.context, made.ID)
		c.OK(err)
		c.That("it is unlocked", !unlocked.Locked)
		_, err = workspaces.ForceUnlock(w.context, made.ID)
		c.Is(err, tfe.ErrWorkspaceNotLocked)
	})

	w.Check(family, "GET "+workspacePath+"/tag-bindings", "tags", func(c *report.Check) {
		found, err := workspaces.ListTagBindings(w.context, report.Needs(c, "workspace", w.workspace).ID)
		c.OK(err)
		report.Same(c, "tags", report.Map(found, tagOf), []string{"tier=one"})
	})
	w.Check(family, "GET "+workspacePath+"/effective-tag-bindings", "tags of its own and of its project", func(c *report.Check) {
		made, project := report.Needs(c, "workspace", w.workspace), report.Needs(c, "project", w.project)
		_, err := w.client.Projects.AddTagBindings(w.context, project.ID, tfe.ProjectAddTagBindingsOptions{TagBindings: []*tfe.TagBinding{{Key: "tier", Value: "project"}, {Key: "area", Value: "walk"}}})
		c.OK(err)
		found, err := workspaces.ListEffectiveTagBindings(w.context, made.ID)
		c.OK(err)
		report.Same(c, "tags", report.Map(found, effectiveTagOf), []string{"tier=one", "area=walk"})
	})
	if operation := "PATCH " + workspacePath + "/tag-bindings"; w.Served(operation) {
		w.Check(family, operation, "add tags", func(c *report.Check) {
			found, err := workspaces.AddTagBindings(w.context, report.Needs(c, "workspace", w.workspace).ID, tfe.WorkspaceAddTagBindingsOptions{TagBindings: []*tfe.TagBinding{{Key: "more", Value: "tags"}}})
			c.OK(err)
			report.Same(c, "tags", report.Map(found, tagOf), []string{"tier=one", "more=tags"})
		})
	}
	w.Check(family, "PATCH "+workspacePath, "clear the tags", func(c *report.Check) {
		made := report.Needs(c, "workspace", w.workspace)
		c.OK(workspaces.DeleteAllTagBindings(w.context, made.ID))
		found, err := workspaces.ListTagBindings(w.context, made.ID)
		c.OK(err)
		c.That("there are none", len(found) == 0)
	})

	const tagsPath = workspacePath + "/relationships/tags"
	tagNames := func(c *report.Check, query string) []string {
		options := &tfe.WorkspaceTagListOptions{}
		if query != "" {
			options.Query = &query
		}
		found, err := workspaces.ListTags(w.context, w.workspace.ID, options)
		c.OK(err)
		return report.Map(found.Items, func(tag *tfe.Tag) string { return tag.Name })
	}
	w.Check(family, "POST "+tagsPath, "add tags by name", func(c *report.Check) {
		made := report.Needs(c, "workspace", w.workspace)
		c.OK(workspaces.AddTags(w.context, made.ID, tfe.WorkspaceAddTagsOptions{Tags: []*tfe.Tag{{Name: "uphill"}, {Name: "downhill"}, {Name: "flat"}}}))
		read, err := workspaces.ReadByID(w.context, made.ID)
		c.OK(err)
		report.Same(c, "names of tags", read.TagNames, []string{"uphill", "downhill", "flat"})
	})
	w.Check(family, "GET "+tagsPath, "tags by name, searched", func(c *report.Check) {
		report.Needs(c, "workspace", w.workspace)
		report.Same(c, "tags", tagNames(c, ""), []string{"uphill", "downhill", "flat"})
		report.Same(c, "tags with a part of the name", tagNames(c, "hill"), []string{"uphill", "downhill"})
	})
	w.Check(family, "GET "+workspacesPath, "by names of tags", func(c *report.Check) {
		made := report.Needs(c, "workspace", w.workspace)
		report.Same(c, "with both", report.Map(list(c, tfe.WorkspaceListOptions{Tags: "uphill,flat"}).Items, nameOf), []string{made.Name})
		report.Same(c, "without", report.Map(list(c, tfe.WorkspaceListOptions{ExcludeTags: "flat"}).Items, nameOf), []string{"plain"})
	})
	w.Check(family, "DELETE "+tagsPath, "remove tags by name and by id", func(c *report.Check) {
		made := report.Needs(c, "workspace", w.workspace)
		c.OK(workspaces.RemoveTags(w.context, made.ID, tfe.WorkspaceRemoveTagsOptions{Tags: []*tfe.Tag{{Name: "uphill"}}}))
		found, err := workspaces.ListTags(w.context, made.ID, nil)
		c.OK(err)
		c.OK(workspaces.RemoveTags(w.context, made.ID, tfe.WorkspaceRemoveTagsOptions{Tags: found.Items[:1]}))
		report.Equal(c, "number of tags that are left", len(tagNames(c, "")), 1)
	})
	if operation := "GET " + workspacePath + "/relationships/remote-state-consumers"; w.Served(operation) {
		w.Check(family, operation, "who may read the state", func(c *report.Check) {
			found, err := workspaces.ListRemoteStateConsumers(w.context, report.Needs(c, "workspace", w.workspace).ID, nil)
			c.OK(err)
			c.That("there is none", len(found.Items) == 0)
		})
	}

	w.Check(family, "POST "+namedSafeDeletePath, "delete safely by name", func(c *report.Check) {
		made := create(c, "short")
		c.OK(workspaces.SafeDelete(w.context, organization(c), made.Name))
		_, err := workspaces.ReadByID(w.context, made.ID)
		c.Is(err, tfe.ErrResourceNotFound)
		c.Is(workspaces.SafeDelete(w.context, organization(c), made.Name), tfe.ErrResourceNotFound)
	})
	w.Check(family, "POST "+safeDeletePath, "delete safely by id", func(c *report.Check) {
		made := create(c, "short")
		c.OK(workspaces.SafeDeleteByID(w.context, made.ID))
		_, err := workspaces.ReadByID(w.context, made.ID)
		c.Is(err, tfe.ErrResourceNotFound)
	})
	w.Check(family, "DELETE "+namedWorkspacePath, "delete by name, a locked one too", func(c *report.Check) {
		made := create(c, "short")
		_, err := workspaces.Lock(w.context, made.ID, tfe.WorkspaceLockOptions{})
		c.OK(err)
		c.OK(workspaces.Delete(w.context, organization(c), made.Name))
		_, err = workspaces.ReadByID(w.context, made.ID)
		c.Is(err, tfe.ErrResourceNotFound)
	})
	w.Check(family, "DELETE "+workspacePath, "delete by id", func(c *report.Check) {
		made := create(c, "short")
		c.OK(workspaces.DeleteByID(w.context, made.ID))
		c.Is(workspaces.DeleteByID(w.context, made.ID), tfe.ErrResourceNotFound)
	})
}
