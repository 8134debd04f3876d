package main

import (
	"fmt"
	"time"

	"bailiwick.test/conformance/walk/report"
	"github.com/hashicorp/go-tfe/v2/api"
	"github.com/hashicorp/go-tfe/v2/api/models"
)

func (w *walk) auditTrail() {
	const (
		family    = "Audit trail"
		operation = "GET /api/v2/organization/audit-trail"
	)
	var client *api.ApiClient
	// With any parameter the builder of this version panics.
	list := func(c check, query string) document {
		if client == nil {
			c.Stopf("there is no client with the organization's token: an earlier check failed")
		}
		return c.got(client.Organization().AuditTrail().WithUrl(w.at("organization/audit-trail?"+query)).Get(w.context, nil))
	}
	part := func(event resource, name string) object {
		content, _ := event[name].(object)
		return content
	}

	w.check(family, operation, "events", func(c check) {
		made := c.got(w.within(c).AuthenticationToken().Post(w.context, token(c, object{}), nil)).one
		client = w.client(c, secretOf(made))
		found := c.got(client.Organization().AuditTrail().Get(w.context, nil))
		c.holds("pagination", found.pagination, object{"current_page": 1, "prev_page": nil, "next_page": nil, "total_pages": 1, "total_count": len(found.many)})
		for _, event := range found.many {
			c.holds("event", object(event), object{"type": "Resource"})
			c.That("an event has id, version and time", event["id"] != nil && event["version"] != nil && event["timestamp"] != nil)
			for of, names := range map[string][]string{
				"resource": {"id", "type", "action"}, "auth": {"accessor_id", "description", "type", "organization_id"}, "request": {"id"},
			} {
				for _, name := range names {
					c.That("it tells "+of+"."+name, part(event, of)[name] != nil)
				}
			}
		}
	})
	w.byAddress(family, operation, "pages", func(c check) {
		page := list(c, "page[number]=1&page[size]=4")
		report.Equal(c.Check, "events on the page", len(page.many), 4)
		c.holds("pagination", page.pagination, object{"current_page": 1, "next_page": 2})
		last := list(c, fmt.Sprintf("page[number]=%v&page[size]=4", page.pagination["total_pages"]))
		c.That("the last page has no next", last.pagination["next_page"] == nil)
	})
	w.byAddress(family, operation, "what was done to team access", func(c check) {
		team, project := c.needs("team", w.team), c.needs("project", w.project)
		since := time.Now().UTC().Format(time.RFC3339Nano)
		grant := c.got(w.api.TeamProjects().Post(w.context, fill(c, models.NewTeamProjectsEnvelope(), envelope("team-projects", object{"access": "read"}, object{
			"team": to("teams", team.id()), "project": to("projects", project.id()),
		})), nil)).one
		one := w.api.TeamProjects().ByTeam_project_id(grant.id())
		c.got(one.Patch(w.context, fill(c, models.NewTeamProjectsEnvelope(), envelope("team-projects", object{"access": "admin"}, nil)), nil))
		c.OK(one.Delete(w.context, nil))
		actions := report.Map(list(c, "since="+since).many, func(event resource) string {
			return part(event, "resource")["type"].(string) + " " + part(event, "resource")["action"].(string)
		})
		report.Same(c.Check, "events", actions, []string{"project add_team", "project update_team_permissions", "project remove_team"})
	})
	w.check(family, operation, "not for a user's token", func(c check) {
		if _, err := w.api.Organization().AuditTrail().Get(w.context, nil); err == nil {
			c.Faultf("a user's token read the audit trail")
		}
	})
}
