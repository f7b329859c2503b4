package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cronce/cronce/cmd/internal/exit"
)

// The exit code shows whether all, some or none of the input could be imported, and the printed
// configuration passes the check.
func TestImport(t *testing.T) {
	const cronJob = "kind: CronJob\nmetadata: {name: a}\nspec: {schedule: '0 3 * * *'}\n"
	for _, c := range []struct {
		args   []string
		code   int
		stderr string
	}{
		{[]string{"crontab", file(t, "all", "0 3 * * * true\n"), "--zone", "Europe/Berlin"}, exit.Fine, "1 imported, 0 not"},
		{[]string{"crontab", file(t, "some", "0 3 * * * true\n@reboot x\n"), "--zone", "UTC"}, exit.Failed, "some:2: @reboot is the start of a machine"},
		{[]string{"crontab", file(t, "machine", "0 3 * * * true\n")}, exit.Fine, "is the zone of this machine"},
		{[]string{"k8s", file(t, "cronjob", cronJob)}, exit.Fine, "1 imported, 0 not"},
		{[]string{"k8s", file(t, "pod", "kind: Pod\n")}, exit.Failed, `is a "Pod", must be a CronJob`},
		{[]string{"crontab", file(t, "empty", "")}, exit.WrongUsage, "empty has no jobs, must have at least one"},
		{[]string{"crontab", file(t, "comments", "# 0 3 * * * true\n\nPATH=/bin\n")}, exit.WrongUsage, "comments has no jobs"},
		{[]string{"k8s", file(t, "list", "kind: List\nitems: []\n")}, exit.WrongUsage, "list has no jobs"},
		{[]string{"k8s", file(t, "no", "kind: [\n")}, exit.WrongUsage, "no:1:7: is not valid YAML: "},
		{[]string{"k8s", file(t, "text", "error: You must be logged in: x\n")}, exit.WrongUsage, "text:1:8: is not valid YAML: "},
		{[]string{"k8s", file(t, "json", `{"kind": `)}, exit.WrongUsage, "json: is not valid JSON: unexpected EOF"},
		{[]string{"k8s", file(t, "word", "forbidden\n")}, exit.Failed, "word:1: has no kind, must be a CronJob"},
		{[]string{"k8s", file(t, "two", `{"kind":"Pod"} {"kind":"Job"}`)}, exit.Failed, "0 imported, 2 not"},
		{[]string{"crontab", filepath.Join(t.TempDir(), "absent")}, exit.WrongUsage, "no such file"},
		{[]string{"crontab", "x", "--zone", "Mars"}, exit.WrongUsage, "--zone"},
		{[]string{"crontab"}, exit.WrongUsage, "want one file"},
	} {
		r := cronce(t, append([]string{"config", "import"}, c.args...)...)
		if r.code != c.code || !strings.Contains(r.stderr, c.stderr) {
			t.Errorf("import %q: %d %s", c.args, r.code, r.stderr)
		}
		if c.code == exit.WrongUsage && r.stdout != "" {
			t.Errorf("import %q prints %s", c.args, r.stdout)
		}
		if !strings.Contains(r.stdout, "kind: exec") {
			continue
		}
		if check := cronce(t, "node", "--check", "--config", file(t, "result.yaml", r.stdout)); check.code != exit.Fine {
			t.Errorf("%s\n%s", check.stderr, r.stdout)
		}
	}
}

// The flag decides whether a crontab has a column for users, also against its heading.
func TestImportWithoutUsers(t *testing.T) {
	tab := file(t, "tab", "# m h dom mon dow user\tcommand\n0 3 * * * root true\n")
	for flag, user := range map[string]bool{"--system=false": false, "--system": true} {
		r := cronce(t, "config", "import", "crontab", tab, "--zone", "UTC", flag)
		if r.code != exit.Fine || strings.Contains(r.stdout, `shell: "root true"`) == user {
			t.Errorf("%s: %d %s\n%s", flag, r.code, r.stderr, r.stdout)
		}
	}
}

// An import runs nothing of its input.
func TestImportRunsNothing(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "ran")
	r := cronce(t, "config", "import", "crontab", file(t, "tab", "SHELL=touch "+mark+"\n* * * * * touch "+mark+"; $(touch "+mark+")\n"), "--zone", "UTC")
	if _, err := os.Stat(mark); r.code != exit.Fine || err == nil {
		t.Errorf("%d %s %v", r.code, r.stderr, err)
	}
}
