package claims

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/cronce/cronce/scheduler/internal/job"
	"github.com/cronce/cronce/scheduler/internal/rendezvous"
	"github.com/cronce/cronce/scheduler/spec"
)

// A node that becomes a watcher of a partition learns of the runs of that partition alone, whichever others it watches.
func TestNewWatcher(t *testing.T) {
	c := New(Config{Partitions: 2, Groups: true, Nodes: rendezvous.Of("a", nil)})
	seen := map[[2]bool]bool{}
	for fleet := range 100 {
		var names []string
		for i := range 2 * largeFleet {
			names = append(names, fmt.Sprintf("node%d-%d", fleet, i))
		}
		before := [2]bool{c.watches(0), c.watches(1)}
		c.Nodes(rendezvous.Of("a", names))
		got := c.Effects().Learn
		fresh := [2]bool{!before[0] && c.watches(0), !before[1] && c.watches(1)}
		if seen[fresh] = true; slices.Contains(got, 0) != fresh[0] || slices.Contains(got, 1) != fresh[1] {
			t.Errorf("fleet %d: a new watcher of %v learns of the partitions %v", fleet, fresh, got)
		}
	}
	if !seen[[2]bool{true, false}] || !seen[[2]bool{false, true}] {
		t.Errorf("no node became a watcher of one partition alone: %v", seen)
	}
}

// However many claims a drain waits for, it names no more of them than it was asked for.
func TestNamesInDoubt(t *testing.T) {
	c, e := New(Config{}), entryOf()
	for at := range int64(3) {
		c.retries.add(at, &Pending{e: e, job: e.Job, tick: 2 * at}, &Pending{e: e, job: e.Job, tick: 2*at + 1})
	}
	for most, want := range map[int]int{0: 0, 1: 1, 3: 3, 6: 6, 7: 6} {
		names, count := c.InDoubt(most)
		slices.Sort(names)
		if len(slices.Compact(names)) != want || count != 6 {
			t.Errorf("at most %d: %q of %d", most, names, count)
		}
	}
}

// A reload changes the number of shards. A sheet that was opened before keeps its own number.
func TestShardsOfAnEarlierSheet(t *testing.T) {
	schedule, err := spec.Parse("* * * * * *", time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(schedule, &job.Rules{Shards: 2}, 8)
	e := w.c.entry(w.job)
	for _, of := range []int{0, 4, 0} {
		want := max(of, 2)
		p := &Pending{e: e, job: w.job, of: of}
		if h := w.c.sharding(p); h.Shards != want || len(h.Want) != want || w.c.most(p) != want {
			t.Errorf("a sheet of %d: %+v, at most %d", of, h, w.c.most(p))
		}
	}
}

// A claim had to wait longer from try to try. Once it is sent in place of a tick, it is sent as often as the tick would be.
func TestSentInPlaceAtThePaceOfATick(t *testing.T) {
	c, e := New(Config{}), entryOf()
	c.stalled = map[*entry]*stall{e: {}}
	p, tick := &Pending{e: e, job: e.Job, failed: true, stale: true, tries: 20}, &Pending{}
	if !c.countUnanswered(p) || c.stalled[e].sent != p || c.retryAfter(p) != tick.pause(time.Second) {
		t.Errorf("sent again after %d ms", c.retryAfter(p))
	}
}

// A claim that was given up in doubt is sent as long as a lease may have come of it, and then forgotten: the node that finds
// such a run settles it.
func TestDoubtEndsWithTheLease(t *testing.T) {
	for after, sent := range map[int64]bool{0: true, 1: false} {
		c, e := New(Config{}), entryOf()
		e.Job.Rules = &job.Rules{Lease: 30 * time.Second}
		p := &Pending{e: e, job: e.Job, stale: true, until: 60_000}
		if got := c.admits(p, 90_000+after); got != sent || (p.state == stateOver) == sent {
			t.Errorf("%d ms after the lease: sent %v, want %v; the state is %d", after, got, sent, p.state)
		}
	}
}
