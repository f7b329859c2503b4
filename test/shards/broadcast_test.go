package shards_test

import (
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/lock/series"
)

// Of five nodes that are expected one was killed just before the tick, and one is frozen during it: both miss the tick, and the
// others run it once. A node that joins during a tick is expected by a later one, and so is the frozen one when it goes on.
func TestBroadcastToHurtNodes(t *testing.T) {
	t.Parallel()
	const every = 4 * time.Second
	c := newCluster(t, redisserver.Start(t).Addr())
	for range 5 {
		c.start(0, every)
	}
	c.await("all five nodes run a tick", func() bool { return len(c.latest(0)) == 5 })
	dead, frozen := c.nodes[0], c.nodes[1]
	if err := frozen.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	dead.kill()
	hurt := time.Now().UnixMilli()
	c.await("the next tick begins", func() bool { return slices.ContainsFunc(c.lines(), func(l series.Line) bool { return l.To > hurt }) })
	c.start(0, every)
	joined := c.nodes[5]
	c.await("it ends", func() bool { return c.latest(hurt) != nil })
	if err := frozen.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	c.await("a tick of the nodes that live", func() bool {
		live := c.latest(hurt)
		return len(live) == 5 && live[joined.Process.Pid] == series.OutcomeOK && live[frozen.Process.Pid] == series.OutcomeOK
	})
	c.end()
	c.once(hurt, map[int]string{dead.Process.Pid: string(series.VerdictMissed), frozen.Process.Pid: string(series.VerdictMissed),
		c.nodes[2].Process.Pid: series.OutcomeOK, c.nodes[3].Process.Pid: series.OutcomeOK, c.nodes[4].Process.Pid: series.OutcomeOK})
}

// latest returns the verdicts of the nodes in the latest tick after an instant that is settled, by their processes.
func (c *cluster) latest(after int64) (of map[int]string) {
	c.t.Helper()
	for _, l := range c.lines() {
		if l.To > after && l.Ended != 0 {
			of = c.verdicts(&l)
		}
	}
	return of
}

// verdicts returns the verdicts of the nodes in a settled tick, by their processes. A node is known by the runs that it recorded.
func (c *cluster) verdicts(l *series.Line) map[int]string {
	c.t.Helper()
	shards, err := series.ReadSheet(l.Sheet, l.Fence, l.At)
	if err != nil {
		c.t.Fatal(err)
	}
	pids := map[string]int{}
	for _, r := range records(c.t, c.dir) {
		pids[r.Param] = r.Pid
	}
	of := map[int]string{}
	for _, h := range shards {
		of[pids[strings.TrimSuffix(h.Owner, "/")]] = h.Outcome
	}
	return of
}

// once fails the test unless each node of each tick ran it once, or not at all if it missed it, and the nodes of the first tick after an
// instant have these verdicts.
func (c *cluster) once(after int64, want map[int]string) {
	c.t.Helper()
	ran := map[[2]int64]int{}
	for _, r := range records(c.t, c.dir) {
		if !r.End {
			ran[[2]int64{r.Tick, int64(r.Pid)}]++
		}
	}
	first, settled := true, map[int64]bool{}
	for _, l := range c.lines() {
		if l.Ended == 0 {
			continue
		}
		settled[l.To] = true
		got := c.verdicts(&l)
		for pid, verdict := range got {
			if n := ran[[2]int64{l.To, int64(pid)}]; n > 1 || n == 0 && verdict == series.OutcomeOK || n == 1 && verdict == string(series.VerdictMissed) {
				c.t.Errorf("the process %d ran the tick %d %d times, and its verdict is %s", pid, l.To, n, verdict)
			}
			delete(ran, [2]int64{l.To, int64(pid)})
		}
		if l.To <= after || !first {
			continue
		}
		first = false
		if len(got) != len(want) {
			c.t.Errorf("the tick %d has the verdicts %v, want %v", l.To, got, want)
		}
		for pid, verdict := range want {
			if got[pid] != verdict {
				c.t.Errorf("the process %d has the verdict %q in the tick %d, want %q", pid, got[pid], l.To, verdict)
			}
		}
	}
	for run := range ran {
		if settled[run[0]] {
			c.t.Errorf("the process %d ran the tick %d, which did not expect it", run[1], run[0])
		}
	}
}
