package main

import (
	"bailiwick.test/conformance/walk/report"
	"github.com/hashicorp/go-tfe"
)

func (w *walk) account() {
	const family = "Account and users"
	w.Check(family, "GET /api/v2/account/details", "the caller's own account", func(c *report.Check) {
		user, err := w.client.Users.ReadCurrent(w.context)
		c.OK(err)
		c.That("there is a user name", user.Username != "")
		c.That("there is an e-mail", user.Email != "")
		c.That("there is an avatar", user.AvatarURL != "")
		c.That("two-factor is told", user.TwoFactor != nil)
		c.That("permissions are told", user.Permissions != nil && user.Permissions.CanCreateOrganizations)
		c.That("it is no service account", !user.IsServiceAccount)
	})
	w.Check(family, "GET /api/v2/account/details", "a wrong token is unauthorized", func(c *report.Check) {
		client, err := w.as("wrong." + w.member.Token)
		c.OK(err)
		_, err = client.Users.ReadCurrent(w.context)
		c.Is(err, tfe.ErrUnauthorized)
	})
	w.Check(family, "PATCH /api/v2/account/update", "change one's own user name", func(c *report.Check) {
		client, err := w.as(w.member.Token)
		c.OK(err)
		changed, err := client.Users.UpdateCurrent(w.context, tfe.UserUpdateOptions{Username: tfe.String("walk-v1-other")})
		c.OK(err)
		report.Equal(c, "user name", changed.Username, "walk-v1-other")
		read, err := client.Users.ReadCurrent(w.context)
		c.OK(err)
		report.Equal(c, "account read again", read, changed)
		_, err = client.Users.UpdateCurrent(w.context, tfe.UserUpdateOptions{Username: tfe.String(w.member.Username)})
		c.OK(err)
	})
	if operation := "GET /api/v2/admin/users"; w.Served(operation) {
		w.Check(family, operation, "list for site admins", func(c *report.Check) {
			list, err := w.client.Admin.Users.List(w.context, &tfe.AdminUserListOptions{ListOptions: tfe.ListOptions{PageSize: 100}})
			c.OK(err)
			names := report.Map(list.Items, func(user *tfe.AdminUser) string { return user.Username })
			report.Same(c, "user of the walk in the list", only(names, w.member.Username), []string{w.member.Username})
		})
	}
	if operation := "DELETE /api/v2/admin/users/{id}"; w.Served(operation) {
		w.Check(family, operation, "delete by a site admin", func(c *report.Check) {
			user, err := w.NewUser(w.address, w.token, "walk-v1-short")
			c.OK(err)
			c.OK(w.client.Admin.Users.Delete(w.context, user.ID))
			c.Is(w.client.Admin.Users.Delete(w.context, user.ID), tfe.ErrResourceNotFound)
		})
	}
}

func only(names []string, wanted string) []string {
	var kept []string
	for _, name := range names {
		if name == wanted {
			kept = append(kept, name)
		}
	}
	return kept
}

func (w *walk) memberships() {
	const (
		family    = "Organization memberships"
		listPath  = organizationPath + "/organization-memberships"
		onePath   = "/api/v2/organization-memberships/{id}"
		userOf    = "user"
		guestMail = "walk-v1-guest@example.com"
	)
	memberships := w.client.OrganizationMemberships
	withUser := tfe.OrganizationMembershipReadOptions{Include: []tfe.OrgMembershipIncludeOpt{tfe.OrgMembershipUser}}
	var invited *tfe.OrganizationMembership

	w.Check(family, "POST "+listPath, "a user of the server becomes a member", func(c *report.Check) {
		organization := report.Needs(c, "organization", w.organization)
		made, err := memberships.Create(w.context, organization.Name, tfe.OrganizationMembershipCreateOptions{Email: tfe.String(w.member.Email)})
		c.OK(err)
		w.membership = made
		report.Equal(c, "status", made.Status, tfe.OrganizationMembershipActive)
		report.Equal(c, "email", made.Email, w.member.Email)
		user := report.Needs(c, userOf, made.User)
		report.Equal(c, "id of the user", user.ID, w.member.ID)
		report.Equal(c, "user name", user.Username, w.member.Username)
		report.Equal(c, "organization", report.Needs(c, "organization of it", made.Organization).Name, organization.Name)
	})
	w.Check(family, "POST "+listPath, "somebody unknown is invited, with a team", func(c *report.Check) {
		organization, team := report.Needs(c, "organization", w.organization), report.Needs(c, "team", w.team)
		made, err := memberships.Create(w.context, organization.Name, tfe.OrganizationMembershipCreateOptions{
			Email: tfe.String(guestMail),
			Teams: []*tfe.Team{{ID: team.ID}},
		})
		c.OK(err)
		invited = made
		report.Equal(c, "status", made.Status, tfe.OrganizationMembershipInvited)
		report.Equal(c, "user name", report.Needs(c, userOf, made.User).Username, "")
		report.Same(c, "teams", report.Map(made.Teams, func(team *tfe.Team) string { return team.ID }), []string{team.ID})
	})
	w.Check(family, "POST "+listPath, "what is no e-mail is refused", func(c *report.Check) {
		organization := report.Needs(c, "organization", w.organization)
		_, err := memberships.Create(w.context, organization.Name, tfe.OrganizationMembershipCreateOptions{Email: tfe.String("not an address")})
		c.Says(err, "invalid attribute")
	})
	w.Check(family, "POST "+listPath, "who is a member is refused", func(c *report.Check) {
		organization := report.Needs(c, "organization", w.organization)
		_, err := memberships.Create(w.context, organization.Name, tfe.OrganizationMembershipCreateOptions{Email: tfe.String(w.member.Email)})
		c.Says(err, "invalid attribute")
	})
	w.Check(family, "GET "+onePath, "read with the user gives what create gave", func(c *report.Check) {
		made := report.Needs(c, "membership", w.membership)
		read, err := memberships.ReadWithOptions(w.context, made.ID, withUser)
		c.OK(err)
		report.Equal(c, "user", read.User, made.User)
		report.Equal(c, "status", read.Status, made.Status)
	})
	w.Check(family, "GET "+onePath, "without options", func(c *report.Check) {
		made := report.Needs(c, "membership", w.membership)
		read, err := memberships.Read(w.context, made.ID)
		c.OK(err)
		report.Equal(c, "id", read.ID, made.ID)
		report.Equal(c, "id of the user", report.Needs(c, userOf, read.User).ID, w.member.ID)
		_, err = memberships.Read(w.context, nobody)
		c.Is(err, tfe.ErrResourceNotFound)
	})
	w.Check(family, "GET "+onePath, "an unknown include is told apart", func(c *report.Check) {
		made := report.Needs(c, "membership", w.membership)
		request, err := w.client.NewRequest("GET", "organization-memberships/"+made.ID+"?include=nothing", nil)
		c.OK(err)
		c.Is(request.Do(w.context, &tfe.OrganizationMembership{}), tfe.ErrInvalidIncludeValue)
	})

	list := func(c *report.Check, options tfe.OrganizationMembershipListOptions) *tfe.OrganizationMembershipList {
		found, err := memberships.List(w.context, report.Needs(c, "organization", w.organization).Name, &options)
		c.OK(err)
		return found
	}
	mails := func(found *tfe.OrganizationMembershipList) []string {
		return report.Map(found.Items, func(item *tfe.OrganizationMembership) string { return item.Email })
	}
	w.Check(family, "GET "+listPath, "all, with users and teams", func(c *report.Check) {
		found := list(c, tfe.OrganizationMembershipListOptions{Include: []tfe.OrgMembershipIncludeOpt{tfe.OrgMembershipUser, tfe.OrgMembershipTeam}})
		report.Equal(c, "total", found.TotalCount, 3)
		for _, item := range found.Items {
			c.That("the user of "+item.Email+" has this e-mail", item.User != nil && item.User.Email == item.Email)
			for _, team := range item.Teams {
				c.That("a team of "+item.Email+" has its name", team.Name != "")
			}
		}
	})
	w.Check(family, "GET "+listPath, "by e-mail, by status, by search", func(c *report.Check) {
		report.Same(c, "by e-mail", mails(list(c, tfe.OrganizationMembershipListOptions{Emails: []string{guestMail, w.member.Email}})), []string{guestMail, w.member.Email})
		report.Same(c, "invited", mails(list(c, tfe.OrganizationMembershipListOptions{Status: tfe.OrganizationMembershipInvited})), []string{guestMail})
		report.Same(c, "search for an e-mail", mails(list(c, tfe.OrganizationMembershipListOptions{Query: guestMail})), []string{guestMail})
		report.Same(c, "search for a user name", mails(list(c, tfe.OrganizationMembershipListOptions{Query: w.member.Username})), []string{w.member.Email})
	})
	w.Check(family, "GET "+listPath, "pages", func(c *report.Check) {
		report.Equal(c, "pagination of the first page", *list(c, tfe.OrganizationMembershipListOptions{ListOptions: tfe.ListOptions{PageSize: 2}}).Pagination, tfe.Pagination{CurrentPage: 1, NextPage: 2, TotalPages: 2, TotalCount: 3})
		found := list(c, tfe.OrganizationMembershipListOptions{ListOptions: tfe.ListOptions{PageNumber: 2, PageSize: 2}})
		report.Equal(c, "items on the second page", len(found.Items), 1)
		report.Equal(c, "pagination", *found.Pagination, tfe.Pagination{CurrentPage: 2, PreviousPage: 1, TotalPages: 2, TotalCount: 3})
		c.That("a page past the end is empty", len(list(c, tfe.OrganizationMembershipListOptions{ListOptions: tfe.ListOptions{PageNumber: 999}}).Items) == 0)
	})
	w.Check(family, "DELETE "+onePath, "remove", func(c *report.Check) {
		made := report.Needs(c, "invitation", invited)
		c.OK(memberships.Delete(w.context, made.ID))
		_, err := memberships.Read(w.context, made.ID)
		c.Is(err, tfe.ErrResourceNotFound)
		c.Is(memberships.Delete(w.context, made.ID), tfe.ErrResourceNotFound)
	})
}
