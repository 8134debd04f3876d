package main

import (
	"time"

	"bailiwick.test/conformance/walk/report"
	"github.com/hashicorp/go-tfe/v2"
	"github.com/hashicorp/go-tfe/v2/api"
	"github.com/hashicorp/go-tfe/v2/api/models"
	"github.com/hashicorp/go-tfe/v2/api/organizations"
	"github.com/hashicorp/go-tfe/v2/api/teams"
	"github.com/hashicorp/go-tfe/v2/api/users"
)

const (
	tokenPath = "/api/v2/authentication-tokens/{id}"
	far       = "2051-04-11T23:15:59Z"
)

// token is the body for a new token.
func token(c check, attributes object) *models.AuthenticationTokensEnvelope {
	return fill(c, models.NewAuthenticationTokensEnvelope(), envelope("authentication-tokens", attributes, nil))
}

func secretOf(token resource) string { return token.attribute("token") }

// shown wants a token to be read as it was made, without the secret.
func shown(c check, read, made resource) {
	report.Equal(c.Check, "id", read.id(), made.id())
	c.That("the token is not shown", read.attributes()["token"] == nil)
	for _, name := range []string{"created-at", "description", "expired-at"} {
		report.Equal(c.Check, name, read.attributes()[name], made.attributes()[name])
	}
}

func (w *walk) client(c check, token string) *api.ApiClient {
	client, err := w.as(token)
	c.OK(err)
	return client
}

func (w *walk) works(c check, token resource) {
	_, err := w.client(c, secretOf(token)).Organizations().ByOrganization_name(nameOf(w.organization)).Get(w.context, nil)
	c.OK(err)
}

func (w *walk) isRefused(c check, token resource) {
	_, err := w.client(c, secretOf(token)).Account().Details().Get(w.context, nil)
	c.Is(err, tfe.ErrUnauthorized)
}

func inTwoYears(c check, token resource) {
	expiry, err := time.Parse(time.RFC3339, token.attribute("expired-at"))
	c.OK(err)
	years := time.Until(expiry).Hours() / 24 / 365
	c.That("it expires in two years", years > 1.9 && years < 2.1)
}

func (w *walk) tokens() {
	const family = "Tokens"
	w.userTokens(family)
	w.teamToken(family)
	w.organizationTokens(family)
}

func (w *walk) userTokens(family string) {
	const path = "/api/v2/users/{id}/authentication-tokens"
	var made resource
	own := func(c check) *users.ItemAuthenticationTokensRequestBuilder {
		return w.client(c, w.member.Token).Users().ByUser_id(w.member.ID).AuthenticationTokens()
	}
	w.check(family, "POST "+path, "make a token of one's own", func(c check) {
		made = c.got(own(c).Post(w.context, token(c, object{"description": "of a walk", "expired-at": far}), nil)).one
		c.has(made, object{"description": "of a walk", "expired-at": far})
		user := c.got(w.client(c, secretOf(made)).Account().Details().Get(w.context, nil)).one
		report.Equal(c.Check, "user", user.id(), w.member.ID)
	})
	w.check(family, "GET "+path, "list one's own", func(c check) {
		c.needs("token", made)
		found := c.got(own(c).Get(w.context, nil)).many
		for _, item := range found {
			c.That("no token is shown", item.attributes()["token"] == nil)
		}
		shown(c, c.needs("token in the list", of(found, made.id())), made)
	})
	w.check(family, "GET "+tokenPath, "read a user's token", func(c check) {
		c.needs("token", made)
		shown(c, c.got(w.client(c, w.member.Token).AuthenticationTokens().ById(made.id()).Get(w.context, nil)).one, made)
	})
	w.check(family, "DELETE "+tokenPath, "revoke a user's token", func(c check) {
		c.needs("token", made)
		one := w.client(c, w.member.Token).AuthenticationTokens().ById(made.id())
		c.OK(one.Delete(w.context, nil))
		w.isRefused(c, made)
		_, err := one.Get(w.context, nil)
		c.Is(err, tfe.ErrNotFound)
	})
}

func (w *walk) teamToken(family string) {
	const (
		path     = teamPath + "/authentication-token"
		listPath = organizationPath + "/team-tokens"
	)
	var made resource
	single := func(c check) *teams.ItemAuthenticationTokenRequestBuilder {
		return w.api.Teams().ById(c.needs("team", w.team).id()).AuthenticationToken()
	}
	w.check(family, "GET "+path, "there is none yet", func(c check) {
		_, err := single(c).Get(w.context, nil)
		c.Is(err, tfe.ErrNotFound)
	})
	// The model that this version has for the answer wants a list, which later ones do not.
	make := func(c check, attributes object) resource {
		address := w.at("teams/" + c.needs("team", w.team).id() + "/authentication-token")
		return c.got(w.api.Users().ByUser_id(w.member.ID).AuthenticationTokens().WithUrl(address).Post(w.context, token(c, attributes), nil)).one
	}
	w.byAddress(family, "POST "+path, "make it, and replace it", func(c check) {
		first := make(c, object{})
		inTwoYears(c, first)
		w.works(c, first)
		made = make(c, object{"expired-at": far})
		c.has(made, object{"expired-at": far})
		c.That("it is another one", made.id() != first.id() && secretOf(made) != secretOf(first))
		w.isRefused(c, first)
		w.works(c, made)
	})
	w.check(family, "GET "+path, "read gives what create gave, without the token", func(c check) {
		c.needs("token", made)
		shown(c, c.got(single(c).Get(w.context, nil)).one, made)
	})
	w.check(family, "GET "+tokenPath, "read a team's token by id", func(c check) {
		c.needs("token", made)
		shown(c, c.got(w.api.AuthenticationTokens().ById(made.id()).Get(w.context, nil)).one, made)
		_, err := w.api.AuthenticationTokens().ById(nobody).Get(w.context, nil)
		c.Is(err, tfe.ErrNotFound)
	})
	w.check(family, "GET "+listPath, "the tokens of all teams, pages", func(c check) {
		c.needs("token", made)
		type query = organizations.ItemTeamTokensRequestBuilderGetQueryParameters
		found := c.got(w.within(c).TeamTokens().Get(w.context, with(query{Pagesize: new(int32(100))})))
		c.holds("pagination", found.pagination, object{"total-count": 1, "page-size": 100})
		shown(c, c.needs("token in the list", of(found.many, made.id())), made)
		report.Equal(c.Check, "team", found.many[0].related("team"), w.team.id())
		past := c.got(w.within(c).TeamTokens().Get(w.context, with(query{Pagenumber: new(int32(999))})))
		c.That("a page past the end is empty", len(past.many) == 0)
	})
	w.check(family, "DELETE "+path, "revoke", func(c check) {
		c.needs("token", made)
		c.OK(single(c).Delete(w.context, nil))
		w.isRefused(c, made)
		_, err := single(c).Get(w.context, nil)
		c.Is(err, tfe.ErrNotFound)
		c.Is(single(c).Delete(w.context, nil), tfe.ErrNotFound)
	})
}

// organizationTokens walks the two slots of an organization; this version has no parameter for the second.
func (w *walk) organizationTokens(family string) {
	const path = organizationPath + "/authentication-token"
	own := func(c check) *organizations.ItemAuthenticationTokenRequestBuilder {
		return w.within(c).AuthenticationToken()
	}
	trail := func(c check) *organizations.ItemAuthenticationTokenRequestBuilder {
		return own(c).WithUrl(w.at("organizations/" + nameOf(w.organization) + "/authentication-token?token=audit-trails"))
	}
	var made, other resource

	w.check(family, "POST "+path, "make the token of the organization", func(c check) {
		first := c.got(own(c).Post(w.context, token(c, object{}), nil)).one
		inTwoYears(c, first)
		w.works(c, first)
		made = c.got(own(c).Post(w.context, token(c, object{"expired-at": far}), nil)).one
		c.has(made, object{"expired-at": far})
		w.isRefused(c, first)
		w.works(c, made)
	})
	w.check(family, "GET "+path, "read the token of the organization", func(c check) {
		c.needs("token", made)
		shown(c, c.got(own(c).Get(w.context, nil)).one, made)
	})
	w.check(family, "GET /api/v2/account/details", "the organization's token is a service account", func(c check) {
		user := c.got(w.client(c, secretOf(c.needs("token", made))).Account().Details().Get(w.context, nil)).one
		c.has(user, object{"is-service-account": true})
	})
	w.check(family, "DELETE "+path, "revoke the token of the organization", func(c check) {
		c.needs("token", made)
		c.OK(own(c).Delete(w.context, nil))
		w.isRefused(c, made)
		_, err := own(c).Get(w.context, nil)
		c.Is(err, tfe.ErrNotFound)
		c.Is(own(c).Delete(w.context, nil), tfe.ErrNotFound)
	})
	// A client sends a body to an address as it is, so the other slot can be made, read and revoked there.
	w.byAddress(family, "POST "+path, "make the token for the audit trail", func(c check) {
		other = c.got(trail(c).Post(w.context, token(c, object{}), nil)).one
		c.That("the token is shown", secretOf(other) != "<nil>")
		_, err := own(c).Get(w.context, nil)
		c.Is(err, tfe.ErrNotFound)
	})
	w.byAddress(family, "GET "+path, "read the token for the audit trail", func(c check) {
		c.needs("token", other)
		shown(c, c.got(trail(c).Get(w.context, nil)).one, other)
	})
	w.byAddress(family, "DELETE "+path, "revoke the token for the audit trail", func(c check) {
		c.needs("token", other)
		c.OK(trail(c).Delete(w.context, nil))
		_, err := trail(c).Get(w.context, nil)
		c.Is(err, tfe.ErrNotFound)
	})
}
