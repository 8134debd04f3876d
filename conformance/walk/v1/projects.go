package main

import (
	"strings"

	"bailiwick.test/conformance/walk/report"
	"github.com/hashicorp/go-tfe"
)

const (
	projectsPath = organizationPath + "/projects"
	projectPath  = "/api/v2/projects/{id}"
)

func tagOf(binding *tfe.TagBinding) string { return binding.Key + "=" + binding.Value }
func effectiveTagOf(binding *tfe.EffectiveTagBinding) string {
	return binding.Key + "=" + binding.Value
}

func (w *walk) projects() {
	const family = "Projects"
	projects := w.client.Projects
	nameOf := func(project *tfe.Project) string { return project.Name }
	list := func(c *report.Check, options tfe.ProjectListOptions) *tfe.ProjectList {
		found, err := projects.List(w.context, report.Needs(c, "organization", w.organization).Name, &options)
		c.OK(err)
		return found
	}

	w.Check(family, "POST "+projectsPath, "create with every attribute", func(c *report.Check) {
		organization := report.Needs(c, "organization", w.organization)
		made, err := projects.Create(w.context, organization.Name, tfe.ProjectCreateOptions{
			Name:                        "Walked project",
			Description:                 tfe.String("Made by a walk"),
			AutoDestroyActivityDuration: tfe.NullableString("3d"),
		})
		c.OK(err)
		w.project = made
		report.Equal(c, "name", made.Name, "Walked project")
		report.Equal(c, "description", made.Description, "Made by a walk")
		report.Equal(c, "execution mode", made.DefaultExecutionMode, "remote")
		report.Equal(c, "duration until destruction", made.AutoDestroyActivityDuration, tfe.NullableString("3d"))
		c.That("overwrites are told", made.SettingOverwrites != nil && made.SettingOverwrites.ExecutionMode != nil)
		report.Equal(c, "organization", report.Needs(c, "organization of it", made.Organization).Name, organization.Name)
	})
	w.Check(family, "POST "+projectsPath, "a name that is too short, too long or wrong is refused", func(c *report.Check) {
		organization := report.Needs(c, "organization", w.organization)
		for _, name := range []string{"no", " before", "with/slash", strings.Repeat("n", 41)} {
			_, err := projects.Create(w.context, organization.Name, tfe.ProjectCreateOptions{Name: name})
			c.Says(err, "invalid attribute")
		}
	})
	w.Check(family, "POST "+projectsPath, "wrong characters in a name are told", func(c *report.Check) {
		organization := report.Needs(c, "organization", w.organization)
		_, err := projects.Create(w.context, organization.Name, tfe.ProjectCreateOptions{Name: "Not! allowed"})
		c.Says(err, "invalid attribute", "Name may only contain")
	})
	w.Check(family, "GET "+projectPath, "read gives what create gave", func(c *report.Check) {
		made := report.Needs(c, "project", w.project)
		read, err := projects.Read(w.context, made.ID)
		c.OK(err)
		report.Equal(c, "project", read, made)
		_, err = projects.Read(w.context, nobody)
		c.Is(err, tfe.ErrResourceNotFound)
	})
	w.Check(family, "GET "+projectsPath, "list holds what create gave, and the default project", func(c *report.Check) {
		made, found := report.Needs(c, "project", w.project), list(c, tfe.ProjectListOptions{})
		report.Same(c, "names", report.Map(found.Items, nameOf), []string{"Default Project", "Walked project"})
		report.Equal(c, "total", found.TotalCount, 2)
		for _, item := range found.Items {
			if item.ID == made.ID {
				report.Equal(c, "project in the list", item, made)
			}
		}
	})
	w.Check(family, "GET "+projectsPath, "by name, by search, pages", func(c *report.Check) {
		report.Same(c, "by name, in any case", report.Map(list(c, tfe.ProjectListOptions{Name: "walked project"}).Items, nameOf), []string{"Walked project"})
		report.Same(c, "by search, in any case", report.Map(list(c, tfe.ProjectListOptions{Query: "WALK"}).Items, nameOf), []string{"Walked project"})
		report.Equal(c, "pagination of the first page", *list(c, tfe.ProjectListOptions{ListOptions: tfe.ListOptions{PageSize: 1}}).Pagination, tfe.Pagination{CurrentPage: 1, NextPage: 2, TotalPages: 2, TotalCount: 2})
		page := list(c, tfe.ProjectListOptions{ListOptions: tfe.ListOptions{PageNumber: 2, PageSize: 1}})
		report.Equal(c, "pagination", *page.Pagination, tfe.Pagination{CurrentPage: 2, PreviousPage: 1, TotalPages: 2, TotalCount: 2})
		c.That("a page past the end is empty", len(list(c, tfe.ProjectListOptions{ListOptions: tfe.ListOptions{PageNumber: 999}}).Items) == 0)
	})
	w.Check(family, "PATCH "+projectPath, "update", func(c *report.Check) {
		made := report.Needs(c, "project", w.project)
		changed, err := projects.Update(w.context, made.ID, tfe.ProjectUpdateOptions{Name: tfe.String("Walked again"), Description: tfe.String("")})
		c.OK(err)
		w.project = changed
		report.Equal(c, "name", changed.Name, "Walked again")
		report.Equal(c, "description", changed.Description, "")
		report.Equal(c, "duration until destruction", changed.AutoDestroyActivityDuration, tfe.NullableString("3d"))
		read, err := projects.Read(w.context, made.ID)
		c.OK(err)
		report.Equal(c, "project read again", read, changed)
		_, err = projects.Update(w.context, nobody, tfe.ProjectUpdateOptions{Name: tfe.String("none")})
		c.Is(err, tfe.ErrResourceNotFound)
		_, err = projects.Update(w.context, made.ID, tfe.ProjectUpdateOptions{Name: tfe.String("default project")})
		c.Says(err, "invalid attribute")
	})
	w.Check(family, "PATCH "+projectPath+"/tag-bindings", "add tags and change one", func(c *report.Check) {
		made := report.Needs(c, "project", w.project)
		added, err := projects.AddTagBindings(w.context, made.ID, tfe.ProjectAddTagBindingsOptions{TagBindings: []*tfe.TagBinding{{Key: "stage", Value: "first"}, {Key: "plain"}}})
		c.OK(err)
		report.Same(c, "tags", report.Map(added, tagOf), []string{"stage=first", "plain="})
		added, err = projects.AddTagBindings(w.context, made.ID, tfe.ProjectAddTagBindingsOptions{TagBindings: []*tfe.TagBinding{{Key: "stage", Value: "second"}}})
		c.OK(err)
		report.Same(c, "tags after a change", report.Map(added, tagOf), []string{"stage=second", "plain="})
	})
	w.Check(family, "GET "+projectPath+"/tag-bindings", "tags", func(c *report.Check) {
		found, err := projects.ListTagBindings(w.context, report.Needs(c, "project", w.project).ID)
		c.OK(err)
		report.Same(c, "tags", report.Map(found, tagOf), []string{"stage=second", "plain="})
	})
	w.Check(family, "GET "+projectPath+"/effective-tag-bindings", "effective tags", func(c *report.Check) {
		found, err := projects.ListEffectiveTagBindings(w.context, report.Needs(c, "project", w.project).ID)
		c.OK(err)
		report.Same(c, "tags", report.Map(found, effectiveTagOf), []string{"stage=second", "plain="})
	})
	w.Check(family, "GET "+projectPath, "with effective tags", func(c *report.Check) {
		read, err := projects.ReadWithOptions(w.context, report.Needs(c, "project", w.project).ID, tfe.ProjectReadOptions{Include: []tfe.ProjectIncludeOpt{tfe.ProjectEffectiveTagBindings}})
		c.OK(err)
		report.Same(c, "tags", report.Map(read.EffectiveTagBindings, effectiveTagOf), []string{"stage=second", "plain="})
	})
	w.Check(family, "GET "+projectsPath, "by tag", func(c *report.Check) {
		report.Same(c, "of this value", report.Map(list(c, tfe.ProjectListOptions{TagBindings: []*tfe.TagBinding{{Key: "stage", Value: "second"}}}).Items, nameOf), []string{"Walked again"})
		report.Same(c, "of another value", report.Map(list(c, tfe.ProjectListOptions{TagBindings: []*tfe.TagBinding{{Key: "stage", Value: "first"}}}).Items, nameOf), nil)
	})
	w.Check(family, "PATCH "+projectPath, "clear the tags", func(c *report.Check) {
		made := report.Needs(c, "project", w.project)
		c.OK(projects.DeleteAllTagBindings(w.context, made.ID))
		found, err := projects.ListTagBindings(w.context, made.ID)
		c.OK(err)
		c.That("there are none", len(found) == 0)
	})
	w.Check(family, "POST "+projectsPath, "create with tags", func(c *report.Check) {
		made, err := projects.Create(w.context, report.Needs(c, "organization", w.organization).Name, tfe.ProjectCreateOptions{
			Name:        "Tagged",
			TagBindings: []*tfe.TagBinding{{Key: "owner", Value: "walk"}},
		})
		c.OK(err)
		found, err := projects.ListTagBindings(w.context, made.ID)
		c.OK(err)
		report.Same(c, "tags", report.Map(found, tagOf), []string{"owner=walk"})
		_, err = projects.Update(w.context, made.ID, tfe.ProjectUpdateOptions{TagBindings: []*tfe.TagBinding{{Key: "owner", Value: "other"}}})
		c.OK(err)
		found, err = projects.ListTagBindings(w.context, made.ID)
		c.OK(err)
		report.Same(c, "tags after an update", report.Map(found, tagOf), []string{"owner=other"})
		c.OK(projects.Delete(w.context, made.ID))
	})
	w.Check(family, "DELETE "+projectPath, "delete", func(c *report.Check) {
		made, err := projects.Create(w.context, report.Needs(c, "organization", w.organization).Name, tfe.ProjectCreateOptions{Name: "Short"})
		c.OK(err)
		c.OK(projects.Delete(w.context, made.ID))
		_, err = projects.Read(w.context, made.ID)
		c.Is(err, tfe.ErrResourceNotFound)
		c.Is(projects.Delete(w.context, made.ID), tfe.ErrResourceNotFound)
	})
	w.Check(family, "DELETE "+projectPath, "the default project stays", func(c *report.Check) {
		organization := report.Needs(c, "organization", w.organization)
		project := report.Needs(c, "default project", organization.DefaultProject)
		if err := projects.Delete(w.context, project.ID); err == nil {
			c.Faultf("it was deleted")
		}
		_, err := projects.Read(w.context, project.ID)
		c.OK(err)
	})
}
