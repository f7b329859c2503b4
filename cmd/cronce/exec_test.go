package main

import (
	"os"
	osexec "os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/cronce/cronce/cmd/internal/exit"
)

const execJobs = `jobs:
  - kind: exec
    name: hello
    spec: "* * * * * *"
    exec:
      shell: 'echo "$GREETING $CRONCE_JOB $CRONCE_TICK $CRONCE_ATTEMPT $0 $UNSEEN"'
      env: {GREETING: hi}
      log: true
`

// A command of a file runs once for each tick, on one of three nodes, even while one is killed.
func TestExecJob(t *testing.T) {
	t.Parallel()
	_, url := newRedis(t)
	config := file(t, "c.yaml", execJobs)
	var nodes []*child
	for range 3 {
		nodes = append(nodes, startWith(t, []string{"UNSEEN=of the node"}, "node", "--config", config, "--redis", url, "--http", "off"))
	}
	ran := func() (lines []string) {
		for _, n := range nodes {
			for _, l := range n.logs("output") {
				lines = append(lines, l.Text("tick")+" "+l.Text("line"))
			}
		}
		return lines
	}
	eventually(t, "three ticks ran", func() bool { return len(ran()) >= 3 })
	nodes[0].signal(syscall.SIGKILL)
	before := len(ran())
	eventually(t, "four more ticks ran", func() bool { return len(ran()) >= before+4 })
	for _, n := range nodes[1:] {
		n.signal(syscall.SIGTERM)
		n.code()
	}
	seen := map[string]bool{}
	for _, line := range ran() {
		tick, _, _ := strings.Cut(line, " ")
		if want := tick + " hi hello " + tick + " 1 /bin/sh "; line != want || seen[line] {
			t.Errorf("%q, want %q once", line, want)
		}
		seen[line] = true
	}
	r := cronce(t, "verify", "--redis", url)
	r.want(t, exit.Fine, "and each has one verdict")
}

func TestExecFaults(t *testing.T) {
	for settings, want := range map[string]string{
		"":                              `jobs[0].exec: is missing, must have a command`,
		"exec: {command: [], dir: /}":   `jobs[0].exec.command: is empty, must be a program and its arguments`,
		"exec: {command: pg_dump shop}": `jobs[0].exec.command: is "pg_dump shop", must be a list`,
		"exec: {command: ['true'], shell: 'true'}":     `jobs[0].exec.shell: and command are both set, give one of them`,
		"exec: {shell: x, umask: '999'}":               `jobs[0].exec.umask: is "999", must be three octal digits, such as 027`,
		"exec: {shell: x, skip: [256]}":                `jobs[0].exec.skip: is 256, must be 1 to 255`,
		"exec: {shell: x, retry: [3], permanent: [3]}": `jobs[0].exec.retry: is 3, must be in one of the lists: it is in permanent, too`,
		"exec: {shell: x, permanent: [3], skip: [3]}":  `jobs[0].exec.permanent: is 3, must be in one of the lists: it is in skip, too`,
		"exec: {shell: x, env: {A: x, CRONCE_JOB: y}}": `jobs[0].exec.env.CRONCE_JOB: is "CRONCE_JOB", must be a name that is not empty, and does not begin with CRONCE_`,
		"exec: {shell: x, env: {'B=C': x}}":            `jobs[0].exec.env: has the name "B=C", must be names without =`,
		"exec: {shell: x, env: {'': x}}":               `jobs[0].exec.env: is "", must be a name that is not empty`,
		"exec: {shell: x, env: [A=1]}":                 `jobs[0].exec.env: is a list, must be a mapping`,
		"exec: {shell: x, user: no-such-user}":         `jobs[0].exec.user: is "no-such-user", must be a user of this machine, or a number`,
		"exec: {shell: x, comand: [a]}":                `jobs[0].exec.comand: unknown key, did you mean "command"?`,
		"lease: 1s\n    exec: {shell: x}":              `jobs[0].lease: is 1s, must be 3s or more for a job of kind exec`,
		"sleep: {for: 1s}\n    exec: {shell: 'true'}":  `jobs[0].sleep: are settings of kind sleep, but the job is of kind "exec"`,
	} {
		if os.Geteuid() != 0 && strings.Contains(settings, "user") {
			continue
		}
		text := "jobs:\n  - kind: exec\n    name: a\n    spec: '@daily'\n    " + settings + "\n"
		cronce(t, "node", "--check", "--config", file(t, "c.yaml", text)).want(t, exit.WrongUsage, want)
	}
}

// A program that is missing on this machine is a remark of --check, and a node without it does not
// start. The same holds for a variable that is not set, which --check does not report.
func TestExecMissing(t *testing.T) {
	_, url := newRedis(t)
	text := "jobs:\n  - {kind: exec, name: a, spec: '@daily', exec: {command: [no-such-program]}}\n"
	name := file(t, "c.yaml", text)
	cronce(t, "node", "--check", "--config", name).want(t, exit.Fine, `note: a: exec: finding "no-such-program" in PATH: file does not exist`)
	n := start(t, "node", "--config", name, "--redis", url, "--http", "off")
	if n.code() != exit.WrongUsage || !strings.Contains(n.stderr.String(), `c.yaml:2:43: jobs[0].exec: cannot run here: exec: finding "no-such-program" in PATH`) {
		t.Errorf("it printed %s", n.stderr)
	}
	n = startNode(t, url, "jobs:\n  - {kind: exec, name: a, spec: '@daily', exec: {shell: x, env_from: [NOT_SET_HERE]}}\n")
	if n.code() != exit.WrongUsage || !strings.Contains(n.stderr.String(), "jobs[0].exec.env_from[0]: names a variable that is not set") {
		t.Errorf("it printed %s", n.stderr)
	}
}

// As process 1 of a container the program leaves no zombies, forwards signals, and exits with the
// code of its child.
func TestProcessOne(t *testing.T) {
	_, url := newRedis(t)
	if err := osexec.Command("unshare", "-pf", "--mount-proc", "true").Run(); err != nil {
		t.Skip("needs unshare, and the right to a namespace of processes:", err)
	}
	script := `for i in 1 2 3 4 5; do (sleep 0.01 &) ; done
		while ps -eo args | grep -q '[s]leep 0.01$'; do sleep 0.02; done
		n=0; while ps -eo stat | grep -q ^Z && [ $n -lt 1000 ]; do n=$((n+1)); sleep 0.02; done # however late process 1 has its turn
		echo zombies: $(ps -eo stat | grep -c ^Z)
		trap 'echo stopped; exit 9' TERM; kill -TERM 1; while :; do sleep 0.01; done`
	c := osexec.Command("unshare", "-pf", "--mount-proc", os.Args[0], "lock", "k", "--redis", url, "--", "sh", "-c", script)
	c.Env = append(os.Environ(), actAsMain+"=1")
	out, _ := c.CombinedOutput()
	if got := string(out); !strings.Contains(got, "zombies: 0\nstopped\n") || c.ProcessState.ExitCode() != 9 {
		t.Errorf("%s, exit code %d", got, c.ProcessState.ExitCode())
	}
}
