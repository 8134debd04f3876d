package main

import (
	"bailiwick.test/conformance/walk/report"
	"github.com/hashicorp/go-tfe/v2"
	"github.com/hashicorp/go-tfe/v2/api/models"
	"github.com/hashicorp/go-tfe/v2/api/organizations"
	ofList "github.com/hashicorp/go-tfe/v2/api/organizations/item/teams"
	"github.com/hashicorp/go-tfe/v2/api/teams"
	ofTeam "github.com/hashicorp/go-tfe/v2/api/teams/item"
	ofMembers "github.com/hashicorp/go-tfe/v2/api/teams/item/relationships/organizationmemberships"
)

const (
	teamsPath = organizationPath + "/teams"
	teamPath  = "/api/v2/teams/{id}"
)

func (w *walk) createTeam(c check, attributes object) (models.TeamsEnvelopeable, error) {
	return w.within(c).Teams().Post(w.context, fill(c, models.NewTeamsEnvelope(), envelope("teams", attributes, nil)), nil)
}

func (w *walk) teams() {
	const family = "Teams"
	type query = organizations.ItemTeamsRequestBuilderGetQueryParameters
	one := func(id string) *teams.ItemRequestBuilder { return w.api.Teams().ById(id) }
	list := func(c check, query query) document { return c.got(w.within(c).Teams().Get(w.context, with(query))) }
	update := func(c check, id string, attributes object) (models.TeamsEnvelopeable, error) {
		return one(id).Patch(w.context, fill(c, models.NewTeamsEnvelope(), envelope("teams", attributes, nil)), nil)
	}

	w.check(family, "POST "+teamsPath, "create with every attribute", func(c check) {
		attributes := object{
			"name": "walkers", "visibility": "organization", "sso-team-id": "sso-walkers",
			"organization-access": object{"manage-policies": true, "manage-vcs-settings": true},
		}
		made := c.got(w.createTeam(c, attributes)).one
		w.team = made
		c.has(made, attributes)
		c.has(made, object{
			"users-count": 0, "allow-member-token-management": true,
			"organization-access": object{"manage-workspaces": false, "read-workspaces": false, "access-secret-teams": false},
			"permissions":         object{"can-destroy": true, "can-update-membership": true, "can-update-organization-access": true},
		})
	})
	w.check(family, "POST "+teamsPath, "create with a name only", func(c check) {
		made := c.got(w.createTeam(c, object{"name": "plain team"})).one
		c.has(made, object{"visibility": "secret", "organization-access": object{"manage-policies": false}})
		_, err := w.createTeam(c, object{"name": "plain team"})
		c.Says(err, "invalid attribute")
		body := fill(c, models.NewTeamsEnvelope(), envelope("teams", object{"name": "plain team"}, nil))
		_, err = w.api.Organizations().ByOrganization_name(nobody).Teams().Post(w.context, body, nil)
		c.Is(err, tfe.ErrNotFound)
	})
	w.check(family, "GET "+teamPath, "read gives what create gave", func(c check) {
		made := c.needs("team", w.team)
		report.Equal(c.Check, "team", c.got(one(made.id()).Get(w.context, nil)).one, made)
		_, err := one(nobody).Get(w.context, nil)
		c.Is(err, tfe.ErrNotFound)
	})
	w.check(family, "GET "+teamsPath, "list holds what create gave, and the owners", func(c check) {
		made, found := c.needs("team", w.team), list(c, query{Pagesize: new(int32(100))})
		report.Same(c.Check, "names", report.Map(found.many, nameOf), []string{"owners", "plain team", "walkers"})
		c.holds("pagination", found.pagination, object{"total-count": 3})
		report.Equal(c.Check, "team in the list", of(found.many, made.id()), made)
	})
	w.check(family, "GET "+teamsPath, "by names, by search, pages", func(c check) {
		names := func(query query) []string { return report.Map(list(c, query).many, nameOf) }
		report.Same(c.Check, "by names", names(query{Filternames: new("owners,walkers")}), []string{"owners", "walkers"})
		report.Same(c.Check, "by search", names(query{Q: new("walk")}), []string{"walkers"})
		c.holds("pagination of the first page", list(c, query{Pagesize: new(int32(2))}).pagination, object{"current-page": 1, "prev-page": nil, "next-page": 2})
		page := list(c, query{Pagenumber: new(int32(2)), Pagesize: new(int32(2))})
		report.Equal(c.Check, "items on the second page", len(page.many), 1)
		c.holds("pagination", page.pagination, object{"current-page": 2, "prev-page": 1, "next-page": nil, "total-pages": 2, "total-count": 3})
		c.That("a page past the end is empty", len(list(c, query{Pagenumber: new(int32(999))}).many) == 0)
	})
	w.check(family, "GET "+teamsPath, "with users and memberships", func(c check) {
		found := list(c, query{Filternames: new("owners"), Include: new(ofList.USERS_GETINCLUDEQUERYPARAMETERTYPE)})
		if len(found.many) != 1 || len(found.included) != 1 {
			c.Stopf("the owners are not one team with one user")
		}
		report.Equal(c.Check, "users", found.many[0].relatedAll("users"), []string{found.included[0].id()})
		c.That("the owner has a user name", found.included[0].attributes()["username"] != nil)
		found = list(c, query{Filternames: new("owners"), Include: new(ofList.ORGANIZATIONMEMBERSHIPS_GETINCLUDEQUERYPARAMETERTYPE)})
		if len(found.included) != 1 {
			c.Stopf("the owners are not one membership")
		}
		report.Equal(c.Check, "memberships", found.many[0].relatedAll("organization-memberships"), []string{found.included[0].id()})
		c.has(found.included[0], object{"status": "active"})
	})
	w.check(family, "PATCH "+teamPath, "update", func(c check) {
		made := c.needs("team", w.team)
		attributes := object{
			"name": "wanderers", "visibility": "secret", "allow-member-token-management": false,
			"organization-access": object{
				"manage-policies": false, "manage-workspaces": true, "manage-projects": true, "manage-membership": true, "manage-teams": true,
				"manage-organization-access": true, "access-secret-teams": true, "manage-agent-pools": true,
			},
		}
		changed := c.got(update(c, made.id(), attributes)).one
		c.has(changed, attributes)
		c.has(changed, object{"organization-access": object{"manage-vcs-settings": true}, "sso-team-id": "sso-walkers"})
		report.Equal(c.Check, "team read again", c.got(one(made.id()).Get(w.context, nil)).one, changed)
		_, err := update(c, nobody, object{"name": "none"})
		c.Is(err, tfe.ErrNotFound)
		w.team = c.got(update(c, made.id(), object{"name": "walkers", "visibility": "organization", "sso-team-id": "", "allow-member-token-management": true})).one
		c.That("the single sign-on id is cleared", w.team.attributes()["sso-team-id"] == nil)
	})
	w.check(family, "DELETE "+teamPath, "delete", func(c check) {
		made := c.got(w.createTeam(c, object{"name": "short"})).one
		c.OK(one(made.id()).Delete(w.context, nil))
		_, err := one(made.id()).Get(w.context, nil)
		c.Is(err, tfe.ErrNotFound)
		c.Is(one(made.id()).Delete(w.context, nil), tfe.ErrNotFound)
	})
}

func (w *walk) teamMembers() {
	const (
		family          = "Team membership"
		usersPath       = teamPath + "/relationships/users"
		membershipsPath = teamPath + "/relationships/organization-memberships"
	)
	type query = teams.ItemRelationshipsOrganizationMembershipsRequestBuilderGetQueryParameters
	members := func(c check) *teams.ItemRelationshipsRequestBuilder {
		c.needs("membership", w.membership)
		return w.api.Teams().ById(c.needs("team", w.team).id()).Relationships()
	}
	usersOf := func(c check, names ...string) *models.UsersIdentifierArrayDocument {
		return fill(c, models.NewUsersIdentifierArrayDocument(), identifiers("users", names...))
	}
	membershipsOf := func(c check, ids ...string) *models.OrganizationMembershipsIdentifierArrayDocument {
		return fill(c, models.NewOrganizationMembershipsIdentifierArrayDocument(), identifiers("organization-memberships", ids...))
	}
	list := func(c check, query query) []string {
		query.Pagesize = new(int32(100))
		return report.Map(c.got(members(c).OrganizationMemberships().Get(w.context, with(query))).many, resource.id)
	}
	// The provider finds the members of a team as the users that its answer includes.
	users := func(c check) []string {
		query := teams.ItemRequestBuilderGetQueryParameters{Include: new(ofTeam.USERS_GETINCLUDEQUERYPARAMETERTYPE)}
		read := c.got(w.api.Teams().ById(w.team.id()).Get(w.context, with(query)))
		return report.Map(read.one.relatedAll("users"), func(id string) string {
			return c.needs("included user "+id, of(read.included, id)).attribute("username")
		})
	}

	w.check(family, "POST "+usersPath, "add by user name", func(c check) {
		c.OK(members(c).Users().Post(w.context, usersOf(c, w.member.Username), nil))
		report.Same(c.Check, "users", users(c), []string{w.member.Username})
		report.Same(c.Check, "memberships", list(c, query{}), []string{w.membership.id()})
		c.Says(members(c).Users().Post(w.context, usersOf(c, nobody), nil), nobody)
	})
	w.check(family, "GET "+teamPath, "members of a team", func(c check) {
		members(c)
		report.Same(c.Check, "users", users(c), []string{w.member.Username})
		query := teams.ItemRequestBuilderGetQueryParameters{Include: new(ofTeam.ORGANIZATIONMEMBERSHIPS_GETINCLUDEQUERYPARAMETERTYPE)}
		read := c.got(w.api.Teams().ById(w.team.id()).Get(w.context, with(query)))
		c.has(read.one, object{"users-count": 1})
		report.Equal(c.Check, "included membership", of(read.included, w.membership.id()).attributes(), c.got(w.api.OrganizationMemberships().ByOrganization_membership_id(w.membership.id()).Get(w.context, nil)).one.attributes())
	})
	w.check(family, "DELETE "+usersPath, "remove by user name", func(c check) {
		c.OK(members(c).Users().Delete(w.context, usersOf(c, w.member.Username), nil))
		report.Same(c.Check, "users", users(c), nil)
	})
	w.check(family, "POST "+membershipsPath, "add by membership, an invited one too", func(c check) {
		members(c)
		invited := c.got(w.invite(c, "walk-v2-invited@example.com", nil)).one
		c.OK(members(c).OrganizationMemberships().Post(w.context, membershipsOf(c, w.membership.id(), invited.id()), nil))
		report.Same(c.Check, "memberships", list(c, query{}), []string{w.membership.id(), invited.id()})
	})
	w.check(family, "GET "+membershipsPath, "members by status, by kind, sorted, pages", func(c check) {
		all := list(c, query{})
		status := func(id string) string {
			return c.got(w.api.OrganizationMemberships().ByOrganization_membership_id(id).Get(w.context, nil)).one.attribute("status")
		}
		report.Equal(c.Check, "active ones", list(c, query{Filterstatus: new(ofMembers.ACTIVE_GETFILTERSTATUSQUERYPARAMETERTYPE)}), []string{w.membership.id()})
		report.Equal(c.Check, "people", len(list(c, query{Filteris_service_account: new(ofMembers.FALSE_GETFILTERIS_SERVICE_ACCOUNTQUERYPARAMETERTYPE)})), 2)
		report.Equal(c.Check, "service accounts", len(list(c, query{Filteris_service_account: new(ofMembers.TRUE_GETFILTERIS_SERVICE_ACCOUNTQUERYPARAMETERTYPE)})), 0)
		forwards := report.Map(list(c, query{Sort: new(ofMembers.STATUS_GETSORTQUERYPARAMETERTYPE)}), status)
		report.Equal(c.Check, "order by status", forwards, []string{"active", "invited"})
		backwards := report.Map(list(c, query{Sort: new(ofMembers.MINUS_STATUS_GETSORTQUERYPARAMETERTYPE)}), status)
		report.Equal(c.Check, "order by status, backwards", backwards, []string{"invited", "active"})
		page := c.got(members(c).OrganizationMemberships().Get(w.context, with(query{Pagenumber: new(int32(2)), Pagesize: new(int32(1))})))
		c.holds("pagination", page.pagination, object{"current-page": 2, "next-page": nil, "total-pages": 2, "total-count": 2})
		report.Equal(c.Check, "second page", report.Map(page.many, resource.id), all[1:])
		_, err := w.api.Teams().ById(nobody).Relationships().OrganizationMemberships().Get(w.context, nil)
		c.Is(err, tfe.ErrNotFound)
	})
	w.check(family, "DELETE "+membershipsPath, "remove by membership", func(c check) {
		c.OK(members(c).OrganizationMemberships().Delete(w.context, membershipsOf(c, list(c, query{})...), nil))
		report.Same(c.Check, "memberships", list(c, query{}), nil)
	})
	w.check(family, "DELETE "+membershipsPath, "the last owner stays", func(c check) {
		owners := c.got(w.within(c).Teams().Get(w.context, with(organizations.ItemTeamsRequestBuilderGetQueryParameters{Filternames: new("owners")}))).many[0].id()
		memberships := w.api.Teams().ById(owners).Relationships().OrganizationMemberships()
		last := report.Map(c.got(memberships.Get(w.context, nil)).many, resource.id)
		report.Equal(c.Check, "owners", len(last), 1)
		c.Is(memberships.Delete(w.context, membershipsOf(c, last...), nil), tfe.ErrForbidden)
	})
}
