// Walks the server with go-tfe v1. Address and token of a site admin come from BAILIWICK_ADDRESS and BAILIWICK_TOKEN.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"

	"bailiwick.test/conformance/walk/report"
	"github.com/hashicorp/go-tfe"
)

const nobody = "nothing-of-this-name"

// walk holds what later checks need of earlier ones; a nil means that the earlier one failed.
type walk struct {
	*report.Walk
	context      context.Context
	address      string
	recorder     *report.Recorder
	client       *tfe.Client
	token        string
	member       *report.User
	organization *tfe.Organization
	project      *tfe.Project
	workspace    *tfe.Workspace
	team         *tfe.Team
	membership   *tfe.OrganizationMembership
}

// as gives a client with another token. It sends the same ping as any new client.
func (w *walk) as(token string) (*tfe.Client, error) {
	return tfe.NewClient(&tfe.Config{Address: w.address, Token: token, HTTPClient: &http.Client{Transport: w.recorder}})
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	recorder, err := report.NewRecorder()
	if err != nil {
		return err
	}
	w := &walk{
		Walk:     report.New("go-tfe v1", recorder),
		context:  context.Background(),
		address:  os.Getenv("BAILIWICK_ADDRESS"),
		token:    os.Getenv("BAILIWICK_TOKEN"),
		recorder: recorder,
	}
	if err := w.LearnOperations(w.address); err != nil {
		return err
	}
	if w.member, err = w.NewUser(w.address, w.token, "walk-v1-member"); err != nil {
		return err
	}
	if w.client, err = w.as(w.token); err != nil {
		return err
	}
	w.Check("Bootstrap", "GET /api/v2/ping", "what a new client learns", func(c *report.Check) {
		client, err := w.as(w.token)
		c.OK(err)
		c.That("the API version is told", client.RemoteAPIVersion() != "")
		c.That("the client takes the server for an enterprise one", client.IsEnterprise())
	})
	w.organizations()
	w.account()
	w.teams()
	w.memberships()
	w.teamMembers()
	w.projects()
	w.workspaces()
	w.teamProjects()
	w.teamWorkspaces()
	w.tokens()
	w.auditTrail()
	w.cleanUp()
	if w.Failed() {
		os.Exit(1)
	}
	return nil
}
