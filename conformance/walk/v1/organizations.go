package main

import (
	"bailiwick.test/conformance/walk/report"
	"github.com/hashicorp/go-tfe"
)

const (
	organizationsPath = "/api/v2/organizations"
	organizationPath  = "/api/v2/organizations/{organization}"
)

func (w *walk) organizations() {
	const family = "Organizations"
	organizations := w.client.Organizations
	find := func(c *report.Check, query string) *tfe.Organization {
		list, err := organizations.List(w.context, &tfe.OrganizationListOptions{Query: query, ListOptions: tfe.ListOptions{PageSize: 100}})
		c.OK(err)
		for _, item := range list.Items {
			if item.Name == w.organization.Name {
				return item
			}
		}
		return nil
	}

	w.Check(family, "POST "+organizationsPath, "create", func(c *report.Check) {
		made, err := organizations.Create(w.context, tfe.OrganizationCreateOptions{
			Name:  tfe.String("walk-v1"),
			Email: tfe.String("walk-v1@example.com"),
		})
		c.OK(err)
		w.organization = made
		report.Equal(c, "name", made.Name, "walk-v1")
		report.Equal(c, "email", made.Email, "walk-v1@example.com")
		report.Equal(c, "execution mode", made.DefaultExecutionMode, "remote")
		c.That("there is an external id", made.ExternalID != "")
		c.That("the time of creation is told", !made.CreatedAt.IsZero())
		c.That("no trial ends", made.TrialExpiresAt.IsZero())
		c.That("something is left to be tested", made.RemainingTestableCount > 1)
		c.That("its creator may delete it", made.Permissions != nil && made.Permissions.CanDestroy)
		c.That("its creator may update it", made.Permissions != nil && made.Permissions.CanUpdate)
		c.That("user tokens are enabled", made.UserTokensEnabled != nil && *made.UserTokensEnabled)
	})
	w.Check(family, "POST "+organizationsPath, "a name that is taken is refused", func(c *report.Check) {
		_, err := organizations.Create(w.context, tfe.OrganizationCreateOptions{Name: tfe.String("walk-v1"), Email: tfe.String("a@example.com")})
		c.Says(err, "invalid attribute")
	})
	w.Check(family, "GET "+organizationPath, "read gives what create gave", func(c *report.Check) {
		made := report.Needs(c, "organization", w.organization)
		read, err := organizations.Read(w.context, made.Name)
		c.OK(err)
		report.Equal(c, "organization", read, made)
	})
	w.Check(family, "GET "+organizationPath, "with its default project", func(c *report.Check) {
		made := report.Needs(c, "organization", w.organization)
		read, err := organizations.ReadWithOptions(w.context, made.Name, tfe.OrganizationReadOptions{Include: []tfe.OrganizationIncludeOpt{tfe.OrganizationDefaultProject}})
		c.OK(err)
		report.Equal(c, "name of the default project", report.Needs(c, "default project", read.DefaultProject).Name, "Default Project")
	})
	w.Check(family, "GET "+organizationPath, "an absent one is not found", func(c *report.Check) {
		_, err := organizations.Read(w.context, nobody)
		c.Is(err, tfe.ErrResourceNotFound)
	})
	w.Check(family, "GET "+organizationsPath, "list holds what create gave", func(c *report.Check) {
		made := report.Needs(c, "organization", w.organization)
		report.Equal(c, "organization in the list", find(c, ""), made)
	})
	w.Check(family, "GET "+organizationsPath, "search by name and by e-mail", func(c *report.Check) {
		made := report.Needs(c, "organization", w.organization)
		c.That("it is found by its name", find(c, made.Name) != nil)
		c.That("it is found by its e-mail", find(c, made.Email) != nil)
		c.That("it is not found by another name", find(c, nobody) == nil)
	})
	w.Check(family, "GET "+organizationsPath, "pages", func(c *report.Check) {
		list, err := organizations.List(w.context, &tfe.OrganizationListOptions{ListOptions: tfe.ListOptions{PageNumber: 999, PageSize: 100}})
		c.OK(err)
		c.That("a page past the end is empty", len(list.Items) == 0)
		report.Equal(c, "current page", list.CurrentPage, 999)
	})
	w.Check(family, "PATCH "+organizationPath, "update and rename", func(c *report.Check) {
		made := report.Needs(c, "organization", w.organization)
		changed, err := organizations.Update(w.context, made.Name, tfe.OrganizationUpdateOptions{
			Name:                             tfe.String("walk-v1-renamed"),
			Email:                            tfe.String("renamed@example.com"),
			SessionTimeout:                   tfe.Int(60),
			SessionRemember:                  tfe.Int(1440),
			CollaboratorAuthPolicy:           tfe.AuthPolicy(tfe.AuthPolicyPassword),
			CostEstimationEnabled:            tfe.Bool(true),
			AssessmentsEnforced:              tfe.Bool(true),
			AllowForceDeleteWorkspaces:       tfe.Bool(true),
			SpeculativePlanManagementEnabled: tfe.Bool(false),
			OwnersTeamSAMLRoleID:             tfe.String("owners-role"),
			SendPassingStatusesForUntriggeredSpeculativePlans: tfe.Bool(true),
		})
		c.OK(err)
		w.organization = changed
		report.Equal(c, "name", changed.Name, "walk-v1-renamed")
		report.Equal(c, "email", changed.Email, "renamed@example.com")
		report.Equal(c, "session timeout", changed.SessionTimeout, 60)
		report.Equal(c, "session remember", changed.SessionRemember, 1440)
		report.Equal(c, "authentication policy", changed.CollaboratorAuthPolicy, tfe.AuthPolicyPassword)
		report.Equal(c, "cost estimation", changed.CostEstimationEnabled, true)
		report.Equal(c, "assessments", changed.AssessmentsEnforced, true)
		report.Equal(c, "force delete", changed.AllowForceDeleteWorkspaces, true)
		report.Equal(c, "speculative plan management", changed.SpeculativePlanManagementEnabled, false)
		report.Equal(c, "role of the owners", changed.OwnersTeamSAMLRoleID, "owners-role")
		report.Equal(c, "passing statuses", changed.SendPassingStatusesForUntriggeredSpeculativePlans, true)
		read, err := organizations.Read(w.context, changed.Name)
		c.OK(err)
		report.Equal(c, "organization read again", read, changed)
		_, err = organizations.Read(w.context, made.Name)
		c.Is(err, tfe.ErrResourceNotFound)
	})
	w.Check(family, "PATCH "+organizationPath, "a name with other characters is refused", func(c *report.Check) {
		made := report.Needs(c, "organization", w.organization)
		_, err := organizations.Update(w.context, made.Name, tfe.OrganizationUpdateOptions{Name: tfe.String("no spaces!")})
		c.Says(err, "invalid attribute")
	})
	w.Check(family, "GET "+organizationPath+"/entitlement-set", "what the organization is entitled to", func(c *report.Check) {
		made := report.Needs(c, "organization", w.organization)
		set, err := organizations.ReadEntitlements(w.context, made.Name)
		c.OK(err)
		report.Equal(c, "id", set.ID, made.ExternalID)
		c.That("teams are included", set.Teams)
		c.That("audit logging is included", set.AuditLogging)
		_, err = organizations.ReadEntitlements(w.context, nobody)
		c.Is(err, tfe.ErrResourceNotFound)
	})
	w.Check(family, "DELETE "+organizationPath, "delete", func(c *report.Check) {
		_, err := organizations.Create(w.context, tfe.OrganizationCreateOptions{Name: tfe.String("walk-v1-short"), Email: tfe.String("a@example.com")})
		c.OK(err)
		c.OK(organizations.Delete(w.context, "walk-v1-short"))
		_, err = organizations.Read(w.context, "walk-v1-short")
		c.Is(err, tfe.ErrResourceNotFound)
		c.Is(organizations.Delete(w.context, "walk-v1-short"), tfe.ErrResourceNotFound)
	})
}

// cleanUp deletes the organization that was walked; whatever is in it must not hinder that.
func (w *walk) cleanUp() {
	w.Check("Organizations", "DELETE "+organizationPath, "delete with all that is in it", func(c *report.Check) {
		made := report.Needs(c, "organization", w.organization)
		c.OK(w.client.Organizations.Delete(w.context, made.Name))
		_, err := w.client.Organizations.Read(w.context, made.Name)
		c.Is(err, tfe.ErrResourceNotFound)
		if w.team != nil {
			_, err = w.client.Teams.Read(w.context, w.team.ID)
			c.Is(err, tfe.ErrResourceNotFound)
		}
	})
}
