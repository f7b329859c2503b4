package main

import (
	"strings"
	"testing"
)

// Credentials that were typed in the wrong place are not repeated, whichever parser refuses
// them there: an argument, a flag that there is not, a flag, variable or key of another kind.
func TestMisplacedCredentials(t *testing.T) {
	const job = "\njobs: [{kind: sleep, name: a, spec: '* * * * *'}]\n"
	for _, raw := range append([]string{"redis://:s3cr3t@h", "user:s3cr3t@tcp(h)/db", `redis://:a "s3cr3t\ü@h`, "redis://:\x1bs3cr3t\n@h", "redis://:" + strings.Repeat("s3cr3t", 50) + "@h"}, typedSlips...) {
		yaml := "'" + strings.NewReplacer("'", "''", "\n", "", "\x1b", "").Replace(raw) + "'"
		for _, args := range [][]string{
			{raw}, {"verify", raw}, {"sms", raw}, {"sms", "import", raw}, {"next", raw}, {"completion", raw}, {"node", "--check", raw},
			{"verify", "-r" + raw}, {"verify", "--" + raw}, {"verify", "--nope=" + raw}, {"verify", "-o" + raw}, {"verify", "--fail-on", raw}, {"journal", "a", "-n", raw},
			{"demo", "--for=" + raw}, {"demo", "--nodes", raw}, {"lock", "-s" + raw}, {"lock", "-w", raw}, {"lock", "--show=" + raw},
			{"node", "--name", raw, "--config", "../../config.yaml"}, {"verify", "--config", raw},
			{"node", "--check", "--config", file(t, "name.yaml", "name: "+yaml+job)},
			{"node", "--check", "--config", file(t, "sale.yaml", "shop: {sale: "+yaml+"}"+job)},
			{"node", "--check", "--config", file(t, "job.yaml", "jobs: [{kind: sleep, spec: '* * * * *', name: "+yaml+"}]")},
			{"node", "--check", "--config", file(t, "spec.yaml", "jobs: [{kind: sleep, name: a, spec: "+yaml+"}]")},
			{"node", "--check", "--config", file(t, "key.yaml", "redis: {"+yaml+": 1}"+job)},
			{"node", "--config", file(t, "file.yaml", "shop: {database: {file: "+yaml+"}}\nhttp: {address: off}"+job)},
		} {
			r := cronce(t, args...)
			if shown := r.stdout + r.stderr; r.code != exitUsage || strings.Contains(shown, "s3cr3t") {
				t.Errorf("%q: %d, %s", args, r.code, shown)
			}
		}
	}
}

// What is no secret is shown as it was typed.
func TestWrongUsageIsQuoted(t *testing.T) {
	for text, args := range map[string][]string{
		`unknown command "redis://h:6379"`:   {"verify", "redis://h:6379"},
		`unknown command "daily@noon"`:       {"verify", "daily@noon"},
		`is "10:30", allowed is RFC 3339`:    {"next", "@daily", "--from", "10:30"},
		`is no URL of a Redis, allowed is r`: {"verify", "--redis", "redis:h"},
	} {
		cronce(t, args...).want(t, exitUsage, text)
	}
}
