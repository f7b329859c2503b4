package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
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
	cancel.want(t, exit.Fine, " is cancelled, by ann, at 2", ": it hangs", "  one-", " runs it as attempt 1, fence ", ", and learns of the cancel with its next renewal at the latest\n", "  it ended as cancelled at 2")
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
	for _, command := range []string{"cancel", "pause", "resume", "retire", "skip"} {
		cronce(t, command, "job", "--reason", "no").want(t, exit.WrongUsage, "cronce: "+command+`: --reason is "no", must be 3 to 500 characters of printable UTF-8`)
	}
	cronce(t, "cancel", "job", "--reason", "it hangs", "--wait", "-1s").want(t, exit.WrongUsage, "--wait is -1s, must be 0 to 24h")
	cronce(t, "cancel", "job", "--reason", "it hangs", "--wait", "2562047h47m16s").want(t, exit.WrongUsage, "must be 0 to 24h")
	cronce(t, "cancel", "job", "--reason", "it hangs", "--wait", "24h", "--redis", cl.url).want(t, exit.Refused, "job has no run that has not ended")
	for _, at := range []string{"last", "03:00", "2026-11-29 …", ""} {
		cronce(t, "cancel", "job@"+at, "--reason", "it hangs", "--redis", cl.url).want(t, exit.WrongUsage, `cancel: the tick of "job@`+at+`" is "`+at+`", must be RFC 3339 (2026-03-29T01:00:00Z), as cronce runs --alive -o name prints it`)
	}
	cronce(t, "cancel", "other", "--reason", "it hangs", "--redis", cl.url).want(t, exit.WrongUsage, "is not known in namespace")
	cronce(t, "cancel", "job", "--reason", "it hangs", "--op", "mine", "--redis", cl.url).want(t, exit.WrongUsage, "--op is mine, which names no run: give the id of the run")
	cronce(t, "cancel", "job@2026-11-23T02:00:00Z", "--reason", "it hangs", "--op", "x.0.1000", "--redis", cl.url).want(t, exit.WrongUsage, `an operation on the run "job@1970-01-01T00:00:01Z"`)
	cronce(t, "cancel", "job", "--reason", "it hangs", "--op", "x.0.1000", "--redis", "redis://127.0.0.1:1").want(t, exit.NotKnown, "whether it was done is not known: repeat the command with --op x.0.1000")
	cronce(t, "audit", "--redis", cl.url).want(t, exit.Fine)
}

// hanging begins a run of the job that does not end by itself.
func (cl *cluster) hanging(t *testing.T) series.RunRef {
	t.Helper()
	tick := cl.last + 1000
	cl.server.SetTime(time.UnixMilli(tick + 10))
	a := cl.Front().Claim(t.Context(), []series.Claim{{Key: "job", Owner: "n/x", Number: tick, After: cl.last, TTL: 24 * time.Hour, Deadline: time.Hour, Attempts: 1, Latest: driver.MaxNumber, Revision: cl.revision}})[0]
	if a.Kind != series.KindGranted {
		t.Fatalf("%+v", a)
	}
	cl.last = tick
	return series.RunRef{Key: "job", Number: tick, Owner: "n/x", Fence: a.Fence, TTL: 24 * time.Hour}
}

// end ends a run that is cancelled.
func (cl *cluster) end(t *testing.T, ref series.RunRef) {
	t.Helper()
	if e := cl.Front().ReleaseRuns(t.Context(), []series.EndRequest{{RunRef: ref, Outcome: "cancelled"}})[0]; !e.Ended {
		t.Fatalf("%+v", e)
	}
}

// Whoever cancelled the run, and however often the request is repeated, --wait waits for its end.
func TestCancelWaits(t *testing.T) {
	t.Parallel()
	cl := newCluster(t, 5, 0)
	ref := cl.hanging(t)
	cancel := []string{"cancel", "job", "--reason", "it hangs", "--wait", "1s", "--redis", cl.url}
	again := append(cancel, "--op", fmt.Sprintf("mine.0.%d", ref.Number))
	cronce(t, again...).want(t, exit.Failed, "is cancelled, by ", "has not ended within 1s")
	cronce(t, cancel...).want(t, exit.Failed, "is cancelled already", "has not ended within 1s")
	cronce(t, "pause", "job", "--reason", "for the night", "--redis", cl.url).want(t, exit.Fine, "; runs that are alive and go on: 1\n", "  each tick from 2", " on will be recorded as paused, until cronce resume\n")
	if r := cronce(t, "retire", "job", "--reason", "it was removed", "--redis", cl.url); r.code != exit.Refused || !strings.HasSuffix(r.stderr, "job has a run that is alive: nothing was done, see cronce runs job --alive\n") {
		t.Errorf("the retirement of a job that runs ends with %d: %s", r.code, r.stderr)
	}
	cronce(t, again...).want(t, exit.Failed, "was done before, as change 1", "has not ended within 1s")
	cl.end(t, ref)
	cronce(t, again...).want(t, exit.Fine, "was done before, as change 1")
}

// An operation stands for the run that its first request named. Repeated after the end of that run it is
// done, and if the first request never came to the store, no other run is cancelled.
func TestCancelIsRepeated(t *testing.T) {
	t.Parallel()
	cl := newCluster(t, 5, 0)
	ref := cl.hanging(t)
	cancel := []string{"cancel", "job", "--reason", "it hangs", "--redis", cl.url, "--op"}
	op := func(name string) string { return fmt.Sprintf("%s.0.%d", name, ref.Number) }
	cronce(t, append(cancel, op("arrived"))...).want(t, exit.Fine, "is cancelled")
	cl.end(t, ref)
	next := cl.hanging(t)
	cronce(t, append(cancel, op("arrived"))...).want(t, exit.Fine, "is cancelled")
	cronce(t, append(cancel, op("lost"))...).want(t, exit.Refused, "has ended, or no node was granted it: nothing was done")
	for _, run := range cl.Front().ReadSeries(t.Context(), []string{"job"})[0].Runs {
		if run.Number != next.Number || run.Cancelled {
			t.Errorf("%+v", run)
		}
	}
	cl.server.SetTime(time.UnixMilli(next.Number).Add(25 * time.Hour)) // its lease is over
	cronce(t, "cancel", "job", "--reason", "it hangs", "--wait", "1s", "--redis", cl.url).want(t, exit.Fine, "is cancelled, by ", "  no node runs it\n")
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
