package main

import (
	"bailiwick.test/conformance/walk/report"
	"github.com/hashicorp/go-tfe/v2"
	"github.com/hashicorp/go-tfe/v2/api/models"
	"github.com/hashicorp/go-tfe/v2/api/organizations"
)

const (
	organizationsPath = "/api/v2/organizations"
	organizationPath  = "/api/v2/organizations/{organization}"
)

func (w *walk) createOrganization(c check, name, email string) (models.OrganizationsEnvelopeable, error) {
	body := fill(c, models.NewOrganizationsEnvelope(), envelope("organizations", object{"name": name, "email": email}, nil))
	return w.api.Organizations().Post(w.context, body, nil)
}

// within gives the builder for what is in the organization that is walked.
func (w *walk) within(c check) *organizations.WithOrganization_nameItemRequestBuilder {
	return w.api.Organizations().ByOrganization_name(nameOf(c.needs("organization", w.organization)))
}

func (w *walk) organizations() {
	const family = "Organizations"
	type query = organizations.OrganizationsRequestBuilderGetQueryParameters
	named := func(name string) *organizations.WithOrganization_nameItemRequestBuilder {
		return w.api.Organizations().ByOrganization_name(name)
	}
	find := func(c check, query query) resource {
		query.Pagesize = new(int32(100))
		return of(c.got(w.api.Organizations().Get(w.context, with(query))).many, c.needs("organization", w.organization).id())
	}

	w.check(family, "POST "+organizationsPath, "create", func(c check) {
		made := c.got(w.createOrganization(c, "walk-v2", "walk-v2@example.com")).one
		w.organization = made
		report.Equal(c.Check, "id", made.id(), "walk-v2")
		c.has(made, object{
			"name": "walk-v2", "email": "walk-v2@example.com", "default-execution-mode": "remote",
			"permissions": object{"can-destroy": true, "can-update": true},
		})
		c.That("there is an external id", made.attribute("external-id") != "<nil>")
		c.That("the time of creation is told", made.attributes()["created-at"] != nil)
		c.That("something is left to be tested", made.attributes()["remaining-testable-count"].(float64) > 1)
	})
	w.check(family, "POST "+organizationsPath, "a name that is taken is refused", func(c check) {
		_, err := w.createOrganization(c, "walk-v2", "a@example.com")
		c.Is(err, tfe.ErrUnprocessableEntity)
		c.Says(err, "invalid attribute")
	})
	w.check(family, "GET "+organizationPath, "read gives what create gave", func(c check) {
		made := c.needs("organization", w.organization)
		report.Equal(c.Check, "organization", c.got(w.within(c).Get(w.context, nil)).one, made)
	})
	w.check(family, "GET "+organizationPath, "an absent one is not found", func(c check) {
		_, err := named(nobody).Get(w.context, nil)
		c.Is(err, tfe.ErrNotFound)
	})
	w.check(family, "GET "+organizationsPath, "list holds what create gave", func(c check) {
		made := c.needs("organization", w.organization)
		report.Equal(c.Check, "organization in the list", find(c, query{}), made)
	})
	w.check(family, "GET "+organizationsPath, "search by name and by e-mail", func(c check) {
		name, email := new("walk-v2"), new("walk-v2@example.com")
		c.That("it is found by its name", find(c, query{Q: name}) != nil && find(c, query{Qname: name}) != nil)
		c.That("it is found by its e-mail", find(c, query{Q: email}) != nil && find(c, query{Qemail: email}) != nil)
		c.That("it is not found by another name", find(c, query{Q: new(nobody)}) == nil && find(c, query{Qname: new(nobody)}) == nil)
		c.That("it is not found by another e-mail", find(c, query{Qemail: new(nobody)}) == nil)
	})
	w.check(family, "GET "+organizationsPath, "pages", func(c check) {
		page := c.got(w.api.Organizations().Get(w.context, with(query{Pagenumber: new(int32(999)), Pagesize: new(int32(100))})))
		c.That("a page past the end is empty", len(page.many) == 0)
		c.holds("pagination", page.pagination, object{"current-page": 999, "page-size": 100})
	})
	w.check(family, "PATCH "+organizationPath, "update and rename", func(c check) {
		made := c.needs("organization", w.organization)
		attributes := object{
			"name": "walk-v2-renamed", "email": "renamed@example.com", "session-timeout": 60, "session-remember": 1440,
			"collaborator-auth-policy": "password", "cost-estimation-enabled": true, "assessments-enforced": true,
			"allow-force-delete-workspaces": true, "speculative-plan-management-enabled": false, "owners-team-saml-role-id": "owners-role",
			"send-passing-statuses-for-untriggered-speculative-plans": true,
		}
		changed := c.got(w.within(c).Patch(w.context, fill(c, models.NewOrganizationsEnvelope(), envelope("organizations", attributes, nil)), nil)).one
		w.organization = changed
		c.has(changed, attributes)
		report.Equal(c.Check, "organization read again", c.got(w.within(c).Get(w.context, nil)).one, changed)
		_, err := named(made.id()).Get(w.context, nil)
		c.Is(err, tfe.ErrNotFound)
	})
	w.check(family, "PATCH "+organizationPath, "a name with other characters is refused", func(c check) {
		body := fill(c, models.NewOrganizationsEnvelope(), envelope("organizations", object{"name": "no spaces!"}, nil))
		_, err := w.within(c).Patch(w.context, body, nil)
		c.Says(err, "invalid attribute")
	})
	if operation := "PUT " + organizationPath; w.Served(operation) {
		w.check(family, operation, "update", func(c check) {
			body := fill(c, models.NewOrganizationsEnvelope(), envelope("organizations", object{"session-timeout": 90}, nil))
			w.organization = c.got(w.within(c).Put(w.context, body, nil)).one
			c.has(w.organization, object{"session-timeout": 90})
		})
	}
	w.check(family, "DELETE "+organizationPath, "delete", func(c check) {
		c.got(w.createOrganization(c, "walk-v2-short", "a@example.com"))
		c.OK(named("walk-v2-short").Delete(w.context, nil))
		_, err := named("walk-v2-short").Get(w.context, nil)
		c.Is(err, tfe.ErrNotFound)
		c.Is(named("walk-v2-short").Delete(w.context, nil), tfe.ErrNotFound)
	})
}

// cleanUp deletes the organization that was walked; whatever is in it must not hinder that.
func (w *walk) cleanUp() {
	w.check("Organizations", "DELETE "+organizationPath, "delete with all that is in it", func(c check) {
		c.OK(w.within(c).Delete(w.context, nil))
		_, err := w.within(c).Get(w.context, nil)
		c.Is(err, tfe.ErrNotFound)
		if w.team != nil {
			_, err = w.api.Teams().ById(w.team.id()).Get(w.context, nil)
			c.Is(err, tfe.ErrNotFound)
		}
	})
}
