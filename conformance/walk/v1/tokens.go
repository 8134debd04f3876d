package main

import (
	"time"

	"bailiwick.test/conformance/walk/report"
	"github.com/hashicorp/go-tfe"
)

const tokenPath = "/api/v2/authentication-tokens/{id}"

func (w *walk) tokens() {
	const family = "Tokens"
	far := time.Date(2051, 4, 11, 23, 15, 59, 0, time.UTC)
	soon := time.Now().UTC().Add(24 * time.Hour).Truncate(time.Second)
	inTwoYears := func(c *report.Check, expiry time.Time) {
		years := time.Until(expiry).Hours() / 24 / 365
		c.That("it expires in two years", years > 1.9 && years < 2.1)
	}
	works := func(c *report.Check, token string) {
		client, err := w.as(token)
		c.OK(err)
		_, err = client.Organizations.Read(w.context, w.organization.Name)
		c.OK(err)
	}
	refused := func(c *report.Check, token string) {
		client, err := w.as(token)
		c.OK(err)
		_, err = client.Users.ReadCurrent(w.context)
		c.Is(err, tfe.ErrUnauthorized)
	}

	w.userTokens(family, far, refused)

	// The one token of a team.
	const teamToken = teamPath + "/authentication-token"
	teams := w.client.TeamTokens
	var first *tfe.TeamToken
	w.Check(family, "GET "+teamToken, "there is none yet", func(c *report.Check) {
		_, err := teams.Read(w.context, report.Needs(c, "team", w.team).ID)
		c.Is(err, tfe.ErrResourceNotFound)
	})
	w.Check(family, "POST "+teamToken, "make it, and replace it", func(c *report.Check) {
		team := report.Needs(c, "team", w.team)
		made, err := teams.Create(w.context, team.ID)
		c.OK(err)
		c.That("the token is shown", made.Token != "")
		c.That("there is no description", made.Description == nil)
		c.That("a user made it", made.CreatedBy != nil && made.CreatedBy.User != nil)
		inTwoYears(c, made.ExpiredAt)
		works(c, made.Token)
		again, err := teams.Create(w.context, team.ID)
		c.OK(err)
		first = again
		c.That("it is another one", again.ID != made.ID && again.Token != made.Token)
		refused(c, made.Token)
		works(c, again.Token)
	})
	w.Check(family, "GET "+teamToken, "read gives what create gave, without the token", func(c *report.Check) {
		made := *report.Needs(c, "token", first)
		made.Token = ""
		read, err := teams.Read(w.context, w.team.ID)
		c.OK(err)
		read.LastUsedAt = time.Time{}
		report.Equal(c, "token", *read, made)
	})
	w.Check(family, "DELETE "+teamToken, "revoke", func(c *report.Check) {
		made := report.Needs(c, "token", first)
		c.OK(teams.Delete(w.context, w.team.ID))
		refused(c, made.Token)
		_, err := teams.Read(w.context, w.team.ID)
		c.Is(err, tfe.ErrResourceNotFound)
		c.Is(teams.Delete(w.context, w.team.ID), tfe.ErrResourceNotFound)
	})

	// The tokens of a team that have a description.
	const teamTokens = teamPath + "/authentication-tokens"
	var described *tfe.TeamToken
	w.Check(family, "POST "+teamTokens, "make one with a description", func(c *report.Check) {
		team := report.Needs(c, "team", w.team)
		made, err := teams.CreateWithOptions(w.context, team.ID, tfe.TeamTokenCreateOptions{Description: tfe.String("for the walk"), ExpiredAt: &far})
		c.OK(err)
		described = made
		c.That("the description is told", made.Description != nil && *made.Description == "for the walk")
		report.Equal(c, "expiry", made.ExpiredAt, far)
		report.Equal(c, "team", report.Needs(c, "team of it", made.Team).ID, team.ID)
		works(c, made.Token)
		_, err = teams.CreateWithOptions(w.context, team.ID, tfe.TeamTokenCreateOptions{Description: tfe.String("for the walk")})
		if err == nil || err.Error() != tfe.ErrInvalidDescriptionConflict.Error() {
			c.Faultf("the same description twice: error is %q, not %q", err, tfe.ErrInvalidDescriptionConflict)
		}
		other, err := teams.CreateWithOptions(w.context, team.ID, tfe.TeamTokenCreateOptions{Description: tfe.String("another"), ExpiredAt: &soon})
		c.OK(err)
		works(c, made.Token)
		works(c, other.Token)
	})
	w.Check(family, "GET "+tokenPath, "read a team's token by id", func(c *report.Check) {
		made := *report.Needs(c, "token", described)
		made.Token = ""
		read, err := teams.ReadByID(w.context, made.ID)
		c.OK(err)
		read.LastUsedAt = time.Time{}
		report.Equal(c, "token", *read, made)
		_, err = teams.ReadByID(w.context, nobody)
		c.Is(err, tfe.ErrResourceNotFound)
	})
	w.Check(family, "GET "+organizationPath+"/team-tokens", "the tokens of all teams, sorted and searched", func(c *report.Check) {
		report.Needs(c, "token", described)
		descriptions := func(options tfe.TeamTokenListOptions) []string {
			found, err := teams.List(w.context, w.organization.Name, &options)
			c.OK(err)
			return report.Map(found.Items, func(token *tfe.TeamToken) string {
				c.That("no token is shown", token.Token == "")
				c.That("the team is told", token.Team != nil && token.Team.ID == w.team.ID)
				if token.Description == nil {
					return ""
				}
				return *token.Description
			})
		}
		report.Equal(c, "the next to expire first", descriptions(tfe.TeamTokenListOptions{}), []string{"another", "for the walk"})
		report.Equal(c, "by expiry", descriptions(tfe.TeamTokenListOptions{Sort: "expired-at"}), []string{"another", "for the walk"})
		report.Equal(c, "by expiry backwards", descriptions(tfe.TeamTokenListOptions{Sort: "-expired-at"}), []string{"for the walk", "another"})
		report.Equal(c, "of a team that is searched", len(descriptions(tfe.TeamTokenListOptions{Query: w.team.Name})), 2)
		report.Equal(c, "of a team that is not there", len(descriptions(tfe.TeamTokenListOptions{Query: nobody})), 0)
	})
	w.Check(family, "DELETE "+tokenPath, "revoke a team's token by id", func(c *report.Check) {
		made := report.Needs(c, "token", described)
		c.OK(teams.DeleteByID(w.context, made.ID))
		refused(c, made.Token)
		c.Is(teams.DeleteByID(w.context, made.ID), tfe.ErrResourceNotFound)
	})

	// The token of the organization, and its other slot for the audit trail.
	const organizationToken = organizationPath + "/authentication-token"
	organizations := w.client.OrganizationTokens
	audit := tfe.AuditTrailToken
	var own, trail *tfe.OrganizationToken
	w.Check(family, "POST "+organizationToken, "make the token of the organization", func(c *report.Check) {
		organization := report.Needs(c, "organization", w.organization)
		made, err := organizations.Create(w.context, organization.Name)
		c.OK(err)
		inTwoYears(c, made.ExpiredAt)
		works(c, made.Token)
		own, err = organizations.CreateWithOptions(w.context, organization.Name, tfe.OrganizationTokenCreateOptions{ExpiredAt: &far})
		c.OK(err)
		report.Equal(c, "expiry", own.ExpiredAt, far)
		refused(c, made.Token)
		works(c, own.Token)
	})
	w.Check(family, "POST "+organizationToken, "make the token for the audit trail", func(c *report.Check) {
		made, err := organizations.CreateWithOptions(w.context, report.Needs(c, "organization", w.organization).Name, tfe.OrganizationTokenCreateOptions{TokenType: &audit})
		c.OK(err)
		trail = made
		c.That("it is another one", made.Token != "" && own != nil && made.ID != own.ID)
		if own != nil {
			works(c, own.Token)
		}
	})
	for _, slot := range []struct {
		name    string
		made    **tfe.OrganizationToken
		options tfe.OrganizationTokenReadOptions
	}{{"of the organization", &own, tfe.OrganizationTokenReadOptions{}}, {"for the audit trail", &trail, tfe.OrganizationTokenReadOptions{TokenType: &audit}}} {
		w.Check(family, "GET "+organizationToken, "read the token "+slot.name, func(c *report.Check) {
			made := *report.Needs(c, "token", *slot.made)
			made.Token = ""
			read, err := organizations.ReadWithOptions(w.context, w.organization.Name, slot.options)
			c.OK(err)
			read.LastUsedAt = time.Time{}
			report.Equal(c, "token", *read, made)
		})
	}
	w.Check(family, "GET "+organizationToken, "without options", func(c *report.Check) {
		made := report.Needs(c, "token", own)
		read, err := organizations.Read(w.context, w.organization.Name)
		c.OK(err)
		report.Equal(c, "id", read.ID, made.ID)
	})
	w.Check(family, "GET /api/v2/account/details", "the organization's token is a service account", func(c *report.Check) {
		client, err := w.as(report.Needs(c, "token", own).Token)
		c.OK(err)
		user, err := client.Users.ReadCurrent(w.context)
		c.OK(err)
		c.That("it says so", user.IsServiceAccount)
	})
	w.Check(family, "DELETE "+organizationToken, "revoke the token for the audit trail", func(c *report.Check) {
		made := report.Needs(c, "token", trail)
		c.OK(organizations.DeleteWithOptions(w.context, w.organization.Name, tfe.OrganizationTokenDeleteOptions{TokenType: &audit}))
		refused(c, made.Token)
		_, err := organizations.ReadWithOptions(w.context, w.organization.Name, tfe.OrganizationTokenReadOptions{TokenType: &audit})
		c.Is(err, tfe.ErrResourceNotFound)
		_, err = organizations.Read(w.context, w.organization.Name)
		c.OK(err)
	})
	w.Check(family, "DELETE "+organizationToken, "revoke the token of the organization", func(c *report.Check) {
		made := report.Needs(c, "token", own)
		c.OK(organizations.Delete(w.context, w.organization.Name))
		refused(c, made.Token)
		_, err := organizations.Read(w.context, w.organization.Name)
		c.Is(err, tfe.ErrResourceNotFound)
		c.Is(organizations.Delete(w.context, w.organization.Name), tfe.ErrResourceNotFound)
	})
}

func (w *walk) userTokens(family string, far time.Time, refused func(*report.Check, string)) {
	const path = "/api/v2/users/{id}/authentication-tokens"
	var made *tfe.UserToken
	member, err := w.as(w.member.Token)
	w.Check(family, "POST "+path, "make a token of one's own", func(c *report.Check) {
		c.OK(err)
		token, err := member.UserTokens.Create(w.context, w.member.ID, tfe.UserTokenCreateOptions{Description: "of a walk", ExpiredAt: &far})
		c.OK(err)
		made = token
		c.That("the token is shown", token.Token != "")
		report.Equal(c, "description", token.Description, "of a walk")
		report.Equal(c, "expiry", token.ExpiredAt, far)
		client, err := w.as(token.Token)
		c.OK(err)
		user, err := client.Users.ReadCurrent(w.context)
		c.OK(err)
		report.Equal(c, "user", user.ID, w.member.ID)
	})
	w.Check(family, "GET "+path, "list one's own", func(c *report.Check) {
		token := report.Needs(c, "token", made)
		found, err := member.UserTokens.List(w.context, w.member.ID)
		c.OK(err)
		for _, item := range found.Items {
			c.That("no token is shown", item.Token == "")
		}
		report.Same(c, "token in the list", only(report.Map(found.Items, func(item *tfe.UserToken) string { return item.ID }), token.ID), []string{token.ID})
	})
	w.Check(family, "GET "+tokenPath, "read a user's token", func(c *report.Check) {
		token := *report.Needs(c, "token", made)
		token.Token = ""
		read, err := member.UserTokens.Read(w.context, token.ID)
		c.OK(err)
		read.LastUsedAt = time.Time{}
		report.Equal(c, "token", *read, token)
	})
	w.Check(family, "DELETE "+tokenPath, "revoke a user's token", func(c *report.Check) {
		token := report.Needs(c, "token", made)
		c.OK(member.UserTokens.Delete(w.context, token.ID))
		refused(c, token.Token)
		_, err := member.UserTokens.Read(w.context, token.ID)
		c.Is(err, tfe.ErrResourceNotFound)
	})
}
