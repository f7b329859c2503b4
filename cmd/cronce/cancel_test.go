package main

import (
	"os"
	"strings"
	"testing"

	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/internal/redisserver"
)

const hangs = "jobs: [{kind: exec, name: report, spec: '@every 1s', lease: 1h, timeout: 50m, exec: {command: [sleep, '3000']}}]\n"

// A run that hangs is cancelled long before the next renewal of its lease. Its tick ends as cancelled,
// which runs, why, audit and verify report, and later ticks run.
func TestCancelCommand(t *testing.T) {
	t.Parallel()
	_, url := newRedis(t)
	n := startNode(t, url, hangs, "--name", "one")
	var id string
	eventually(t, "a run is alive", func() bool {
		id, _, _ = strings.Cut(cronce(t, "runs", "report", "--alive", "-o", "name", "--redis", url).stdout, "\n")
		return id != ""
	})
	cancel := cronce(t, "cancel", "report", "--reason", "it hangs", "--who", "ann", "--wait", "5m", "--redis", url)
	cancel.want(t, exit.Fine, " is cancelled, by ann, at 2", ": it hangs", "  one-", " runs it as attempt 1, fence ", "  it ended as cancelled at 2")
	cronce(t, "cancel", id, "--reason", "it hangs", "--redis", url).want(t, exit.Refused, " has ended, or no node was granted it")
	cronce(t, "why", id, "--redis", url).want(t, exit.Fine, "and ended as cancelled after ", " Cancelled by ann at ", ": it hangs.")
	cronce(t, "runs", "report", "--verdict", "cancelled", "--redis", url).want(t, exit.Fine, "cancelled")
	cronce(t, "audit", "--redis", url).want(t, exit.Fine, "cancel", "ann", "cancelled the run of 2", "it hangs")
	cronce(t, "verify", "--redis", url).want(t, exit.Fine)
	eventually(t, "a later tick runs", func() bool {
		next := cronce(t, "runs", "report", "--alive", "-o", "name", "--redis", url).stdout
		return next != "" && !strings.HasPrefix(next, id)
	})
	n.signal(os.Interrupt)
}

// Arguments of cancel that name no run are refused, and cancel nothing.
func TestCancelRefused(t *testing.T) {
	t.Parallel()
	cl := newCluster(t, 5, 0)
	cronce(t, "cancel", "--reason", "it hangs").want(t, exit.WrongUsage, "got 0 arguments, want the id of one run, or the name of one job")
	cronce(t, "cancel", "job").want(t, exit.WrongUsage, "--reason is missing")
	cronce(t, "cancel", "job", "--reason", "no").want(t, exit.WrongUsage, "reason", "3 to 500 characters")
	cronce(t, "cancel", "job", "--reason", "it hangs", "--wait", "-1s").want(t, exit.WrongUsage, "--wait is -1s, must be 0 or more")
	cronce(t, "cancel", "job", "--reason", "it hangs", "--redis", cl.url).want(t, exit.Refused, "job has no run that has not ended")
	cronce(t, "cancel", "other", "--reason", "it hangs", "--redis", cl.url).want(t, exit.WrongUsage, "is not known in namespace")
	cronce(t, "audit", "--redis", cl.url).want(t, exit.Fine)
}

// The command of a crontab line that runs a tick is cancelled as well, at the next renewal of its run.
func TestCancelOfALockTick(t *testing.T) {
	t.Parallel()
	url := "redis://" + redisserver.Start(t).Addr()
	c := start(t, "lock", "backup", "--store", url, "--once-per", "1h", "--ttl", "3s", "--", "sleep", "3000")
	eventually(t, "the run is alive", func() bool {
		return strings.Contains(cronce(t, "runs", "lock/backup", "--alive", "--redis", url).stdout, "lock/backup")
	})
	cronce(t, "cancel", "lock/backup", "--reason", "it hangs", "--wait", "5m", "--redis", url).want(t, exit.Fine, "it ended as cancelled at 2")
	<-c.gone
	if code := c.cmd.ProcessState.ExitCode(); code == exit.Fine {
		t.Error("the cancelled command ends with 0")
	}
	cronce(t, "verify", "--redis", url).want(t, exit.Fine)
}
