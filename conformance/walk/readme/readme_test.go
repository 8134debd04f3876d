package access

import (
	"bufio"
	"os"
	"os/exec"
	"regexp"
	"testing"

	"github.com/hashicorp/go-tfe"
)

// serve starts a server that is there for one test, and gives a client of its site admin. BAILIWICK is the clone it is in.
func serve(t *testing.T) *tfe.Client {
	t.Helper()
	token := "a-token-for-this-test-alone"
	server := exec.CommandContext(t.Context(), "node", os.Getenv("BAILIWICK")+"/bin/bailiwick.js",
		"--port", "0", "--database", "sqlite::memory:", "--admin-token", token)
	server.Cancel = func() error { return server.Process.Signal(os.Interrupt) }
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	client, err := tfe.NewClient(&tfe.Config{Address: regexp.MustCompile(`http://\S+`).FindString(line), Token: token})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func TestDevsWriteInProduction(t *testing.T) {
	ctx, client := t.Context(), serve(t)
	organization, err := client.Organizations.Create(ctx, tfe.OrganizationCreateOptions{Name: tfe.String("example"), Email: tfe.String("ops@example.com")})
	if err != nil {
		t.Fatal(err)
	}
	project, err := client.Projects.Create(ctx, organization.Name, tfe.ProjectCreateOptions{Name: "production"})
	if err != nil {
		t.Fatal(err)
	}
	team, err := client.Teams.Create(ctx, organization.Name, tfe.TeamCreateOptions{Name: tfe.String("devs")})
	if err != nil {
		t.Fatal(err)
	}
	access, err := client.TeamProjectAccess.Add(ctx, tfe.TeamProjectAccessAddOptions{Access: tfe.TeamProjectAccessWrite, Project: project, Team: team})
	if err != nil {
		t.Fatal(err)
	}
	if runs := access.WorkspaceAccess.WorkspaceRunsPermission; runs != tfe.WorkspaceRunsPermissionApply {
		t.Errorf("devs may %s runs in production", runs)
	}
}
