package main

import (
	"time"

	"bailiwick.test/conformance/walk/report"
	"github.com/hashicorp/go-tfe"
)

func (w *walk) auditTrail() {
	const (
		family    = "Audit trail"
		operation = "GET /api/v2/organization/audit-trail"
	)
	organization := func(c *report.Check) string { return report.Needs(c, "organization", w.organization).Name }
	audit := tfe.AuditTrailToken
	var client, trailOnly *tfe.Client
	w.Check(family, operation, "events, newest page by page", func(c *report.Check) {
		token, err := w.client.OrganizationTokens.Create(w.context, organization(c))
		c.OK(err)
		client, err = w.as(token.Token)
		c.OK(err)
		page, err := client.AuditTrails.List(w.context, &tfe.AuditTrailListOptions{ListOptions: &tfe.ListOptions{PageNumber: 1, PageSize: 4}})
		c.OK(err)
		report.Equal(c, "events on the page", len(page.Items), 4)
		report.Equal(c, "current page", page.CurrentPage, 1)
		report.Equal(c, "next page", page.NextPage, 2)
		c.That("there are as many pages as are needed", page.TotalPages == (page.TotalCount+3)/4)
		last, err := client.AuditTrails.List(w.context, &tfe.AuditTrailListOptions{ListOptions: &tfe.ListOptions{PageNumber: page.TotalPages, PageSize: 4}})
		c.OK(err)
		c.That("the last page has no next", last.NextPage == 0)
		for _, event := range page.Items {
			c.That("an event has id, version, type and time", event.ID != "" && event.Version != "" && event.Type == "Resource" && !event.Timestamp.IsZero())
			c.That("it tells the resource", event.Resource.ID != "" && event.Resource.Type != "" && event.Resource.Action != "")
			c.That("it tells who did it", event.Auth.AccessorID != "" && event.Auth.Description != "" && event.Auth.Type != "" && event.Auth.OrganizationID != "")
			c.That("it tells the request", event.Request.ID != "")
		}
	})
	w.Check(family, operation, "eight events for a token, a workspace and three pairs of locks", func(c *report.Check) {
		other, err := w.client.Organizations.Create(w.context, tfe.OrganizationCreateOptions{Name: tfe.String("walk-v1-audit"), Email: tfe.String("a@example.com")})
		c.OK(err)
		since := nextSecond()
		token, err := w.client.OrganizationTokens.CreateWithOptions(w.context, other.Name, tfe.OrganizationTokenCreateOptions{TokenType: &audit})
		c.OK(err)
		trailOnly, err = w.as(token.Token)
		c.OK(err)
		workspace, err := w.client.Workspaces.Create(w.context, other.Name, tfe.WorkspaceCreateOptions{Name: tfe.String("audited")})
		c.OK(err)
		for range 3 {
			_, err = w.client.Workspaces.Lock(w.context, workspace.ID, tfe.WorkspaceLockOptions{})
			c.OK(err)
			_, err = w.client.Workspaces.Unlock(w.context, workspace.ID)
			c.OK(err)
		}
		found, err := trailOnly.AuditTrails.List(w.context, &tfe.AuditTrailListOptions{Since: since})
		c.OK(err)
		actions := report.Map(found.Items, func(event *tfe.AuditTrail) string { return event.Resource.Type + " " + event.Resource.Action })
		report.Same(c, "events", actions, []string{
			"authentication_token create", "workspace create", "workspace lock", "workspace unlock", "workspace lock", "workspace unlock", "workspace lock", "workspace unlock",
		})
	})
	w.Check(family, operation, "only for its tokens, and they for nothing else", func(c *report.Check) {
		if _, err := w.client.AuditTrails.List(w.context, nil); err == nil {
			c.Faultf("a user's token read the audit trail")
		}
		report.Needs(c, "client with the token for the audit trail", trailOnly)
		if _, err := trailOnly.Organizations.Read(w.context, "walk-v1-audit"); err == nil {
			c.Faultf("the token for the audit trail read the organization")
		}
		c.OK(w.client.Organizations.Delete(w.context, "walk-v1-audit"))
	})
	w.Check(family, operation, "what was done to team access", func(c *report.Check) {
		report.Needs(c, "client with the organization's token", client)
		team, project := report.Needs(c, "team", w.team), report.Needs(c, "project", w.project)
		since := nextSecond()
		grant, err := w.client.TeamProjectAccess.Add(w.context, tfe.TeamProjectAccessAddOptions{Access: tfe.TeamProjectAccessRead, Team: team, Project: project})
		c.OK(err)
		_, err = w.client.TeamProjectAccess.Update(w.context, grant.ID, tfe.TeamProjectAccessUpdateOptions{Access: tfe.ProjectAccess(tfe.TeamProjectAccessAdmin)})
		c.OK(err)
		c.OK(w.client.TeamProjectAccess.Remove(w.context, grant.ID))
		found, err := client.AuditTrails.List(w.context, &tfe.AuditTrailListOptions{Since: since})
		c.OK(err)
		actions := report.Map(found.Items, func(event *tfe.AuditTrail) string { return event.Resource.Type + " " + event.Resource.Action })
		report.Same(c, "events", actions, []string{"project add_team", "project update_team_permissions", "project remove_team"})
	})
}

// nextSecond waits until a second begins, because the client sends times in whole seconds.
func nextSecond() time.Time {
	next := time.Now().UTC().Truncate(time.Second).Add(time.Second)
	time.Sleep(time.Until(next) + 5*time.Millisecond)
	return next
}
