package main

import (
	"strings"
	"testing"

	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/cmd/internal/terminal"
)

// Each mistake in a command line ends with exit code 2, and with a line that names it.
func TestWrongUsage(t *testing.T) {
	const url = "--redis=redis://127.0.0.1:1" // no server listens there, and none may get a request
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"nxt"}, `cronce: unknown command "nxt", did you mean "next"?`},
		{[]string{"rns", "a"}, `cronce: unknown command "rns", did you mean "runs"?`},
		{[]string{"elephant"}, `cronce: unknown command "elephant"`},
		{[]string{"status", "jbs"}, `cronce: cronce status: unknown command "jbs", did you mean "jobs"?`},
		{[]string{"node", "helth"}, `unknown command "helth", did you mean "health"?`},
		{[]string{"ops", "tken"}, `unknown command "tken", did you mean "token"?`},
		{[]string{"--", "status"}, `cronce: -- may not stand before the command "status"`},
		{[]string{"status", "--", "jobs"}, `cronce: -- may not stand before the command "jobs"`},
		{[]string{"nxt", "--version"}, `cronce: unknown command "nxt", did you mean "next"?`},
		{[]string{"--version", "nxt"}, `cronce: unknown command "nxt", did you mean "next"?`},
		{[]string{"--nope"}, "unknown flag: --nope"},
		{[]string{"rns", "--store", "x"}, `cronce: unknown command "rns", did you mean "runs"?`},
		{[]string{"config", "schem"}, `unknown command "schem", did you mean "schema"?`},
		{[]string{"config", "x"}, `unknown command "x"`},
		{[]string{"completion", "tcsh"}, `unknown command "tcsh"`},
		{[]string{"nxt", "--help"}, `cronce: unknown command "nxt", did you mean "next"?`},
		{[]string{"help", "nxt"}, `cronce: unknown command "nxt", did you mean "next"?`},
		{[]string{"status", "jbs", "-h"}, `cronce: cronce status: unknown command "jbs", did you mean "jobs"?`},
		{[]string{"help", "status", "jbs"}, `cronce: cronce status: unknown command "jbs", did you mean "jobs"?`},
		{[]string{"config", "schem", "--help"}, `unknown command "schem", did you mean "schema"?`},
		{[]string{"completion", "tcsh", "--help"}, `unknown command "tcsh"`},

		{[]string{"next"}, "got 0 arguments"},
		{[]string{"next", "*", "*"}, `quote it, as in next "0/5 * * * * ?"`},
		{[]string{"next", "61 * * * *"}, `minute "61"`},
		{[]string{"next", "0 0 30 2 *"}, "never fires"},
		{[]string{"next", "@daily", "-n", "0"}, "-n is 0, must be 1 to 1000"},
		{[]string{"next", "@daily", "-n", "many"}, `next: -n is "many", must be a whole number: number of ticks, 1 to 1000`},
		{[]string{"next", "@daily", "-n", "99999999999999999999"}, `next: -n is "99999999999999999999", must be a whole number: number of ticks, 1 to 1000`},
		{[]string{"lock", "key", "--ttl", "5", "--", "true"}, `lock: --ttl is "5", must be a duration with its unit, such as 90s or 1h30m: how long`},
		{[]string{"lock", "key", "--try=maybe", "--", "true"}, `lock: --try is "maybe", must be true or false: do not wait`},
		{[]string{"next", "@daily", "--tz", "Mars"}, `--tz is "Mars", must be a name`},
		{[]string{"next", "@daily", "--tz", "Local"}, `--tz is "Local"`},
		{[]string{"next", "@daily", "--from", "soon"}, `--from is "soon", must be RFC 3339`},
		{[]string{"next", "@daily", "-o", "xml"}, `cronce: next: --output is "xml", must be text or json`},

		{[]string{"node", "--config", "/nonexistent.yaml"}, "/nonexistent.yaml"},
		{[]string{"node", url}, "jobs: none"},
		{[]string{"node", "--redis", "http://x"}, "--redis: is no URL of a Redis"},
		{[]string{"node", "--name", "a b", "--config", "../../config.yaml"}, `--name: is "a b"`},
		{[]string{"node", "--http", "0.0.0.0:8080", "--config", "../../config.yaml"}, "--http: is \"0.0.0.0:8080\", which other machines can reach"},
		{[]string{"node", "--http", "8080", "--config", "../../config.yaml"}, "must be host:port"},
		{[]string{"node", "--log-level", "loud", "--config", "../../config.yaml"}, `--log-level: is "loud"`},
		{[]string{"node", "--clock-offset", "30"}, "clock-offset"},

		{[]string{"demo", "--nodes", "0"}, "--nodes is 0, must be 1 to 50"},
		{[]string{"demo", "--for", "1ms"}, "--for is 1ms, must be 1s or more"},
		{[]string{"demo", "--kill-every", "1ms"}, "--kill-every is 1ms"},
		{[]string{"demo", "--redis", "redis://u:hunter2@h"}, "has a password, which may not stand here"},

		{[]string{"why", url}, "got 0 arguments"},
		{[]string{"why", "job", url}, "or the id of a run"},
		{[]string{"why", "@last", url}, "or the id of a run"},
		{[]string{"why", "job@", url}, "or the id of a run"},
		{[]string{"why", "job@last", "next", "2h", url}, "got 3 arguments"},
		{[]string{"runs", "--since", "1h", "--until", "2h", url}, `--until "2h" is before --since "1h"`},
		{[]string{"runs", "--until", "noon", url}, `runs: --until is "noon"`},
		{[]string{"runs", "a", "-n", "0", url}, "-n is 0, must be 1 to 100000"},
		{[]string{"runs", "-n", "99999999999999999999", url}, `runs: -n is "99999999999999999999", must be a whole number: number of runs, the newest, 1 to 100000`},
		{[]string{"audit", "--count", "many", url}, `audit: -n is "many", must be a whole number: number of records, the newest, 1 to 10000`},
		{[]string{"backfill", "job", "--from", "1970-01-01", "--to", "2026-11-23", "--reason", "a test", url}, "backfill: --from is 1970-01-01T00:00:00Z, must be after 1970-01-01T00:00:00Z"},
		{[]string{"verify", "--namespace", "a b", url}, `--namespace: is "a b"`},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			r := cronce(t, c.args...)
			r.want(t, exit.WrongUsage, c.want)
			if r.stdout != "" || strings.Contains(r.stderr, "hunter2") {
				t.Errorf("stdout %q, stderr %q", r.stdout, r.stderr)
			}
		})
	}
}

// An empty name of a job, as of a variable that is not set, is one error of each command, in the words of the
// check of a configuration. Nor does any other flag that is given empty count as not given.
func TestEmptyNames(t *testing.T) {
	_, url := newRedis(t)
	names := `is "", must be ^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`
	unnamed := file(t, "c.yaml", "jobs: [{kind: sleep, name: '', spec: '@hourly', sleep: {for: 1s}}]\n")
	cronce(t, "node", "--check", "--config", unnamed).want(t, exit.WrongUsage, "jobs[0].name: "+names+"\n")
	for want, commands := range map[string][][]string{
		": job " + names: {
			{"runs", ""}, {"runs", "cronce/@2026-11-23T02:00:00Z"}, {"why", "", "last"}, {"why", "cronce/@last"}, {"status", "jobs", ""}, {"status", "jobs", "show", ""},
			{"run", "", "--reason", "a test"}, {"skip", "", "--reason", "a test"}, {"cancel", "", "--reason", "a test"}, {"cancel", "@2026-11-23T02:00:00Z", "--reason", "a test"}, {"pause", "", "--reason", "a test"},
			{"resume", ""}, {"retire", "", "--reason", "a test"}, {"backfill", "", "--from", "2026-11-23", "--to", "2026-11-24", "--reason", "a test"},
		},
		": --job " + names: {{"verify", "--job", ""}, {"audit", "--job="}, {"status", "overdue", "--job", ""}, {"next", "@daily", "--job="}},
		` is "", must be one character or more: `: {
			{"verify", "--since", ""}, {"verify", "--namespace="}, {"runs", "--node", ""}, {"runs", "--verdict="}, {"runs", "--since="}, {"runs", "--until", ""},
			{"status", "jobs", "--state="}, {"pause", "a", "--until", "", "--reason", "a test"}, {"pause", "a", "--op=", "--reason", "a test"}, {"verify", "--config="}, {"next", "@daily", "--from="},
		},
	} {
		for _, args := range commands {
			if args[0] != "next" {
				args = append(args, "--redis", url)
			}
			r := cronce(t, args...)
			if r.want(t, exit.WrongUsage, want); r.stdout != "" || strings.Count(r.stderr, "\n") != 1 || !strings.HasPrefix(r.stderr, "cronce: "+args[0]) {
				t.Errorf("%q: %s%s", args, r.stdout, r.stderr)
			}
		}
	}
}

// With a store that does not answer nothing is known.
func TestNoStore(t *testing.T) {
	for _, args := range [][]string{
		{"verify"}, {"runs", "a"}, {"doctor"},
	} {
		r := cronce(t, append(args, "--redis", "redis://127.0.0.1:1")...)
		r.want(t, exit.NotKnown, "127.0.0.1:1")
	}
}

func TestVersion(t *testing.T) {
	cronce(t, "--version").want(t, exit.Fine, "cronce ", "go1.")
	linked = "v1.2.3"
	defer func() { linked = "" }()
	cronce(t, "-v").want(t, exit.Fine, "cronce v1.2.3, ")
}

func TestCompletion(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		cronce(t, "completion", shell).want(t, exit.Fine, "cronce")
	}
}

func TestHelp(t *testing.T) {
	cronce(t).want(t, exit.Fine, "cronce demo")
	cronce(t, "ops", "token").want(t, exit.Fine, "new")
	for _, args := range [][]string{{"--help"}, {"help"}, {"help", "status", "jobs"}, {"help", "next"}, {"status", "jobs", "report.*", "--help"}, {"next", "@daily", "-h"}, {"completion"}, {"completion", "bash", "--help"}, {"--help", "next"}, {"-h", "next"}, {"status", "--help", "jobs"}, {"--help", "config", "schema"}} {
		cronce(t, args...).want(t, exit.Fine, "Usage:\n  cronce")
	}
	r := cronce(t, "node", "--help")
	r.want(t, exit.Fine, "for tests: shift", "$CRONCE_REDIS_URL", "$CRONCE_REDIS_PASSWORD")
	if strings.Contains(r.stdout, "--demo") {
		t.Error("a flag that is not for users is shown")
	}
}

// An error about the command line shows its text escaped.
func TestForgedArgument(t *testing.T) {
	r := cronce(t, "verify", "n\x1b]0;owned\a\u202e\u009b2J\nOK 9 ticks\tin order\xff")
	r.want(t, exit.WrongUsage, "owned")
	if terminal.PrintableText(r.stderr) != r.stderr || strings.Contains(r.stderr, "\nOK 9") {
		t.Errorf("%q", r.stderr)
	}
}

// typedSlips are URLs whose password contains characters that end a host: no part of them is shown,
// whichever parser gets them.
var typedSlips = []string{
	"redis://:1234/s3cr3tTAIL@h", "redis://user:p@ss3cr3t/word@h", "redis://user:1234/s3cr3t@h:1/0", "redis://s3cr3t/s3cr3t:s3cr3t@h",
	"redis://user:12#s3cr3t@h", "redis://user:12?s3cr3t@h", "redis://user:s3cr3t@s3cr3t?s3cr3t#s3cr3t@h", "redis://s3cr3t:x@h",
}

func TestSlipsAreNotShown(t *testing.T) {
	for _, raw := range typedSlips {
		for _, text := range []string{"redis: " + raw, "redis: {addresses: '" + raw + "'}", "redis: {db: '" + raw + "'}", "redis: {url: '" + raw + "'}",
			"redis: {addresses: ['" + raw + "']}", "zone: '" + raw + "'", "redis: {tls: '" + raw + "'}", "scheduler: {grace: '" + raw + "'}", "http: {address: '" + raw + "'}"} {
			r := cronce(t, "node", "--check", "--config", file(t, "c.yaml", text))
			if r.code != exit.WrongUsage || strings.Contains(r.stdout+r.stderr, "s3cr3t") {
				t.Errorf("%s: %d, %s%s", text, r.code, r.stdout, r.stderr)
			}
		}
	}
}

// A node logs a misspelt variable, so that each line of its log stays JSON; other
// commands print a line for a person.
func TestStrayVariableIsReported(t *testing.T) {
	_, url := newRedis(t)
	t.Setenv("CRONCE_NAMESPCE", "s3cret")
	const line = "cronce: warning: the environment variable \"CRONCE_NAMESPCE\" is not known, did you mean CRONCE_NAMESPACE?\n"
	t.Setenv("CRONCE_ELEPHANTS", "s3cret")
	if r := cronce(t, "runs", "--redis", url, "x"); !strings.Contains(r.stderr, line) || strings.Contains(r.stderr, "ELEPHANTS") {
		t.Errorf("runs prints %q", r.stderr)
	}
	jobs := file(t, "c.yaml", "jobs: [{kind: sleep, name: a, spec: '@every 1h', sleep: {for: 1s}}]\n")
	if r := cronce(t, "node", "--check", "--config", jobs); r.code != exit.Fine || !strings.Contains(r.stderr, line) || !strings.Contains(r.stderr, "ELEPHANTS") {
		t.Errorf("node --check prints %q", r.stderr)
	}
	n := startNode(t, url, "jobs: [{kind: sleep, name: a, spec: '@every 1h', sleep: {for: 1s}}]\n")
	eventually(t, "the start", func() bool { return len(n.logs("node started")) == 1 })
	want := `"msg":"variable not known","variable":"CRONCE_NAMESPCE","meant":"CRONCE_NAMESPACE"}`
	if got := n.stderr.String(); strings.Contains(got, "cronce: warning") || strings.Contains(got, "s3cret") || strings.Count(got, want) != 1 {
		t.Errorf("the node logs %s", got)
	}
}

// Credentials that were typed in the wrong place are not repeated, whichever parser refuses them
// there: as an argument, an unknown flag, or a flag, variable or key of another kind.
func TestMisplacedCredentials(t *testing.T) {
	const job = "\njobs: [{kind: sleep, name: a, spec: '* * * * *'}]\n"
	for _, raw := range append([]string{"redis://:s3cr3t@h", "user:s3cr3t@tcp(h)/db", `redis://:a "s3cr3t\ü@h`, "redis://:\x1bs3cr3t\n@h", "redis://:" + strings.Repeat("s3cr3t", 50) + "@h"}, typedSlips...) {
		yaml := "'" + strings.NewReplacer("'", "''", "\n", "", "\x1b", "").Replace(raw) + "'"
		for _, args := range [][]string{
			{raw}, {"verify", raw}, {"status", raw}, {"next", raw}, {"completion", raw}, {"node", "--check", raw},
			{"verify", "-r" + raw}, {"verify", "--" + raw}, {"verify", "--nope=" + raw}, {"verify", "-o" + raw}, {"verify", "--fail-on", raw}, {"runs", "a", "-n", raw},
			{"demo", "--for=" + raw}, {"demo", "--nodes", raw}, {"lock", "-s" + raw}, {"lock", "-w", raw}, {"lock", "--show=" + raw},
			{"node", "--name", raw, "--config", "../../config.yaml"}, {"verify", "--config", raw},
			{"node", "--check", "--config", file(t, "name.yaml", "name: "+yaml+job)},
			{"node", "--check", "--config", file(t, "job.yaml", "jobs: [{kind: sleep, spec: '* * * * *', name: "+yaml+"}]")},
			{"node", "--check", "--config", file(t, "spec.yaml", "jobs: [{kind: sleep, name: a, spec: "+yaml+"}]")},
			{"node", "--check", "--config", file(t, "key.yaml", "redis: {"+yaml+": 1}"+job)},
			{"node", "--config", file(t, "file.yaml", "redis: {tls: {ca: "+yaml+"}}\nhttp: {address: off}"+job)},
		} {
			r := cronce(t, args...)
			if shown := r.stdout + r.stderr; r.code != exit.WrongUsage || strings.Contains(shown, "s3cr3t") {
				t.Errorf("%q: %d, %s", args, r.code, shown)
			}
		}
	}
}

// A text that is no secret is shown as it was typed.
func TestWrongUsageIsQuoted(t *testing.T) {
	for text, args := range map[string][]string{
		`unknown command "redis://h:6379"`: {"verify", "redis://h:6379"},
		`unknown command "daily@noon"`:     {"verify", "daily@noon"},
		`is "10:30", must be RFC 3339`:     {"next", "@daily", "--from", "10:30"},
		`is no URL of a Redis, must be r`:  {"verify", "--redis", "redis:h"},
	} {
		cronce(t, args...).want(t, exit.WrongUsage, text)
	}
}
