package node

import (
	"slices"
	"testing"

	"github.com/cronce/cronce/cmd/internal/config"
)

// A variable in a value of env is replaced when a node starts, and masked; --check reads none.
func TestExecEnvironment(t *testing.T) {
	env := func(name string) (string, bool) { return "hunter22", name == "KEY" }
	c, err := config.Read(config.Source{Name: "c.yaml", Data: []byte(
		`jobs: [{kind: exec, name: a, spec: "@daily", exec: {shell: "true", env: {URL: "https://me:${KEY}@db", LITERAL: "$${KEY} $KEY"}}}]`), Env: env}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, dry := range []bool{false, true} {
		command, err := execCommand(c, "jobs[0].exec", c.Jobs[0].Exec, resources{dry: dry})
		want, secrets := []string{"LITERAL=${KEY} $KEY", "URL=https://me:hunter22@db"}, []string{"hunter22"}
		if dry {
			want[1], secrets = "URL=https://me:KEY@db", nil
		}
		if err != nil || !slices.Equal(command.Env, want) || !slices.Equal(command.Secrets, secrets) {
			t.Errorf("dry %v: %q, masked %q, %v; want %q and %q", dry, command.Env, command.Secrets, err, want, secrets)
		}
	}
}
