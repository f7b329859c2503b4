package main

import (
	"strings"
	"testing"

	"github.com/cronce/cronce/cmd/internal/exit"
)

// --check shows the file's texts about a job for a person, and uses the zone of its spec.
func TestCheckShowsJobs(t *testing.T) {
	const yaml = `jobs:
  - {kind: sleep, name: a, spec: 0 3 * * *, zone: Asia/Shanghai, description: the nightly one, owner: dba, runbook: "https://wiki.example.com/a", labels: {team: shop, tier: "1"}}
  - {kind: exec, name: off, spec: 0 0 3 ? * 2, deadline: 20ms, enabled: false, runbook: "http://wiki/off", exec: {command: [no-such-program], env_from: [NOT_SET_HERE]}}
  - {kind: sleep, name: b, spec: CRON_TZ=Asia/Tokyo 0 3 * * *, zone: Asia/Tokyo}
`
	r := cronce(t, "node", "--check", "--config", file(t, "c.yaml", yaml))
	r.want(t, exit.Fine, "CRON_TZ=Asia/Shanghai 0 3 * * *  Asia/Shanghai", " 19:00:00", "CRON_TZ=Asia/Tokyo 0 3 * * *     Asia/Tokyo",
		"\na\n  description: the nightly one\n  owner: dba\n  runbook: https://wiki.example.com/a\n  labels: team=shop, tier=1\n",
		"note: off: is not enabled: nodes with this file do not run it, and others may\n")
	if strings.Contains(r.stdout, "no-such-program") || strings.Contains(r.stdout, "off   ") || strings.Contains(r.stdout, "Quartz") || strings.Contains(r.stdout, "deadline") {
		t.Error("the disabled job is treated as one that runs:", r.stdout)
	}
}

// --check shows limits in the spec, and the remaining ticks: local times are in the job's zone.
func TestCheckShowsLimits(t *testing.T) {
	const yaml = `zone: Europe/Berlin
jobs:
  - {kind: sleep, name: a, spec: 0 9 * * MON, not_before: 2126-12-07, every: 2, exclude: [2127-01-06, SAT, 2127-02-01..2127-02-10]}
  - {kind: sleep, name: b, at: 2127-03-30T02:30:00}
  - {kind: sleep, name: c, zone: America/New_York, at: 2127-03-30 02:30}
  - {kind: sleep, name: d, at: "1999-12-31T23:59:59Z"}
  - {kind: sleep, name: e, spec: "@daily", until: "2000-01-01T00:00:00Z"}
`
	r := cronce(t, "node", "--check", "--config", file(t, "c.yaml", yaml))
	r.want(t, exit.Fine, "a    0 9 * * MON not_before=2126-12-07 every=2 exclude=2127-01-06,SAT,2127-02-01..2127-02-10  Europe/Berlin     2126-12-09 08:00:00  2126-12-23 08:00:00  2127-01-20 08:00:00",
		"@at 2127-03-30T02:30:00 ", "2127-03-30 01:00:00", "CRON_TZ=America/New_York @at 2127-03-30T02:30 ", "2127-03-30 06:30:00", "note: d: finished: spec \"@at 1999-12-31T23:59:59Z\" has no tick left, and the job runs only if it is new to the store and the tick inside its deadline\n",
		"note: e: finished: spec \"@daily until=2000-01-01T00:00:00Z\" has no tick left, and the job never runs\n")
}

func TestJobFaults(t *testing.T) {
	for settings, want := range map[string]string{
		"zone: Local": `jobs[0].zone: is "Local", must be a name of the time zone database`,
		"zone: Asia/Tokyo, spec: CRON_TZ=UTC 0 3 * * *": `jobs[0].zone: is "Asia/Tokyo", but the spec begins with "CRON_TZ=UTC": give one of them`,
		"zone: Asia/Tokyo, spec: TZ=UTC 0 3 * * *":      `jobs[0].zone: is "Asia/Tokyo", but the spec begins with "TZ=UTC": give one of them`,
		"zone: Asia/Tokyo, spec: '@every 5s'":           `jobs[0].spec: spec "CRON_TZ=Asia/Tokyo @every 5s": @every`,
		"runbook: see the wiki":                         `jobs[0].runbook: is "see the wiki", must be a URL`,
		"runbook: 'https://me:hunter2@wiki/a'":          `jobs[0].runbook: is a text with credentials (not shown), must be a URL`,
		"owner: " + strings.Repeat("x", 501):            `jobs[0].owner: is 501 bytes long, must be up to 500`,
		"labels: {'a b': c}":                            `jobs[0].labels: has "a b", must have names like`,
		"labels: [a]":                                   `jobs[0].labels: is a list, must be a mapping`,
		"log: loud":                                     `jobs[0].log: is "loud", must be normal, quiet`,
		"enabled: never":                                `jobs[0].enabled: is "never", must be true or false`,
		"atempts: 3":                                    `jobs[0].atempts: unknown key, did you mean "attempts"?`,
		"enabled: false, lease: 1ms":                    `jobs[0].lease: is 1ms`,
		"every: 1, not_before: 2026-12-07":              `jobs[0].every: spec "@daily not_before=2026-12-07 every=1": every "1": must be 2 to 1000`,
		"every: two":                                    `jobs[0].every: is "two", must be`,
		"exclude: [SAT, 2026-13-01]":                    `jobs[0].exclude: spec "@daily exclude=SAT,2026-13-01": exclude "2026-13-01": must be a date`,
		"until: soon":                                   `jobs[0].until: spec "@daily until=soon": until "soon": must be an instant`,
		"at: 2027-03-28T02:30:00":                       `jobs[0].at: spec "@daily": at "2027-03-28T02:30:00": is in place of a spec; give one of them`,
	} {
		if !strings.Contains(settings, "spec:") {
			settings += ", spec: '@daily'"
		}
		text := "jobs:\n  - {kind: sleep, name: a, " + settings + "}\n"
		cronce(t, "node", "--check", "--config", file(t, "c.yaml", text)).want(t, exit.WrongUsage, "c.yaml:2:", want)
	}
}

// A node does not run a disabled job, and logs a quiet one only when it fails.
func TestQuietAndDisabledJobs(t *testing.T) {
	t.Parallel()
	_, url := newRedis(t)
	n := startNode(t, url, `jobs:
  - {kind: sleep, name: loud, spec: "@every 1s"}
  - {kind: sleep, name: calm, spec: "@every 1s", log: quiet}
  - {kind: exec, name: fails, spec: "@every 1s", log: quiet, exec: {shell: exit 3}}
  - {kind: exec, name: "off", spec: "@every 1s", enabled: false, exec: {command: [no-such-program]}}
`)
	finished := map[string]int{}
	eventually(t, "runs of the others", func() bool {
		clear(finished)
		for _, l := range n.logs("run finished") {
			finished[l.Text("job")]++
		}
		return finished["loud"] >= 3 && finished["fails"] >= 2
	})
	if finished["calm"]+finished["off"] > 0 {
		t.Error(finished)
	}
	for _, l := range n.logs("run started") {
		if l.Text("job") != "loud" {
			t.Errorf("the log has the start of %s", l.Text("job"))
		}
	}
	cronce(t, "runs", "calm", "--redis", url).want(t, exit.Fine, "ok")
	cronce(t, "runs", "off", "--redis", url).want(t, exit.WrongUsage)
}
