package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/cmd/cronce/internal/node"
	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/scheduler/why"
)

// Each limit that cannot be is reported with its key, its value and what is allowed.
func TestLimitSettings(t *testing.T) {
	for settings, want := range map[string]string{
		"limit: {}":                       "jobs[0].limit: is empty, must have name and of",
		"limit: {name: reports}":          "jobs[0].limit.of: is 0, must be 1 to 10000",
		"limit: {of: 3}":                  `jobs[0].limit.name: is "", must be ^[A-Za-z0-9]`,
		"limit: {name: reports, of: 3.5}": `jobs[0].limit.of: is "3.5", must be a whole number`,
		"limit: {name: a/b, of: 3}":       `jobs[0].limit.name: is "a/b", must be ^[A-Za-z0-9]`,
		"limit: {name: reports, most: 3}": "jobs[0].limit.most: unknown key",
		"limit: {name: reports, of: 3}":   "",
		"limit: {name: reports, of: 3}}, {kind: sleep, name: b, spec: '@daily', limit: {name: reports, of: 2}": "jobs[1].limit.of: is 2, must be 3 for the limit reports, as in the job a",
	} {
		c, err := nodeConfig(t, "--config", file(t, "c.yaml", "jobs: [{kind: sleep, name: a, spec: '@daily', "+settings+"}]\n"))
		if err == nil {
			_, _, err = node.DryRun(c)
		}
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", settings, err, want)
		}
		if err != nil && strings.Count(err.Error(), want) > 1 {
			t.Errorf("%s: the fault is reported twice: %v", settings, err)
		}
	}
}

// Two nodes on a real Redis share a limit with one place. The run of one job has it, and the run of
// the other one waits: cronce why says which, as text and as JSON.
func TestLimitOnRedis(t *testing.T) {
	t.Parallel()
	at := "--redis=redis://" + redisserver.Start(t).Addr()
	const jobs = `jobs:
  - {kind: sleep, name: first, spec: '@every 1s', limit: {name: reports, of: 1}, sleep: {for: 1h}}
  - {kind: sleep, name: second, spec: '@every 1s', limit: {name: reports, of: 1}, sleep: {for: 1h}}
`
	for _, name := range []string{"one", "two"} {
		startNode(t, strings.TrimPrefix(at, "--redis="), jobs, "--name", name)
	}
	alive := map[string]string{} // the ids of the runs, by job
	eventually(t, "a run of each job is alive", func() bool {
		for id := range strings.FieldsSeq(cronce(t, "runs", "--alive", "-o", "name", at).stdout) {
			job, _, _ := strings.Cut(strings.TrimPrefix(id, "cronce/"), "@")
			alive[job] = id
		}
		return len(alive) == 2
	})
	var has, waits string
	eventually(t, "one of them has the place, and the other one waits", func() bool {
		has, waits = "", ""
		for _, id := range alive {
			switch out := cronce(t, "why", id, at).stdout; {
			case strings.Contains(out, "It has a place in the limit reports: 1 of 1 taken, by "):
				has = id
			case strings.Contains(out, "It waits for a place in the limit reports: 1 of 1 taken, by "):
				waits = id
			}
		}
		return has != "" && waits != ""
	})
	r := cronce(t, "why", waits, at, "-o", "json")
	var a why.Answer
	if err := json.Unmarshal([]byte(r.stdout), &a); err != nil || a.Limit == nil || !a.Limit.Waits || a.Limit.Held != 0 || a.Limit.Of != 1 || len(a.Limit.Holders) != 1 {
		t.Fatalf("%v: %s", err, r.stdout)
	}
	job, tick, _ := strings.Cut(strings.TrimPrefix(has, "cronce/"), "@")
	instant, err := time.Parse(time.RFC3339, tick)
	if want := job + "@" + instant.UTC().Format("2006-01-02T15:04:05.000Z"); err != nil || a.Limit.Holders[0] != want {
		t.Errorf("%v: the holder is %q, want %q", err, a.Limit.Holders[0], want)
	}
}
