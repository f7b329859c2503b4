package main

import (
	"os"
	"strings"
	"testing"

	"github.com/cronce/cronce/cmd/cronce/internal/node"
	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/scheduler"
)

// files writes a configuration and the files beside it, by name.
func files(t *testing.T, main string, others map[string]string) string {
	t.Helper()
	name := file(t, "c.yaml", main)
	dir := strings.TrimSuffix(name, "c.yaml")
	if err := os.Mkdir(dir+"jobs.d", 0o700); err != nil {
		t.Fatal(err)
	}
	for other, text := range others {
		write(t, dir+other, text)
	}
	return name
}

// Jobs come from several files, and each uses the defaults that it does not set itself.
func TestIncludeAndDefaults(t *testing.T) {
	name := files(t, "include: [jobs.d/*.yaml, '*.yaml']\ndefaults: {takeover: rerun, lease: 9s, retry: {tries: 2}, log: quiet}\njobs: [{kind: sleep, name: a, spec: '@daily'}]\n", map[string]string{
		"jobs.d/x.yaml":  "jobs: [{kind: sleep, name: x, spec: '@daily', lease: 8s, takeover: lost}]\n",
		"jobs.d/b.yaml":  "jobs: [{kind: sleep, name: b, spec: '@daily', log: normal}]\n",
		"jobs.d/.c.yaml": "no configuration",
		"jobs.d/c.json":  "no configuration",
	})
	c, err := nodeConfig(t, "--config", name)
	if err != nil {
		t.Fatal(err)
	}
	s, _, err := node.DryRun(c)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, j := range s.Jobs {
		text := j.Name + " " + j.Lease.String()
		if j.Takeover == scheduler.TakeoverRerun {
			text += " rerun"
		}
		if j.Quiet {
			text += " quiet"
		}
		got = append(got, text)
		if j.Retry.Tries != 2 {
			t.Errorf("%s has %d tries", j.Name, j.Retry.Tries)
		}
	}
	if text := strings.Join(got, ", "); text != "a 9s rerun quiet, b 9s rerun, x 8s quiet" {
		t.Error(text)
	}
}

// A fault names its own file, and a fault of two jobs with one name names both places.
func TestIncludeFaults(t *testing.T) {
	const one = "jobs: [{kind: sleep, name: a, spec: '@daily'}]\n"
	for _, test := range []struct{ main, other, want string }{
		{one, "jobs:\n  - {kind: sleep, name: b, spec: '@dayly'}\n", `jobs.d/b.yaml:2:28: jobs[0].spec: spec "@dayly"`},
		{one, "jobs:\n  - {kind: sleep, name: b, spec: '@daily'}\n  - {kind: sleep, name: a, spec: '@daily'}\n", `jobs.d/b.yaml:3:19: jobs[1].name: "a" is taken by another job, at DIR/c.yaml:2`},
		{one, "namespace: x\n", `jobs.d/b.yaml:1:1: namespace: unknown key, known are jobs`},
		{one, "jobs: [", `jobs.d/b.yaml:1:7: is not valid YAML: sequence end token`},
		{"include: [nosuch.yaml]\n" + one, one, `c.yaml:2:11: include[0]: names "DIR/nosuch.yaml", which cannot be used: no such file`},
		{"include: ['[']\n" + one, one, `c.yaml:2:11: include[0]: is "[", must be a file or a pattern such as jobs.d/*.yaml`},
		{"defaults: {lease: 1ms}\n" + one, "", `c.yaml:2:12: defaults.lease: is 1ms, must be 500ms to 24h0m0s, for the job "a"`},
		{"defaults: {lease: 9s}\njobs: [{kind: sleep, name: a, spec: '@daily', lease: 1ms}]\n", "", `c.yaml:3:47: jobs[0].lease: is 1ms, must be 500ms to 24h0m0s`},
		{"defaults: {lease: 1ms}\njobs:\n" + strings.Repeat("- {kind: sleep, spec: '@daily'}\n", 120), "", "\nand 140 more\n"},
		{"defaults: {spec: '@daily'}\n" + one, "", `c.yaml:2:12: defaults.spec: unknown key`},
		{"defaults: {retry: {wait: 1s}}\n" + one, "", `c.yaml:2:12: defaults.retry: waits between tries, but there is only one: set tries, for the job "a"`},
	} {
		main := test.main
		if !strings.HasPrefix(main, "include") {
			main = "include: [jobs.d/b.yaml]\n" + main
		} else {
			main = "zone: UTC\n" + main
		}
		name := files(t, main, map[string]string{"jobs.d/b.yaml": test.other})
		want := strings.ReplaceAll(test.want, "DIR/", strings.TrimSuffix(name, "c.yaml"))
		cronce(t, "node", "--check", "--config", name).want(t, exit.WrongUsage, want)
	}
}
