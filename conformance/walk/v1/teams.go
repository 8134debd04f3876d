package main

import (
	"bailiwick.test/conformance/walk/report"
	"github.com/hashicorp/go-tfe"
)

const (
	teamsPath = organizationPath + "/teams"
	teamPath  = "/api/v2/teams/{id}"
)

func nameOfTeam(team *tfe.Team) string { return team.Name }

func (w *walk) teams() {
	const family = "Teams"
	teams := w.client.Teams
	list := func(c *report.Check, options tfe.TeamListOptions) *tfe.TeamList {
		found, err := teams.List(w.context, report.Needs(c, "organization", w.organization).Name, &options)
		c.OK(err)
		return found
	}

	w.Check(family, "POST "+teamsPath, "create with every attribute", func(c *report.Check) {
		organization := report.Needs(c, "organization", w.organization)
		made, err := teams.Create(w.context, organization.Name, tfe.TeamCreateOptions{
			Name:               tfe.String("walkers"),
			Visibility:         tfe.String("organization"),
			SSOTeamID:          tfe.String("sso-walkers"),
			OrganizationAccess: &tfe.OrganizationAccessOptions{ManagePolicies: tfe.Bool(true), ManageVCSSettings: tfe.Bool(true)},
		})
		c.OK(err)
		w.team = made
		report.Equal(c, "name", made.Name, "walkers")
		report.Equal(c, "visibility", made.Visibility, "organization")
		report.Equal(c, "single sign-on id", made.SSOTeamID, "sso-walkers")
		report.Equal(c, "organization access", made.OrganizationAccess, &tfe.OrganizationAccess{ManagePolicies: true, ManageVCSSettings: true})
		report.Equal(c, "token management by members", made.AllowMemberTokenManagement, true)
		report.Equal(c, "users", made.UserCount, 0)
		report.Equal(c, "permissions", made.Permissions, &tfe.TeamPermissions{CanDestroy: true, CanUpdateMembership: true})
	})
	w.Check(family, "POST "+teamsPath, "create with a name only", func(c *report.Check) {
		organization := report.Needs(c, "organization", w.organization)
		made, err := teams.Create(w.context, organization.Name, tfe.TeamCreateOptions{Name: tfe.String("plain team")})
		c.OK(err)
		report.Equal(c, "visibility", made.Visibility, "secret")
		report.Equal(c, "organization access", made.OrganizationAccess, &tfe.OrganizationAccess{})
		_, err = teams.Create(w.context, organization.Name, tfe.TeamCreateOptions{Name: tfe.String("plain team")})
		c.Says(err, "invalid attribute")
		_, err = teams.Create(w.context, nobody, tfe.TeamCreateOptions{Name: tfe.String("plain team")})
		c.Is(err, tfe.ErrResourceNotFound)
	})
	w.Check(family, "GET "+teamPath, "read gives what create gave", func(c *report.Check) {
		made := report.Needs(c, "team", w.team)
		read, err := teams.Read(w.context, made.ID)
		c.OK(err)
		report.Equal(c, "team", read, made)
		_, err = teams.Read(w.context, nobody)
		c.Is(err, tfe.ErrResourceNotFound)
	})
	w.Check(family, "GET "+teamsPath, "list holds what create gave, and the owners", func(c *report.Check) {
		made, found := report.Needs(c, "team", w.team), list(c, tfe.TeamListOptions{})
		report.Same(c, "names", report.Map(found.Items, nameOfTeam), []string{"owners", "plain team", "walkers"})
		report.Equal(c, "total", found.TotalCount, 3)
		for _, item := range found.Items {
			if item.ID == made.ID {
				report.Equal(c, "team in the list", item, made)
			}
		}
	})
	w.Check(family, "GET "+teamsPath, "by names, by search, pages", func(c *report.Check) {
		report.Same(c, "by names", report.Map(list(c, tfe.TeamListOptions{Names: []string{"owners", "walkers"}}).Items, nameOfTeam), []string{"owners", "walkers"})
		report.Same(c, "by search", report.Map(list(c, tfe.TeamListOptions{Query: "walk"}).Items, nameOfTeam), []string{"walkers"})
		report.Equal(c, "pagination of the first page", *list(c, tfe.TeamListOptions{ListOptions: tfe.ListOptions{PageSize: 2}}).Pagination, tfe.Pagination{CurrentPage: 1, NextPage: 2, TotalPages: 2, TotalCount: 3})
		page := list(c, tfe.TeamListOptions{ListOptions: tfe.ListOptions{PageNumber: 2, PageSize: 2}})
		report.Equal(c, "pagination", *page.Pagination, tfe.Pagination{CurrentPage: 2, PreviousPage: 1, TotalPages: 2, TotalCount: 3})
		report.Equal(c, "items on the second page", len(page.Items), 1)
		c.That("a page past the end is empty", len(list(c, tfe.TeamListOptions{ListOptions: tfe.ListOptions{PageNumber: 999}}).Items) == 0)
	})
	w.Check(family, "GET "+teamsPath, "with users and memberships", func(c *report.Check) {
		found := list(c, tfe.TeamListOptions{Names: []string{"owners"}, Include: []tfe.TeamIncludeOpt{tfe.TeamUsers, tfe.TeamOrganizationMemberships}})
		if len(found.Items) != 1 || len(found.Items[0].Users) != 1 || len(found.Items[0].OrganizationMemberships) != 1 {
			c.Stopf("the owners are not one user with one membership")
		}
		c.That("the owner has a user name", found.Items[0].Users[0].Username != "")
		report.Equal(c, "status of the owner", found.Items[0].OrganizationMemberships[0].Status, tfe.OrganizationMembershipActive)
	})
	w.Check(family, "PATCH "+teamPath, "update", func(c *report.Check) {
		made := report.Needs(c, "team", w.team)
		changed, err := teams.Update(w.context, made.ID, tfe.TeamUpdateOptions{
			Name:                       tfe.String("wanderers"),
			Visibility:                 tfe.String("secret"),
			SSOTeamID:                  tfe.String(""),
			AllowMemberTokenManagement: tfe.Bool(false),
			OrganizationAccess: &tfe.OrganizationAccessOptions{
				ManagePolicies: tfe.Bool(false), ManageWorkspaces: tfe.Bool(true), ManageProjects: tfe.Bool(true),
				ManageMembership: tfe.Bool(true), ManageTeams: tfe.Bool(true), ManageOrganizationAccess: tfe.Bool(true),
				AccessSecretTeams: tfe.Bool(true), ManageAgentPools: tfe.Bool(true),
			},
		})
		c.OK(err)
		report.Equal(c, "name", changed.Name, "wanderers")
		report.Equal(c, "visibility", changed.Visibility, "secret")
		report.Equal(c, "single sign-on id", changed.SSOTeamID, "")
		report.Equal(c, "token management by members", changed.AllowMemberTokenManagement, false)
		report.Equal(c, "organization access, merged", changed.OrganizationAccess, &tfe.OrganizationAccess{
			ManageVCSSettings: true, ManageWorkspaces: true, ManageProjects: true, ManageMembership: true, ManageTeams: true,
			ManageOrganizationAccess: true, AccessSecretTeams: true, ManageAgentPools: true,
		})
		read, err := teams.Read(w.context, made.ID)
		c.OK(err)
		report.Equal(c, "team read again", read, changed)
		_, err = teams.Update(w.context, nobody, tfe.TeamUpdateOptions{Name: tfe.String("none")})
		c.Is(err, tfe.ErrResourceNotFound)
		w.team, err = teams.Update(w.context, made.ID, tfe.TeamUpdateOptions{
			Name:                       tfe.String("walkers"),
			Visibility:                 tfe.String("organization"),
			AllowMemberTokenManagement: tfe.Bool(true),
		})
		c.OK(err)
	})
	w.Check(family, "PATCH "+teamPath, "a wrong visibility is refused", func(c *report.Check) {
		made := report.Needs(c, "team", w.team)
		_, err := teams.Update(w.context, made.ID, tfe.TeamUpdateOptions{Visibility: tfe.String("everybody")})
		c.Says(err, "invalid attribute")
	})
	w.Check(family, "DELETE "+teamPath, "delete", func(c *report.Check) {
		organization := report.Needs(c, "organization", w.organization)
		made, err := teams.Create(w.context, organization.Name, tfe.TeamCreateOptions{Name: tfe.String("short")})
		c.OK(err)
		c.OK(teams.Delete(w.context, made.ID))
		_, err = teams.Read(w.context, made.ID)
		c.Is(err, tfe.ErrResourceNotFound)
		c.Is(teams.Delete(w.context, made.ID), tfe.ErrResourceNotFound)
	})
}

func (w *walk) teamMembers() {
	const (
		family          = "Team membership"
		usersPath       = teamPath + "/relationships/users"
		membershipsPath = teamPath + "/relationships/organization-memberships"
	)
	members := w.client.TeamMembers
	users := func(c *report.Check) []string {
		found, err := members.ListUsers(w.context, w.team.ID)
		c.OK(err)
		return report.Map(found, func(user *tfe.User) string { return user.Username })
	}
	memberships := func(c *report.Check) []string {
		found, err := members.ListOrganizationMemberships(w.context, w.team.ID)
		c.OK(err)
		return report.Map(found, func(membership *tfe.OrganizationMembership) string { return membership.ID })
	}
	needs := func(c *report.Check) (*tfe.Team, *tfe.OrganizationMembership) {
		return report.Needs(c, "team", w.team), report.Needs(c, "membership", w.membership)
	}

	w.Check(family, "POST "+usersPath, "add by user name", func(c *report.Check) {
		team, membership := needs(c)
		c.OK(members.Add(w.context, team.ID, tfe.TeamMemberAddOptions{Usernames: []string{w.member.Username}}))
		report.Same(c, "users", users(c), []string{w.member.Username})
		report.Same(c, "memberships", memberships(c), []string{membership.ID})
		c.Says(members.Add(w.context, team.ID, tfe.TeamMemberAddOptions{Usernames: []string{nobody}}), "")
	})
	w.Check(family, "GET "+teamPath, "members of a team", func(c *report.Check) {
		team, membership := needs(c)
		found, err := members.List(w.context, team.ID)
		c.OK(err)
		if len(found) != 1 {
			c.Stopf("there are %d members, not 1", len(found))
		}
		report.Equal(c, "id", found[0].ID, w.member.ID)
		report.Equal(c, "user name", found[0].Username, w.member.Username)
		read, err := w.client.Teams.Read(w.context, team.ID)
		c.OK(err)
		report.Equal(c, "number of users", read.UserCount, 1)
		listed, err := members.ListOrganizationMemberships(w.context, team.ID)
		c.OK(err)
		if len(listed) == 1 {
			report.Equal(c, "e-mail of the membership", listed[0].Email, membership.Email)
		}
	})
	w.Check(family, "DELETE "+usersPath, "remove by user name", func(c *report.Check) {
		team, _ := needs(c)
		c.OK(members.Remove(w.context, team.ID, tfe.TeamMemberRemoveOptions{Usernames: []string{w.member.Username}}))
		report.Same(c, "users", users(c), nil)
	})
	w.Check(family, "POST "+membershipsPath, "add by membership, an invited one too", func(c *report.Check) {
		team, membership := needs(c)
		invited, err := w.client.OrganizationMemberships.Create(w.context, w.organization.Name, tfe.OrganizationMembershipCreateOptions{Email: tfe.String("walk-v1-invited@example.com")})
		c.OK(err)
		c.OK(members.Add(w.context, team.ID, tfe.TeamMemberAddOptions{OrganizationMembershipIDs: []string{membership.ID, invited.ID}}))
		report.Same(c, "memberships", memberships(c), []string{membership.ID, invited.ID})
		c.OK(w.client.OrganizationMemberships.Delete(w.context, invited.ID))
		report.Same(c, "memberships after the invitation is gone", memberships(c), []string{membership.ID})
	})
	w.Check(family, "DELETE "+membershipsPath, "remove by membership", func(c *report.Check) {
		team, membership := needs(c)
		c.OK(members.Remove(w.context, team.ID, tfe.TeamMemberRemoveOptions{OrganizationMembershipIDs: []string{membership.ID}}))
		report.Same(c, "memberships", memberships(c), nil)
	})
	w.Check(family, "DELETE "+membershipsPath, "the last owner stays", func(c *report.Check) {
		organization := report.Needs(c, "organization", w.organization)
		found, err := w.client.Teams.List(w.context, organization.Name, &tfe.TeamListOptions{Names: []string{"owners"}, Include: []tfe.TeamIncludeOpt{tfe.TeamOrganizationMemberships}})
		c.OK(err)
		if len(found.Items) != 1 || len(found.Items[0].OrganizationMemberships) != 1 {
			c.Stopf("the owners are not one membership")
		}
		owners := found.Items[0]
		c.Says(members.Remove(w.context, owners.ID, tfe.TeamMemberRemoveOptions{OrganizationMembershipIDs: []string{owners.OrganizationMemberships[0].ID}}), "forbidden")
	})
}
