package main

import (
	"bailiwick.test/conformance/walk/report"
	"github.com/hashicorp/go-tfe/v2"
	"github.com/hashicorp/go-tfe/v2/api/account"
	"github.com/hashicorp/go-tfe/v2/api/models"
	"github.com/hashicorp/go-tfe/v2/api/organizationmemberships"
	ofMembership "github.com/hashicorp/go-tfe/v2/api/organizationmemberships/item"
	"github.com/hashicorp/go-tfe/v2/api/organizations"
	ofList "github.com/hashicorp/go-tfe/v2/api/organizations/item/organizationmemberships"
)

func (w *walk) account() {
	const family = "Account and users"
	w.check(family, "GET /api/v2/account/details", "the caller's own account", func(c check) {
		user := c.got(w.api.Account().Details().Get(w.context, nil)).one
		for _, name := range []string{"username", "email", "avatar-url"} {
			c.That("the "+name+" is told", user.attributes()[name] != nil && user.attribute(name) != "")
		}
		c.has(user, object{"is-service-account": false, "permissions": object{"can-create-organizations": true}})
		c.That("two-factor is told", user.attributes()["two-factor"] != nil)
	})
	w.check(family, "GET /api/v2/account/details", "a wrong token is unauthorized", func(c check) {
		wrong, err := w.as("wrong." + w.member.Token)
		c.OK(err)
		_, err = wrong.Account().Details().Get(w.context, nil)
		c.Is(err, tfe.ErrUnauthorized)
	})
	w.check(family, "PATCH /api/v2/account/update", "change one's own user name", func(c check) {
		member, err := w.as(w.member.Token)
		c.OK(err)
		rename := func(name string) resource {
			body := fill(c, models.NewUsersEnvelope(), envelope("users", object{"username": name}, nil))
			return c.got(member.Account().Update().Patch(w.context, body, nil)).one
		}
		changed := rename("walk-v2-other")
		c.has(changed, object{"username": "walk-v2-other"})
		report.Equal(c.Check, "account read again", c.got(member.Account().Details().Get(w.context, nil)).one, changed)
		rename(w.member.Username)
	})
	w.check(family, "PATCH /api/v2/account/password", "set a password", func(c check) {
		member, err := w.as(w.member.Token)
		c.OK(err)
		set := func(current, next, again string) error {
			attributes := object{"current_password": current, "password": next, "password_confirmation": again}
			_, err := member.Account().Password().Patch(w.context, fill(c, account.NewPasswordPatchRequestBody(), object{"data": object{"attributes": attributes}}), nil)
			return err
		}
		c.OK(set("", "over the hills", "over the hills"))
		c.Is(set("over the hills", "and far away", "and far off"), tfe.ErrUnprocessableEntity)
		c.Is(set("wrong", "and far away", "and far away"), tfe.ErrUnprocessableEntity)
		c.OK(set("over the hills", "and far away", "and far away"))
	})
	w.check(family, "GET /api/v2/users/{id}", "a user by id", func(c check) {
		member, err := w.as(w.member.Token)
		c.OK(err)
		read := c.got(member.Users().ByUser_id(w.member.ID).Get(w.context, nil)).one
		report.Equal(c.Check, "id", read.id(), w.member.ID)
		c.has(read, object{"username": w.member.Username, "is-service-account": false})
		_, err = member.Users().ByUser_id(nobody).Get(w.context, nil)
		c.Is(err, tfe.ErrNotFound)
	})
}

func emailOf(r resource) string { return r.attribute("email") }

func (w *walk) invite(c check, email string, relationships object) (models.OrganizationMembershipsEnvelopeable, error) {
	body := fill(c, models.NewOrganizationMembershipsEnvelope(), envelope("organization-memberships", object{"email": email}, relationships))
	return w.within(c).OrganizationMemberships().Post(w.context, body, nil)
}

func (w *walk) memberships() {
	const (
		family    = "Organization memberships"
		listPath  = organizationPath + "/organization-memberships"
		onePath   = "/api/v2/organization-memberships/{id}"
		guestMail = "walk-v2-guest@example.com"
	)
	type query = organizations.ItemOrganizationMembershipsRequestBuilderGetQueryParameters
	one := func(id string) *organizationmemberships.WithOrganization_membership_ItemRequestBuilder {
		return w.api.OrganizationMemberships().ByOrganization_membership_id(id)
	}
	withUser := with(organizationmemberships.WithOrganization_membership_ItemRequestBuilderGetQueryParameters{
		Include: new(ofMembership.USER_GETINCLUDEQUERYPARAMETERTYPE),
	})
	var invited resource

	w.check(family, "POST "+listPath, "a user of the server becomes a member", func(c check) {
		made := c.got(w.invite(c, w.member.Email, nil)).one
		w.membership = made
		c.has(made, object{"status": "active", "email": w.member.Email})
		report.Equal(c.Check, "user", made.related("user"), w.member.ID)
		report.Equal(c.Check, "organization", made.related("organization"), w.organization.id())
	})
	w.check(family, "POST "+listPath, "somebody unknown is invited, with a team", func(c check) {
		team := c.needs("team", w.team)
		made := c.got(w.invite(c, guestMail, object{"teams": identifiers("teams", team.id())})).one
		invited = made
		c.has(made, object{"status": "invited", "email": guestMail})
		report.Same(c.Check, "teams", made.relatedAll("teams"), []string{team.id()})
	})
	w.check(family, "POST "+listPath, "what is no e-mail is refused", func(c check) {
		_, err := w.invite(c, "not an address", nil)
		c.Says(err, "invalid attribute")
	})
	w.check(family, "POST "+listPath, "who is a member is refused", func(c check) {
		_, err := w.invite(c, w.member.Email, nil)
		c.Says(err, "invalid attribute")
	})
	w.check(family, "GET "+onePath, "read with the user gives what create gave", func(c check) {
		made := c.needs("membership", w.membership)
		read := c.got(one(made.id()).Get(w.context, withUser))
		report.Equal(c.Check, "membership", read.one, made)
		c.has(c.needs("included user", of(read.included, w.member.ID)), object{
			"username": w.member.Username, "email": w.member.Email, "is-service-account": false,
		})
	})
	w.check(family, "GET "+onePath, "without options", func(c check) {
		made := c.needs("membership", w.membership)
		read := c.got(one(made.id()).Get(w.context, nil))
		report.Equal(c.Check, "membership", read.one, made)
		report.Equal(c.Check, "included", len(read.included), 0)
		_, err := one(nobody).Get(w.context, nil)
		c.Is(err, tfe.ErrNotFound)
	})
	w.check(family, "GET "+onePath, "an unknown include is told apart", func(c check) {
		made := c.needs("membership", w.membership)
		_, err := one(made.id()).WithUrl(w.at("organization-memberships/"+made.id()+"?include=nothing")).Get(w.context, nil)
		c.Is(err, tfe.ErrBadRequest)
		c.Says(err, "include parameter")
	})

	list := func(c check, query query) document {
		return c.got(w.within(c).OrganizationMemberships().Get(w.context, with(query)))
	}
	mails := func(c check, query query) []string { return report.Map(list(c, query).many, emailOf) }
	w.check(family, "GET "+listPath, "all, with users and teams", func(c check) {
		found := list(c, query{Include: new(ofList.USER_GETINCLUDEQUERYPARAMETERTYPE), Pagesize: new(int32(100))})
		c.holds("pagination", found.pagination, object{"total-count": 3, "total-pages": 1, "page-size": 100})
		for _, item := range found.many {
			user := c.needs("user of "+emailOf(item), of(found.included, item.related("user")))
			c.has(user, object{"email": emailOf(item)})
		}
		found = list(c, query{Include: new(ofList.TEAMS_GETINCLUDEQUERYPARAMETERTYPE)})
		team := of(found.included, c.needs("team", w.team).id())
		c.has(c.needs("included team", team), object{"name": nameOf(w.team)})
	})
	w.check(family, "GET "+listPath, "by e-mail, by status, by search", func(c check) {
		report.Same(c.Check, "by e-mail", mails(c, query{Filteremail: new(guestMail + "," + w.member.Email)}), []string{guestMail, w.member.Email})
		report.Same(c.Check, "invited", mails(c, query{Filterstatus: new(ofList.INVITED_GETFILTERSTATUSQUERYPARAMETERTYPE)}), []string{guestMail})
		report.Same(c.Check, "search for an e-mail", mails(c, query{Q: new(guestMail)}), []string{guestMail})
		report.Same(c.Check, "search for a user name", mails(c, query{Q: new(w.member.Username)}), []string{w.member.Email})
	})
	w.check(family, "GET "+listPath, "pages", func(c check) {
		c.holds("pagination of the first page", list(c, query{Pagesize: new(int32(2))}).pagination, object{"current-page": 1, "prev-page": nil, "next-page": 2})
		found := list(c, query{Pagenumber: new(int32(2)), Pagesize: new(int32(2))})
		report.Equal(c.Check, "items on the second page", len(found.many), 1)
		c.holds("pagination", found.pagination, object{"current-page": 2, "prev-page": 1, "next-page": nil, "total-pages": 2, "total-count": 3})
		c.That("a page past the end is empty", len(list(c, query{Pagenumber: new(int32(999))}).many) == 0)
	})
	w.check(family, "GET /api/v2/organization-memberships", "one's own", func(c check) {
		member, err := w.as(w.member.Token)
		c.OK(err)
		found := c.got(member.OrganizationMemberships().Get(w.context, nil))
		report.Equal(c.Check, "memberships", found.many, []resource{c.needs("membership", w.membership)})
	})
	w.check(family, "DELETE "+onePath, "remove", func(c check) {
		made := c.needs("invitation", invited)
		c.OK(one(made.id()).Delete(w.context, nil))
		_, err := one(made.id()).Get(w.context, nil)
		c.Is(err, tfe.ErrNotFound)
		c.Is(one(made.id()).Delete(w.context, nil), tfe.ErrNotFound)
	})
}
