package main

import (
	"bailiwick.test/conformance/walk/report"
	"github.com/hashicorp/go-tfe/v2"
	"github.com/hashicorp/go-tfe/v2/api/models"
	"github.com/hashicorp/go-tfe/v2/api/organizations"
	"github.com/hashicorp/go-tfe/v2/api/workspaces"
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

// errConflict is an error that this client has no name for.
var errConflict = &tfe.APIError{StatusCode: 409}

func (w *walk) createWorkspace(c check, attributes, relationships object) (models.WorkspacesEnvelopeable, error) {
	body := fill(c, models.NewWorkspacesEnvelope(), envelope("workspaces", attributes, relationships))
	return w.within(c).Workspaces().Post(w.context, body, nil)
}

func (w *walk) workspaces() {
	const family = "Workspaces"
	type query = organizations.ItemWorkspacesRequestBuilderGetQueryParameters
	one := func(id string) *workspaces.WithWorkspace_ItemRequestBuilder {
		return w.api.Workspaces().ByWorkspace_id(id)
	}
	named := func(c check, name string) *organizations.ItemWorkspacesWithWorkspace_nameItemRequestBuilder {
		return w.within(c).Workspaces().ByWorkspace_name(name)
	}
	create := func(c check, name string) resource {
		return c.got(w.createWorkspace(c, object{"name": name}, nil)).one
	}
	list := func(c check, query query) document {
		return c.got(w.within(c).Workspaces().Get(w.context, with(query)))
	}
	read := func(c check, include string) document {
		id := c.needs("workspace", w.workspace).id()
		return c.got(one(id).Get(w.context, with(workspaces.WithWorkspace_ItemRequestBuilderGetQueryParameters{Include: new(include)})))
	}
	lock := func(c check, id, reason string) (models.WorkspacesEnvelopeable, error) {
		return one(id).Actions().Lock().Post(w.context, fill(c, models.NewActionReason(), object{"reason": reason}), nil)
	}

	w.check(family, "POST "+workspacesPath, "create with many attributes", func(c check) {
		project := c.needs("project", w.project)
		attributes := object{
			"name": "walked", "description": "Made by a walk", "allow-destroy-plan": false, "auto-apply": true, "auto-apply-run-trigger": true,
			"file-triggers-enabled": true, "global-remote-state": false, "queue-all-runs": true, "speculative-enabled": false,
			"source-name": "walk", "source-url": "https://example.com/walk", "structured-run-output-enabled": true,
			"trigger-prefixes": []string{"modules", "shared"}, "working-directory": "live",
			"execution-mode": "local", "setting-overwrites": object{"execution-mode": true},
		}
		made := c.got(w.createWorkspace(c, attributes, object{"project": to("projects", project.id())})).one
		w.workspace = made
		c.has(made, attributes)
		c.has(made, object{"operations": false, "locked": false, "permissions": object{
			"can-update": true, "can-lock": true, "can-destroy": true, "can-force-delete": true, "can-read-settings": true,
		}})
		for _, name := range []string{"terraform-version", "created-at", "updated-at", "actions"} {
			c.That(name+" is told", made.attributes()[name] != nil)
		}
		report.Equal(c.Check, "project", made.related("project"), project.id())
		report.Equal(c.Check, "organization", made.related("organization"), w.organization.id())
	})
	w.check(family, "POST "+workspacesPath, "create with a name only", func(c check) {
		made := create(c, "plain")
		report.Equal(c.Check, "project", made.related("project"), w.organization.related("default-project"))
		c.has(made, object{
			"execution-mode": "remote", "operations": true, "allow-destroy-plan": true, "file-triggers-enabled": true, "speculative-enabled": true,
			"structured-run-output-enabled": true, "queue-all-runs": false, "auto-apply": false, "global-remote-state": false, "source": "tfe-api",
		})
	})
	w.check(family, "POST "+workspacesPath, "a name that is taken or wrong is refused", func(c check) {
		_, err := w.createWorkspace(c, object{"name": "plain"}, nil)
		c.Says(err, "invalid attribute")
		_, err = w.createWorkspace(c, object{"name": "no spaces!"}, nil)
		c.Says(err, "invalid attribute")
	})
	w.check(family, "GET "+namedWorkspacePath, "read by name gives what create gave", func(c check) {
		made := c.needs("workspace", w.workspace)
		report.Equal(c.Check, "workspace", c.got(named(c, nameOf(made)).Get(w.context, nil)).one, made)
		_, err := named(c, nobody).Get(w.context, nil)
		c.Is(err, tfe.ErrNotFound)
	})
	w.check(family, "GET "+workspacePath, "read by id gives what create gave", func(c check) {
		made := c.needs("workspace", w.workspace)
		report.Equal(c.Check, "workspace", c.got(one(made.id()).Get(w.context, nil)).one, made)
		_, err := one(nobody).Get(w.context, nil)
		c.Is(err, tfe.ErrNotFound)
	})
	w.check(family, "GET "+workspacePath, "with its organization and project", func(c check) {
		found := read(c, "organization,project")
		c.has(c.needs("included project", of(found.included, w.project.id())), object{"name": nameOf(w.project)})
		c.has(c.needs("included organization", of(found.included, w.organization.id())), object{"email": emailOf(w.organization)})
	})
	w.check(family, "GET "+workspacePath, "an unknown include is told apart", func(c check) {
		query := workspaces.WithWorkspace_ItemRequestBuilderGetQueryParameters{Include: new("nothing")}
		_, err := one(c.needs("workspace", w.workspace).id()).Get(w.context, with(query))
		c.Is(err, tfe.ErrBadRequest)
		c.Says(err, "include parameter")
	})
	w.check(family, "GET "+workspacesPath, "list holds what create gave", func(c check) {
		made, found := c.needs("workspace", w.workspace), list(c, query{Pagesize: new(int32(100))})
		report.Same(c.Check, "names", report.Map(found.many, nameOf), []string{"plain", "walked"})
		c.holds("pagination", found.pagination, object{"total-count": 2})
		report.Equal(c.Check, "workspace in the list", of(found.many, made.id()), made)
	})
	w.check(family, "GET "+workspacesPath, "by name, by project, sorted, pages", func(c check) {
		made := c.needs("workspace", w.workspace)
		names := func(query query) []string { return report.Map(list(c, query).many, nameOf) }
		report.Equal(c.Check, "by part of the name", names(query{Searchname: new("walk")}), []string{"walked"})
		report.Equal(c.Check, "by wildcard", names(query{SearchwildcardName: new("*ked")}), []string{"walked"})
		report.Equal(c.Check, "by project", names(query{Filterprojectid: new(made.related("project"))}), []string{"walked"})
		report.Equal(c.Check, "order backwards", names(query{Sort: new("-name")}), []string{"walked", "plain"})
		c.holds("pagination of the first page", list(c, query{Pagesize: new(int32(1))}).pagination, object{"current-page": 1, "prev-page": nil, "next-page": 2})
		page := list(c, query{Pagenumber: new(int32(2)), Pagesize: new(int32(1))})
		c.holds("pagination", page.pagination, object{"current-page": 2, "prev-page": 1, "next-page": nil, "total-pages": 2, "total-count": 2})
		c.That("a page past the end is empty", len(list(c, query{Pagenumber: new(int32(999))}).many) == 0)
	})
	w.check(family, "PATCH "+namedWorkspacePath, "update by name", func(c check) {
		made := c.needs("workspace", w.workspace)
		body := fill(c, models.NewWorkspacesEnvelope(), envelope("workspaces", object{"name": "walked-on", "auto-apply": false, "description": ""}, nil))
		changed := c.got(named(c, nameOf(made)).Patch(w.context, body, nil)).one
		w.workspace = changed
		c.has(changed, object{"name": "walked-on", "auto-apply": false, "working-directory": "live"})
		report.Equal(c.Check, "workspace read again", c.got(one(made.id()).Get(w.context, nil)).one, changed)
		_, err := named(c, "walked").Get(w.context, nil)
		c.Is(err, tfe.ErrNotFound)
	})
	w.check(family, "PATCH "+workspacePath, "move to another project and back", func(c check) {
		made := c.needs("workspace", w.workspace)
		move := func(id, project string) (models.WorkspacesEnvelopeable, error) {
			return one(id).Patch(w.context, fill(c, models.NewWorkspacesEnvelope(), envelope("workspaces", object{}, object{"project": to("projects", project)})), nil)
		}
		for _, project := range []string{w.organization.related("default-project"), w.project.id()} {
			report.Equal(c.Check, "project", c.got(move(made.id(), project)).one.related("project"), project)
		}
		_, err := move(nobody, w.project.id())
		c.Is(err, tfe.ErrNotFound)
	})
	w.check("Projects", "POST "+projectPath+"/relationships/workspaces", "move workspaces in", func(c check) {
		made, project := c.needs("workspace", w.workspace), c.needs("project", w.project)
		for _, to := range []string{w.organization.related("default-project"), project.id()} {
			body := fill(c, models.NewWorkspacesIdentifierArrayDocument(), identifiers("workspaces", made.id()))
			c.OK(w.api.Projects().ByProject_id(to).Relationships().Workspaces().Post(w.context, body, nil))
			report.Equal(c.Check, "project", c.got(one(made.id()).Get(w.context, nil)).one.related("project"), to)
		}
	})

	w.check(family, "POST "+lockPath, "lock, and not twice", func(c check) {
		made := c.needs("workspace", w.workspace)
		locked := c.got(lock(c, made.id(), "walked over")).one
		c.has(locked, object{"locked": true, "locked-reason": "walked over"})
		_, err := lock(c, made.id(), "")
		c.Is(err, errConflict)
		_, err = lock(c, nobody, "")
		c.Is(err, tfe.ErrNotFound)
	})
	w.check(family, "POST "+safeDeletePath, "a locked one is not deleted", func(c check) {
		err := one(c.needs("workspace", w.workspace).id()).Actions().SafeDelete().Post(w.context, nil)
		c.Is(err, errConflict)
		c.Says(err, "locked")
	})
	w.check(family, "POST "+unlockPath, "unlock, and not twice", func(c check) {
		made := c.needs("workspace", w.workspace)
		c.has(c.got(one(made.id()).Actions().Unlock().Post(w.context, nil)).one, object{"locked": false})
		_, err := one(made.id()).Actions().Unlock().Post(w.context, nil)
		c.Is(err, errConflict)
		_, err = one(nobody).Actions().Unlock().Post(w.context, nil)
		c.Is(err, tfe.ErrNotFound)
	})
	w.check(family, "POST "+forceUnlockPath, "unlock by force, and not twice", func(c check) {
		made := c.needs("workspace", w.workspace)
		c.got(lock(c, made.id(), ""))
		c.has(c.got(one(made.id()).Actions().ForceUnlock().Post(w.context, nil)).one, object{"locked": false})
		_, err := one(made.id()).Actions().ForceUnlock().Post(w.context, nil)
		c.Is(err, errConflict)
	})

	const tagsPath = workspacePath + "/relationships/tag-bindings"
	bindings := func(c check) *workspaces.ItemRelationshipsTagBindingsRequestBuilder {
		return one(c.needs("workspace", w.workspace).id()).Relationships().TagBindings()
	}
	tags := func(c check) []string { return report.Map(c.got(bindings(c).Get(w.context, nil)).many, tagOf) }
	w.check(family, "POST "+tagsPath, "add tags and change one", func(c check) {
		c.OK(bindings(c).Post(w.context, tagBindings(c, "tier=zero", "more=tags"), nil))
		c.OK(bindings(c).Post(w.context, tagBindings(c, "tier=one"), nil))
		report.Same(c.Check, "tags", tags(c), []string{"tier=one", "more=tags"})
	})
	w.check(family, "PATCH "+tagsPath, "replace all tags", func(c check) {
		c.OK(bindings(c).Patch(w.context, tagBindings(c, "tier=one"), nil))
		report.Same(c.Check, "tags", tags(c), []string{"tier=one"})
	})
	w.check(family, "GET "+tagsPath, "tags", func(c check) {
		report.Same(c.Check, "tags", tags(c), []string{"tier=one"})
		_, err := one(nobody).Relationships().TagBindings().Get(w.context, nil)
		c.Is(err, tfe.ErrNotFound)
	})
	w.byAddress(family, "GET "+workspacePath+"/effective-tag-bindings", "tags of its own and of its project", func(c check) {
		workspace, project := c.needs("workspace", w.workspace), c.needs("project", w.project)
		c.OK(w.api.Projects().ByProject_id(project.id()).Relationships().TagBindings().Patch(w.context, tagBindings(c, "tier=project", "area=walk"), nil))
		found := c.got(bindings(c).WithUrl(w.at("workspaces/"+workspace.id()+"/effective-tag-bindings")).Get(w.context, nil))
		report.Same(c.Check, "tags", report.Map(found.many, tagOf), []string{"tier=one", "area=walk"})
	})
	w.check(family, "GET "+workspacePath, "with its effective tags", func(c check) {
		report.Same(c.Check, "tags", report.Map(read(c, "effective_tag_bindings").included, tagOf), []string{"tier=one", "area=walk"})
	})
	w.byAddress(family, "GET "+workspacesPath, "by tag", func(c check) {
		c.needs("workspace", w.workspace)
		address := w.at("organizations/" + nameOf(w.organization) + "/workspaces?filter[tagged][0][key]=tier&filter[tagged][0][value]=one")
		found := c.got(w.within(c).Workspaces().WithUrl(address).Get(w.context, nil))
		report.Equal(c.Check, "names", report.Map(found.many, nameOf), []string{nameOf(w.workspace)})
	})

	const namesPath = workspacePath + "/relationships/tags"
	names := func(c check) *workspaces.ItemRelationshipsTagsRequestBuilder {
		return one(c.needs("workspace", w.workspace).id()).Relationships().Tags()
	}
	w.check(family, "POST "+namesPath, "add tags by name", func(c check) {
		body := fill(c, models.NewTagsCreateArrayDocument(), object{"data": report.Map([]string{"uphill", "downhill"}, func(name string) object {
			return object{"type": "tags", "attributes": object{"name": name}}
		})})
		c.OK(names(c).Post(w.context, body, nil))
		tagged := c.got(one(w.workspace.id()).Get(w.context, nil)).one.attributes()["tag-names"]
		report.Equal(c.Check, "names of tags", tagged, any([]any{"downhill", "uphill"}))
	})
	w.check(family, "GET "+namesPath, "tags by name", func(c check) {
		report.Same(c.Check, "tags", report.Map(c.got(names(c).Get(w.context, nil)).many, nameOf), []string{"uphill", "downhill"})
	})
	w.check(family, "DELETE "+namesPath, "remove tags by id", func(c check) {
		ids := report.Map(c.got(names(c).Get(w.context, nil)).many, resource.id)
		c.OK(names(c).Delete(w.context, fill(c, models.NewTagsRemoveArrayDocument(), identifiers("tags", ids...)), nil))
		report.Equal(c.Check, "number of tags", len(c.got(names(c).Get(w.context, nil)).many), 0)
	})
	if operation := "GET " + workspacePath + "/relationships/remote-state-consumers"; w.Served(operation) {
		w.check(family, operation, "who may read the state", func(c check) {
			found := c.got(one(c.needs("workspace", w.workspace).id()).Relationships().RemoteStateConsumers().Get(w.context, nil))
			report.Equal(c.Check, "number of them", len(found.many), 0)
		})
	}

	w.check(family, "POST "+namedSafeDeletePath, "delete safely by name", func(c check) {
		made := create(c, "short")
		c.OK(named(c, "short").Actions().SafeDelete().Post(w.context, nil))
		_, err := one(made.id()).Get(w.context, nil)
		c.Is(err, tfe.ErrNotFound)
		c.Is(named(c, "short").Actions().SafeDelete().Post(w.context, nil), tfe.ErrNotFound)
	})
	w.check(family, "POST "+safeDeletePath, "delete safely by id", func(c check) {
		made := create(c, "short")
		c.OK(one(made.id()).Actions().SafeDelete().Post(w.context, nil))
		_, err := one(made.id()).Get(w.context, nil)
		c.Is(err, tfe.ErrNotFound)
	})
	w.check(family, "DELETE "+namedWorkspacePath, "delete by name, a locked one too", func(c check) {
		made := create(c, "short")
		c.got(lock(c, made.id(), ""))
		c.OK(named(c, "short").Delete(w.context, nil))
		_, err := one(made.id()).Get(w.context, nil)
		c.Is(err, tfe.ErrNotFound)
	})
	w.check(family, "DELETE "+workspacePath, "delete by id", func(c check) {
		made := create(c, "short")
		c.OK(one(made.id()).Delete(w.context, nil))
		c.Is(one(made.id()).Delete(w.context, nil), tfe.ErrNotFound)
	})
}
