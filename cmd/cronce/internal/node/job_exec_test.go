package node

import (
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/cronce/cronce/cmd/internal/config"
)

// A variable in a value of env is replaced when a node starts, and masked, as one of env_from is; --check reads none.
func TestExecEnvironment(t *testing.T) {
	env := func(name string) (string, bool) {
		value, ok := map[string]string{"KEY": "hunter22", "TOKEN": "swordfish"}[name]
		return value, ok
	}
	c, err := config.Read(config.Source{Name: "c.yaml", Data: []byte(
		`jobs: [{kind: exec, name: a, spec: "@daily", exec: {shell: "true", env: {URL: "https://me:${KEY}@db", LITERAL: "$${KEY} $KEY"}, env_from: [TOKEN]}}]`), Env: env}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, dry := range []bool{false, true} {
		command, err := execCommand(c, "jobs[0].exec", c.Jobs[0].Exec, resources{dry: dry})
		want, secrets := []string{"LITERAL=${KEY} $KEY", "URL=https://me:hunter22@db", "TOKEN=swordfish"}, []string{"hunter22", "swordfish"}
		if dry {
			want, secrets = []string{want[0], "URL=https://me:KEY@db"}, nil
		}
		if err != nil || !slices.Equal(command.Env, want) || !slices.Equal(command.Secrets, secrets) {
			t.Errorf("dry %v: %q, masked %q, %v; want %q and %q", dry, command.Env, command.Secrets, err, want, secrets)
		}
	}
}

// Ticks of a command that are closer together than five seconds get a lease of five, also where the seconds are the job's own.
func TestExecLease(t *testing.T) {
	for spec, want := range map[string]time.Duration{"@every 2s": 5 * time.Second, "H/4 * * * * *": 5 * time.Second, "@every 5s": 0, "H * * * * *": 0} {
		c, err := config.Read(config.Source{Name: "c.yaml", Data: []byte(`jobs: [{kind: exec, name: a, spec: "` + spec + `", exec: {shell: "true"}}]`)}, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		runner, err := newRunner(slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		job, err := execKind(c, "jobs[0]", &c.Jobs[0], resources{runner: runner})
		if err != nil || job.Lease != want {
			t.Errorf("%s: a lease of %v, %v; want %v", spec, job.Lease, err, want)
		}
	}
}

// A command has a lease of three seconds at least.
func TestLeastExecLease(t *testing.T) {
	for lease, fits := range map[string]bool{"3s": true, "2999ms": false} {
		c, err := config.Read(config.Source{Name: "c.yaml", Data: []byte(`jobs: [{kind: exec, name: a, spec: "@daily", lease: ` + lease + `, exec: {shell: "true"}}]`)}, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		runner, err := newRunner(nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := execKind(c, "jobs[0]", &c.Jobs[0], resources{runner: runner}); (err == nil) != fits {
			t.Errorf("a lease of %s: %v", lease, err)
		}
	}
}

// A node starts its commands once, so that their stop ends all of them, however often it reads its configuration.
func TestCommandsStartOnce(t *testing.T) {
	c := commands{cancel: func() {}}
	if c.start(); c.ended != nil {
		t.Error("commands that were started are started again")
	}
}
