package main

import (
	"strings"

	"bailiwick.test/conformance/walk/report"
	"github.com/hashicorp/go-tfe/v2"
	"github.com/hashicorp/go-tfe/v2/api/models"
	"github.com/hashicorp/go-tfe/v2/api/organizations"
	"github.com/hashicorp/go-tfe/v2/api/projects"
)

const (
	projectsPath = organizationPath + "/projects"
	projectPath  = "/api/v2/projects/{id}"
)

func tagOf(binding resource) string {
	return binding.attribute("key") + "=" + binding.attribute("value")
}

func tagBindings(c check, tags ...string) *models.TagBindingsCollection {
	return fill(c, models.NewTagBindingsCollection(), object{"data": report.Map(tags, func(tag string) object {
		key, value, _ := strings.Cut(tag, "=")
		return object{"type": "tag-bindings", "attributes": object{"key": key, "value": value}}
	})})
}

func (w *walk) createProject(c check, attributes object) (models.ProjectsEnvelopeable, error) {
	return w.within(c).Projects().Post(w.context, fill(c, models.NewProjectsEnvelope(), envelope("projects", attributes, nil)), nil)
}

func (w *walk) projects() {
	const family = "Projects"
	type query = organizations.ItemProjectsRequestBuilderGetQueryParameters
	one := func(id string) *projects.WithProject_ItemRequestBuilder { return w.api.Projects().ByProject_id(id) }
	list := func(c check, query query) document { return c.got(w.within(c).Projects().Get(w.context, with(query))) }
	ask := func(c check, query string) []string {
		found := c.got(w.within(c).Projects().WithUrl(w.at("organizations/"+nameOf(w.organization)+"/projects?"+query)).Get(w.context, nil))
		return report.Map(found.many, nameOf)
	}
	update := func(c check, id string, attributes object) (models.ProjectsEnvelopeable, error) {
		return one(id).Patch(w.context, fill(c, models.NewProjectsEnvelope(), envelope("projects", attributes, nil)), nil)
	}

	w.check(family, "POST "+projectsPath, "create with every attribute", func(c check) {
		attributes := object{"name": "Walked project", "description": "Made by a walk", "auto-destroy-activity-duration": "3d"}
		made := c.got(w.createProject(c, attributes)).one
		w.project = made
		c.has(made, attributes)
		c.has(made, object{"default-execution-mode": "remote", "workspace-count": 0, "team-count": 0})
		c.has(made, object{"permissions": object{"can-update": true, "can-destroy": true, "can-create-workspace": true, "can-manage-teams": true}})
		c.That("overwrites are told", made.attributes()["setting-overwrites"] != nil)
		report.Equal(c.Check, "organization", made.related("organization"), w.organization.id())
	})
	w.check(family, "POST "+projectsPath, "wrong characters in a name are told", func(c check) {
		_, err := w.createProject(c, object{"name": "Not! allowed"})
		c.Is(err, tfe.ErrUnprocessableEntity)
		c.Says(err, "invalid attribute", "Name may only contain")
	})
	w.check(family, "GET "+projectPath, "read gives what create gave", func(c check) {
		made := c.needs("project", w.project)
		report.Equal(c.Check, "project", c.got(one(made.id()).Get(w.context, nil)).one, made)
		_, err := one(nobody).Get(w.context, nil)
		c.Is(err, tfe.ErrNotFound)
	})
	w.check(family, "GET "+projectsPath, "list holds what create gave, and the default project", func(c check) {
		made, found := c.needs("project", w.project), list(c, query{Pagesize: new(int32(100))})
		report.Same(c.Check, "names", report.Map(found.many, nameOf), []string{"Default Project", "Walked project"})
		report.Equal(c.Check, "project in the list", of(found.many, made.id()), made)
	})
	w.check(family, "GET "+projectsPath, "by name, by permission, sorted, pages", func(c check) {
		names := func(query query) []string { return report.Map(list(c, query).many, nameOf) }
		report.Equal(c.Check, "by name, in any case", names(query{Filternames: new("walked project")}), []string{"Walked project"})
		report.Equal(c.Check, "in which workspaces may be created", len(names(query{FilterpermissionscreateWorkspace: new(true)})), 2)
		report.Equal(c.Check, "that may be updated", len(names(query{Filterpermissionsupdate: new(true)})), 2)
		report.Equal(c.Check, "order", names(query{Sort: new("name")}), []string{"Default Project", "Walked project"})
		report.Equal(c.Check, "order backwards", names(query{Sort: new("-name")}), []string{"Walked project", "Default Project"})
		// The model of this list has the keys of the pages right in the meta object.
		c.holds("pagination of the first page", list(c, query{Pagesize: new(int32(1))}).meta, object{"current-page": 1, "prev-page": nil, "next-page": 2})
		page := list(c, query{Pagenumber: new(int32(2)), Pagesize: new(int32(1))})
		c.holds("pagination", page.meta, object{"current-page": 2, "prev-page": 1, "next-page": nil, "total-pages": 2, "total-count": 2})
		c.That("a page past the end is empty", len(list(c, query{Pagenumber: new(int32(999))}).many) == 0)
	})
	w.byAddress(family, "GET "+projectsPath, "by search", func(c check) {
		c.needs("project", w.project)
		report.Equal(c.Check, "names", ask(c, "q=WALK"), []string{"Walked project"})
	})
	w.check(family, "PATCH "+projectPath, "update", func(c check) {
		made := c.needs("project", w.project)
		changed := c.got(update(c, made.id(), object{"name": "Walked again", "description": ""})).one
		w.project = changed
		c.has(changed, object{"name": "Walked again", "description": "", "auto-destroy-activity-duration": "3d"})
		report.Equal(c.Check, "project read again", c.got(one(made.id()).Get(w.context, nil)).one, changed)
		_, err := update(c, nobody, object{"name": "none"})
		c.Is(err, tfe.ErrNotFound)
		_, err = update(c, made.id(), object{"name": "default project"})
		c.Says(err, "invalid attribute")
	})

	const tagsPath = projectPath + "/relationships/tag-bindings"
	bindings := func(c check) *projects.ItemRelationshipsTagBindingsRequestBuilder {
		return one(c.needs("project", w.project).id()).Relationships().TagBindings()
	}
	w.check(family, "POST "+tagsPath, "add tags and change one", func(c check) {
		c.OK(bindings(c).Post(w.context, tagBindings(c, "stage=first", "plain="), nil))
		c.OK(bindings(c).Post(w.context, tagBindings(c, "stage=second"), nil))
		report.Same(c.Check, "tags", report.Map(c.got(bindings(c).Get(w.context, nil)).many, tagOf), []string{"stage=second", "plain="})
	})
	w.check(family, "PATCH "+tagsPath, "replace all tags", func(c check) {
		c.OK(bindings(c).Patch(w.context, tagBindings(c, "stage=third"), nil))
		report.Same(c.Check, "tags", report.Map(c.got(bindings(c).Get(w.context, nil)).many, tagOf), []string{"stage=third"})
	})
	w.check(family, "GET "+tagsPath, "tags", func(c check) {
		report.Same(c.Check, "tags", report.Map(c.got(bindings(c).Get(w.context, nil)).many, tagOf), []string{"stage=third"})
		_, err := one(nobody).Relationships().TagBindings().Get(w.context, nil)
		c.Is(err, tfe.ErrNotFound)
	})
	w.byAddress(family, "GET "+projectPath+"/effective-tag-bindings", "effective tags", func(c check) {
		found := c.got(bindings(c).WithUrl(w.at("projects/"+w.project.id()+"/effective-tag-bindings")).Get(w.context, nil))
		report.Same(c.Check, "tags", report.Map(found.many, tagOf), []string{"stage=third"})
	})
	w.byAddress(family, "GET "+projectsPath, "by tag", func(c check) {
		c.needs("project", w.project)
		report.Equal(c.Check, "of this value", ask(c, "filter[tagged][0][key]=stage&filter[tagged][0][value]=third"), []string{"Walked again"})
		report.Equal(c.Check, "of another value", ask(c, "filter[tagged][0][key]=stage&filter[tagged][0][value]=first"), []string{})
	})
	w.check(family, "PATCH "+tagsPath, "clear the tags", func(c check) {
		c.OK(bindings(c).Patch(w.context, tagBindings(c), nil))
		report.Equal(c.Check, "number of tags", len(c.got(bindings(c).Get(w.context, nil)).many), 0)
	})
	w.check(family, "DELETE "+projectPath, "delete", func(c check) {
		made := c.got(w.createProject(c, object{"name": "Short"})).one
		c.OK(one(made.id()).Delete(w.context, nil))
		_, err := one(made.id()).Get(w.context, nil)
		c.Is(err, tfe.ErrNotFound)
		c.Is(one(made.id()).Delete(w.context, nil), tfe.ErrNotFound)
	})
	w.check(family, "DELETE "+projectPath, "the default project stays", func(c check) {
		id := c.needs("organization", w.organization).related("default-project")
		c.Is(one(id).Delete(w.context, nil), tfe.ErrUnprocessableEntity)
		c.got(one(id).Get(w.context, nil))
	})
}
