// Walks the server with go-tfe v2. Address and token of a site admin come from BAILIWICK_ADDRESS and BAILIWICK_TOKEN.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"

	"bailiwick.test/conformance/walk/report"
	"github.com/hashicorp/go-tfe/v2"
	"github.com/hashicorp/go-tfe/v2/api"
)

const nobody = "nothing-of-this-name"

// walk holds what later checks need of earlier ones; a nil means that the earlier one failed.
type walk struct {
	*report.Walk
	context      context.Context
	address      string
	api          *api.ApiClient
	token        string
	member       *report.User
	organization resource
	project      resource
	workspace    resource
	team         resource
	membership   resource
}

// as gives a client with another token.
func (w *walk) as(token string) (*api.ApiClient, error) {
	client, err := tfe.NewClient(&tfe.Config{Address: w.address, Token: token})
	if err != nil {
		return nil, err
	}
	return client.API, nil
}

// at gives the full address of a path, for requests that no builder makes.
func (w *walk) at(path string) string { return w.address + "/api/v2/" + path }

func (w *walk) check(family, operation, what string, run func(c check)) {
	w.Check(family, operation, what, func(c *report.Check) { run(check{c}) })
}

// byAddress is a check of what the provider asks for with a newer version of this client, and we with this one.
func (w *walk) byAddress(family, operation, what string, run func(c check)) {
	w.CheckByAddress(family, operation, what, func(c *report.Check) { run(check{c}) })
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
	// The client takes no transport of the caller's, but it takes the default one.
	http.DefaultTransport = recorder
	w := &walk{
		Walk:    report.New("go-tfe v2", recorder),
		context: context.Background(),
		address: os.Getenv("BAILIWICK_ADDRESS"),
		token:   os.Getenv("BAILIWICK_TOKEN"),
	}
	if err := w.LearnOperations(w.address); err != nil {
		return err
	}
	if w.member, err = w.NewUser(w.address, w.token, "walk-v2-member"); err != nil {
		return err
	}
	if w.api, err = w.as(w.token); err != nil {
		return err
	}
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
