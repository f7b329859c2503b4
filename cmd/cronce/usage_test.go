package main

import (
	"strings"
	"testing"
)

// Whatever is typed wrong ends with exit code 2, and with a line that names it.
func TestWrongUsage(t *testing.T) {
	const url = "--redis=redis://127.0.0.1:1" // no server listens there, and no server must be asked
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"nxt"}, `unknown command "nxt"`},
		{[]string{"--nope"}, "unknown flag: --nope"},
		{[]string{"sms", "lst"}, `unknown command "lst", did you mean "list"?`},
		{[]string{"version", "x"}, `unknown command "x"`},
		{[]string{"completion", "tcsh"}, `unknown command "tcsh"`},

		{[]string{"next"}, "got 0 arguments"},
		{[]string{"next", "*", "*"}, `quote it, as in next "0/5 * * * * ?"`},
		{[]string{"next", "61 * * * *"}, `minute "61"`},
		{[]string{"next", "0 0 30 2 *"}, "never fires"},
		{[]string{"next", "@daily", "-n", "0"}, "-n is 0, allowed is 1 to 1000"},
		{[]string{"next", "@daily", "-n", "many"}, "many"},
		{[]string{"next", "@daily", "--tz", "Mars"}, `--tz is "Mars", allowed is a name`},
		{[]string{"next", "@daily", "--tz", "Local"}, `--tz is "Local"`},
		{[]string{"next", "@daily", "--from", "soon"}, `--from is "soon", allowed is RFC 3339`},
		{[]string{"next", "@daily", "-o", "xml"}, `is "xml", allowed is text or json`},

		{[]string{"node", "--config", "/nonexistent.yaml"}, "/nonexistent.yaml"},
		{[]string{"node", url}, "jobs: none"},
		{[]string{"node", "--redis", "http://x"}, "--redis: is no URL of a Redis"},
		{[]string{"node", "--name", "a b", "--config", "../../config.yaml"}, `--name: is "a b"`},
		{[]string{"node", "--http", "0.0.0.0:8080", "--config", "../../config.yaml"}, "--http: is \"0.0.0.0:8080\", which other machines can reach"},
		{[]string{"node", "--http", "8080", "--config", "../../config.yaml"}, "allowed is host:port"},
		{[]string{"node", "--log-level", "loud", "--config", "../../config.yaml"}, `--log-level: is "loud"`},
		{[]string{"node", "--clock-offset", "30"}, "clock-offset"},

		{[]string{"demo", "--nodes", "0"}, "--nodes is 0, allowed is 1 to 50"},
		{[]string{"demo", "--for", "1ms"}, "--for is 1ms, allowed is 1s or more"},
		{[]string{"demo", "--kill-every", "1ms"}, "--kill-every is 1ms"},
		{[]string{"demo", "--redis", "redis://u:hunter2@h"}, "has a password, which may not stand here"},

		{[]string{"oversell", "--stock", "0"}, "--stock is 0, allowed is 1 to 1000000"},
		{[]string{"oversell", "--buyers", "-1"}, "--buyers is -1, allowed is 1 to 100000"},
		{[]string{"oversell", "--buyers", "2"}, "--processes is 3, allowed is 1 to 32, and no more than buyers"},
		{[]string{"oversell", "--work", "1h"}, "--work is 1h0m0s, allowed is up to 10s"},
		{[]string{"oversell", "--patience", "0s"}, "--patience is 0s, allowed is 1s to 1h"},
		{[]string{"oversell", "--strategy", "none,redlok"}, `--strategy is "redlok"`},
		{[]string{"oversell", "--strategy", "redlok"}, `did you mean "redlock"?`},
		{[]string{"oversell", "--redis", "redis://u:hunter2@h"}, "has a password, which may not stand here"},
		{[]string{"oversell", "--redis", "redis://a", "--redis", "redis://b"}, "--redis is given 2 times, allowed is once, or 3, 5 or 7 times"},
		{[]string{"oversell", "--dsn", "postgres://u:hunter2@h/d"}, "--dsn has a password, which may not stand here"},
		{[]string{"oversell", "--dsn", "oracle://h/d"}, "--dsn is no DSN of a database that is known here, allowed is postgres://"},
		{[]string{"oversell", "--zookeeper", "h:2181,h"}, `--zookeeper is "h", allowed is host:port`},
		{[]string{"oversell", "--dsn", "sqlite:x", "--dsn-env", "Y"}, "more than one of --dsn, --dsn-env and --dsn-file"},
		{[]string{"oversell", "--dsn-env", "CRONCE_TEST_NOT_SET"}, "--dsn-env names a variable that is not set"},
		{[]string{"oversell", "--dsn-file", "/nonexistent"}, "--dsn-file: dsn: names a file that cannot be used: no such file"},

		{[]string{"journal", url}, "got 0 arguments"},
		{[]string{"journal", "a", "-n", "0", url}, "-n is 0, allowed is 1 to 100000"},
		{[]string{"verify", "--namespace", "a b", url}, `--namespace: is "a b"`},

		{[]string{"sms", "send", "--to", "12", "--text", "x", url}, `to is "****", allowed is + and 8 to 15 digits`},
		{[]string{"sms", "send", "--to", "+12025550123", url}, "text is empty"},
		{[]string{"sms", "send", "--to", "+12025550123", "--text", "x", "--at", "now", url}, `at is "now"`},
		{[]string{"sms", "send", "--to", "+12025550123", "--text", "x", "--tz", "Mars", url}, `--tz is "Mars"`},
		{[]string{"sms", "import", url}, "got 0 arguments"},
		{[]string{"sms", "import", "/nonexistent.csv", url}, "/nonexistent.csv"},
		{[]string{"sms", "list", "--state", "gone", url}, `state is "gone", allowed is queued, taken, failed, expired, cancelled or sent`},
		{[]string{"sms", "list", "-n", "-1", url}, "-n is -1, allowed is 1 to 10000"},
	} {
		t.Run(strings.Join(c.args, " "), func(t *testing.T) {
			r := cronce(t, c.args...)
			r.want(t, exitUsage, c.want)
			if r.stdout != "" || strings.Contains(r.stderr, "hunter2") {
				t.Errorf("stdout %q, stderr %q", r.stdout, r.stderr)
			}
		})
	}
}

// With a store that does not answer nothing is known.
func TestNoStore(t *testing.T) {
	for _, args := range [][]string{
		{"verify"}, {"journal", "a"}, {"doctor"}, {"sms", "list"}, {"sms", "send", "--to", "+12025550123", "--text", "x"},
	} {
		r := cronce(t, append(args, "--redis", "redis://127.0.0.1:1")...)
		r.want(t, exitUnknown, "127.0.0.1:1")
	}
}

func TestVersion(t *testing.T) {
	cronce(t, "version").want(t, exitFine, "cronce ", "go1.")
	linked = "v1.2.3"
	defer func() { linked = "" }()
	cronce(t, "version").want(t, exitFine, "cronce v1.2.3, ")
}

func TestCompletion(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		cronce(t, "completion", shell).want(t, exitFine, "cronce")
	}
}

func TestHelp(t *testing.T) {
	cronce(t).want(t, exitFine, "cronce demo")
	cronce(t, "sms").want(t, exitFine, "import", "list", "send")
	r := cronce(t, "node", "--help")
	r.want(t, exitFine, "for tests: shift", "$CRONCE_REDIS_URL", "$CRONCE_REDIS_PASSWORD")
	if strings.Contains(r.stdout, "--demo") {
		t.Error("a flag that is not for users is shown")
	}
}
