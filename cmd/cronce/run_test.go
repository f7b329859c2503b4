package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/cmd/internal/exit"
)

const byHand = `jobs:
- {kind: exec, name: report, spec: '@yearly', exec: {command: [sh, -c, 'echo "$CRONCE_TICK"']}}
- {kind: exec, name: broken, spec: '@yearly', exec: {command: ['false']}}
- {kind: exec, name: idle, spec: '@yearly', exec: {command: [sh, -c, 'exit 75'], skip: [75]}}
- {kind: exec, name: long, spec: '@yearly', exec: {command: [sleep, '3000']}}
`

// A job is run by hand on a node that has it. The command waits for its end, which decides its exit code,
// and audit, runs and verify report the run.
func TestRunCommand(t *testing.T) {
	t.Parallel()
	_, url := newRedis(t)
	n := startNode(t, url, byHand, "--name", "one")
	eventually(t, "the jobs are open", func() bool {
		return cronce(t, "run", "long", "--reason", "by hand", "--dry-run", "--redis", url).code == exit.Fine
	})
	run := func(job string, args ...string) result {
		return cronce(t, append([]string{"run", job, "--reason", "the data was late", "--who", "ann", "--redis", url}, args...)...)
	}
	run("report", "--wait", "5m").want(t, exit.Fine, "report@2", "Z is requested, by ann: the data was late", "  it ended as ok at 2")
	run("broken", "--wait", "5m").want(t, exit.Failed, "  it ended as failed at 2", "did not end ok")
	run("idle", "--wait", "5m").want(t, exit.Fine, "  it ended as skipped at 2")
	run("long").want(t, exit.Fine, "is requested", "it starts by 2")
	eventually(t, "the run is alive", func() bool {
		return cronce(t, "runs", "long", "--alive", "-o", "name", "--redis", url).stdout != ""
	})
	run("long", "--dry-run").want(t, exit.Refused, "long has a run that is alive", "to wait for its end give --queue")
	run("long", "--queue", "--dry-run").want(t, exit.Fine, "long would start when long@2", " ends, within 1m")
	id, _, _ := strings.Cut(cronce(t, "runs", "long", "--alive", "-o", "name", "--redis", url).stdout, "\n")
	cronce(t, "cancel", id, "--reason", "enough", "--wait", "5m", "--redis", url).want(t, exit.Fine, "it ended as cancelled")
	cronce(t, "pause", "report", "--reason", "for the night", "--redis", url).want(t, exit.Fine)
	run("report").want(t, exit.Refused, "report is paused, by ", "for the night", "give --while-paused")
	run("report", "--while-paused", "--wait", "5m").want(t, exit.Fine, "it ended as ok")
	cronce(t, "audit", "--redis", url).want(t, exit.Fine, "requested the manual run of 2", "the data was late")
	cronce(t, "verify", "--redis", url).want(t, exit.Fine)
	n.signal(os.Interrupt)
	eventually(t, "the node has left", func() bool { return run("report", "--while-paused").code == exit.Refused })
	run("report", "--while-paused").want(t, exit.Refused, "no live node has report: nothing was done")
}

// A request that is repeated as the same operation runs the job once, and prints the run of the first one.
func TestRunIsRepeated(t *testing.T) {
	t.Parallel()
	_, url := newRedis(t)
	n := startNode(t, url, byHand, "--name", "one")
	eventually(t, "the jobs are open", func() bool {
		return cronce(t, "run", "report", "--reason", "by hand", "--dry-run", "--redis", url).code == exit.Fine
	})
	run := []string{"run", "report", "--reason", "by hand", "--wait", "5m", "--op", "mine", "--redis", url}
	first := cronce(t, run...)
	first.want(t, exit.Fine, "is requested", "it ended as ok")
	for range 20 { // the store keeps fewer operations, and the audit has them
		cronce(t, "skip", "report", "--reason", "a holiday", "--redis", url).want(t, exit.Fine, "report@2", "Z is to be skipped")
		cronce(t, "skip", "report", "--undo", "--reason", "no holiday", "--redis", url).want(t, exit.Fine, "no tick of report is to be skipped")
	}
	if again := cronce(t, run...); again.code != exit.Fine || again.stdout != first.stdout {
		t.Errorf("repeated, it prints %q, at first %q", again.stdout, first.stdout)
	}
	run[3] = "another reason"
	cronce(t, run...).want(t, exit.Refused, "the operation mine was used for another change")
	n.signal(os.Interrupt)
}

// Arguments of run and skip that name nothing are refused.
func TestRunAndSkipRefused(t *testing.T) {
	t.Parallel()
	cl := newCluster(t, 5, 0)
	cronce(t, "run", "--reason", "by hand").want(t, exit.WrongUsage, "got 0 arguments, want the name of one job")
	cronce(t, "run", "job").want(t, exit.WrongUsage, "--reason is missing")
	cronce(t, "run", "job", "--reason", "by hand", "--start-within", "2h").want(t, exit.WrongUsage, "--start-within is 2h0m0s, must be 1s to 1h")
	cronce(t, "run", "job", "--reason", "by hand", "--wait", "-1s").want(t, exit.WrongUsage, "--wait is -1s")
	cronce(t, "run", "job", "--reason", "by hand", "--wait", "1s", "--dry-run").want(t, exit.WrongUsage, "--dry-run starts nothing")
	cronce(t, "run", "other", "--reason", "by hand", "--redis", cl.url).want(t, exit.WrongUsage, "is not known in namespace")
	cronce(t, "run", "job", "--reason", "by hand", "--wait", "24h1ms").want(t, exit.WrongUsage, "--wait is 24h0m0.001s, must be 0 to 24h")
	cronce(t, "run", "job", "--reason", "by hand", "--start-within", "1h", "--wait", "24h", "--redis", cl.url).want(t, exit.Refused, "no live node has job: nothing was done")
	cronce(t, "skip", "--reason", "a holiday").want(t, exit.WrongUsage, "got 0 arguments")
	cronce(t, "skip", "job").want(t, exit.WrongUsage, "--reason is missing")
	cronce(t, "skip", "job", "2026-11-23T02:00:00Z", "--undo", "--reason", "a holiday").want(t, exit.WrongUsage, "--undo is true")
	cronce(t, "skip", "job", "2026-11-23", "02:00:00", "--reason", "a holiday").want(t, exit.WrongUsage, "got 3 arguments")
	cronce(t, "skip", "job", "1969-01-01", "--reason", "a holiday").want(t, exit.WrongUsage, "cronce: skip: number is -")
	cronce(t, "skip", "job", "soon", "--reason", "a holiday").want(t, exit.WrongUsage, "skip: the tick ")
	cronce(t, "skip", "job", "2001-01-01T00:00:00Z", "--reason", "a holiday", "--redis", cl.url).want(t, exit.Refused, "is decided: nothing was done")
	skip := []string{"skip", "job", time.Now().Add(time.Hour).UTC().Format(time.RFC3339), "--reason", "a holiday", "--redis", cl.url}
	cronce(t, skip...).want(t, exit.Fine, " is to be skipped, by ")
	if r := cronce(t, skip...); r.code != exit.Fine || strings.Count(r.stdout, "\n") != 1 || !strings.HasSuffix(r.stdout, " is to be skipped already\n") {
		t.Errorf("a second skip ends with %d, and prints %q", r.code, r.stdout)
	}
	cronce(t, "skip", "job", "--undo", "--reason", "a holiday", "--redis", cl.url).want(t, exit.Fine, "no tick of job is to be skipped")
	cronce(t, "audit", "--redis", cl.url).want(t, exit.Fine)
}
