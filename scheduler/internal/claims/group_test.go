package claims

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/internal/job"
	"github.com/cronce/cronce/scheduler/internal/rendezvous"
	"github.com/cronce/cronce/scheduler/spec"
)

// A node that has become a watcher since a tick was due peeks at it. The answer that its group is decided would not show
// the run, and would end the probe of the run before, which a skipped tick leaves alive.
func TestNewWatcherPeeks(t *testing.T) {
	schedule, err := spec.Parse("* * * * * *", time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(schedule, &job.Rules{}, 2)
	w.c.cfg.Groups, w.c.cfg.Peek, w.c.cfg.Spread = true, true, 25*time.Millisecond
	var names []string
	for i := range 1000 {
		names = append(names, fmt.Sprintf("node%d", i))
	}
	w.c.Nodes(rendezvous.Of("a", names))
	due := func() {
		w.now = (w.now/1000 + 1) * 1000
		if b := w.c.Take(w.now, 0); len(b.Claims)+len(b.Peeks) > 0 || w.c.watches(0) {
			t.Fatalf("one of 1000 nodes is first for a tick, or watches: %+v", b)
		}
		w.now += 500
	}
	due()
	if b := w.c.Take(w.now, 0); len(b.Peeks) != 1 || b.Peeks[0].Group.Count != 1 || len(b.Peeks[0].Peeks) != 1 {
		t.Fatalf("a node that does not watch sends %+v, want an ask about one tick", b)
	}
	due()
	if w.c.Nodes(rendezvous.Of("a", nil)); len(w.c.Effects().Learn) != 1 {
		t.Error("the last node does not become a watcher")
	}
	if b := w.c.Take(w.now, 0); len(b.Peeks) != 1 || b.Peeks[0].Group.Count != 0 || len(b.Peeks[0].Peeks) != 1 {
		t.Fatalf("a new watcher sends %+v, want a peek at one tick", b)
	}
}

// In a fleet of up to eight nodes each node peeks at the ticks of the others, and none keeps or asks about a group. One node
// more is a large fleet.
func TestGroupsOfLargeFleetsAlone(t *testing.T) {
	schedule, err := spec.Parse("* * * * * *", time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	for nodes, want := range map[int]int{8: 0, 9: 1} {
		w := newWorld(schedule, &job.Rules{}, 2)
		w.c.cfg.Groups, w.c.cfg.Peek, w.c.cfg.Spread = true, true, 25*time.Millisecond
		names := make([]string, nodes-1)
		for i := range names {
			names[i] = fmt.Sprintf("node%d", i)
		}
		w.c.Nodes(rendezvous.Of("a", names))
		w.now = (w.now/1000 + 1) * 1000
		w.c.Take(w.now, 0)
		if len(w.c.groups) != want {
			t.Errorf("with %d nodes there are %d groups, want %d", nodes, len(w.c.groups), want)
		}
	}
}

// fleetOf returns the claims of each node of a fleet.
func fleetOf(nodes int) (all []*Claims) {
	var names []string
	for i := range nodes {
		names = append(names, fmt.Sprintf("node%d", i))
	}
	for _, name := range names {
		all = append(all, New(Config{Slots: 1, Groups: true, Nodes: rendezvous.Of(name, names)}))
	}
	return all
}

// Of a group that no watcher has kept, all nodes but four ask later than these, and keep it. The four learn of all runs, once in
// ten seconds and others each time, as soon as they have a free slot.
func TestGroupThatNoWatcherKept(t *testing.T) {
	const nodes, periods = 200, 10
	stood := map[int]bool{}
	all := fleetOf(nodes)
	for period := range int64(periods) {
		learned := map[int]int{}
		for end := (period + 10) * learnEvery; end < (period+11)*learnEvery; end += groupSpan {
			keep := 0
			for i, c := range all {
				g := series.Group{At: end, Partition: 0}
				_, stands := c.standIn(&g)
				if at := c.groupAt(end, 0).at - end; !c.watches(0) && stands != (at == askAfter) || !stands && at < askAfter+askFirst && !c.watches(0) || at >= askAfter+askSpread {
					t.Fatalf("node %d, which stands in: %v, asks after %d ms", i, stands, at)
				}
				c.groups = nil
				if c.free = 0; end-(period+10)*learnEvery >= learnEvery/2 {
					c.free = 1
				}
				if c.unkept(&g, true) {
					keep++
				}
				if len(c.Effects().Learn) == 1 {
					learned[i]++
					stood[i] = true
				}
			}
			if keep != nodes-watchersMost {
				t.Errorf("%d of %d nodes keep a group", keep, nodes)
			}
		}
		for i, n := range learned {
			if n != 1 || len(learned) != watchersMost {
				t.Errorf("%d nodes learn in period %d, node %d %d times", len(learned), period, i, n)
			}
		}
		if len(learned) == 0 {
			t.Errorf("no node learns in period %d", period)
		}
	}
	if len(stood) < periods*watchersMost*3/4 {
		t.Errorf("%d nodes stand in for the watchers in %d periods", len(stood), periods)
	}
}

// The nodes that stand in for the watchers of one partition are others than those of the next one, and learn of its runs alone.
func TestStandInsOfEachPartition(t *testing.T) {
	const nodes, partitions = 50, 8
	learned, busy := map[uint16]int{}, 0
	for _, c := range fleetOf(nodes) {
		c = New(Config{Slots: 1, Groups: true, Partitions: partitions, Nodes: c.nodes})
		for p := range c.grouped {
			c.grouped[p] = learnEvery
		}
		for p := range partitions {
			c.unkept(&series.Group{At: learnEvery, Partition: p}, true)
			c.unkept(&series.Group{At: learnEvery + groupSpan, Partition: p}, true)
		}
		all := c.Effects().Learn
		for _, p := range all {
			learned[p]++
		}
		busy = max(busy, len(all))
	}
	for p := range uint16(partitions) {
		if learned[p] != watchersMost {
			t.Errorf("%d nodes learn of the runs of partition %d, want %d", learned[p], p, watchersMost)
		}
	}
	if busy > partitions/2 {
		t.Errorf("one node learns of the runs of %d of %d partitions", busy, partitions)
	}
}

// The nodes that stand in for the watchers of a partition learn also of the runs of the partitions before it that have no tick.
func TestStandInsOfQuietPartitions(t *testing.T) {
	for _, c := range fleetOf(50) {
		c = New(Config{Slots: 1, Groups: true, Partitions: 8, Nodes: c.nodes})
		c.grouped[6], c.grouped[1] = learnEvery+groupSpan, learnEvery
		g := series.Group{At: learnEvery, Partition: 1}
		_, stands := c.standIn(&g)
		c.unkept(&g, true)
		if got := c.Effects().Learn; stands != slices.Equal(got, []uint16{1, 0, 7}) || !stands && len(got) > 0 {
			t.Errorf("a node that stands in, %v, learns of the runs of the partitions %v", stands, got)
		}
		g = series.Group{At: learnEvery + learnEvery/2, Partition: 1}
		if c.learned[1] = 0; stands {
			if c.unkept(&g, true); len(c.Effects().Learn) != 8 {
				t.Error("not all partitions are read, and only one has a tick")
			}
		}
	}
}

// With three times as many jobs, nodes learn of all runs in thrice the time.
func TestLearnSeldomOfManyJobs(t *testing.T) {
	learn := 0
	for _, c := range fleetOf(100) {
		for range 3 * learnMost {
			c.entries.Add()
		}
		for end := int64(30 * learnEvery); end < 33*learnEvery; end += groupSpan {
			c.unkept(&series.Group{At: end}, true)
			if len(c.Effects().Learn) == 1 {
				learn++
			}
		}
	}
	if learn != watchersMost {
		t.Errorf("%d of 100 nodes learn, want %d", learn, watchersMost)
	}
}

// A watcher without a free slot does not keep a group while a run that seems dead waits to be taken over by it. It peeks at the run,
// and keeps groups again when the run was seen alive, or another node has taken it over.
func TestWatcherWithoutASlot(t *testing.T) {
	for name, peekers := range map[string]bool{"peeks at the run of old": true, "does not": false} {
		t.Run(name, func(t *testing.T) {
			c, e := New(Config{Slots: 1, Peek: true, Nodes: rendezvous.Of("a", []string{"b", "c", "d", "dead"})}), entryOf()
			r := run{e, 1000}
			for c.nodes.Among(2, e.Hash, r.tick, "dead") != peekers {
				r.tick += 1000
			}
			start := r.tick + 1000
			keeps := func(now int64) bool {
				c.groups = []*group{{Group: series.Group{At: 500, Count: 1}, at: 1000}}
				_, keep := c.takeGroups(now)
				return len(keep) == 1
			}
			c.free = 0
			a := series.Answer{Number: r.tick, Fence: 7, State: series.RunOpen, Node: "dead"}
			c.watch(e, &a, start)
			c.admit(c.retries.take(start+1000), start+1000)
			if !keeps(start + 1000) {
				t.Error("a watcher does not keep a group before it can have peeked at the run")
			}
			if keeps(start+2500) || !c.probes[r].runPeek || c.runPeekAt == 0 {
				t.Error("while the run of a dead node waits, the watcher keeps a group, or does not peek at the run")
			}
			waits := c.probes[r].claim
			c.runPeekAt = 0 // the peek
			if c.watch(e, &a, start+2500); c.probes[r].claim != waits || c.runPeekAt == 0 {
				t.Error("the run of a dead node loses its place before a free slot, or is not peeked at again")
			}
			a.Fence, a.Node, a.Left = 8, "b", 3*time.Second
			if c.watch(e, &a, start+3000); !keeps(start + 3000) {
				t.Error("a run that another node has taken over waits")
			}
			c.admit(c.retries.take(start+8000), start+8000)
			a.Left = 2 * time.Second
			if keeps(start + 8000) {
				t.Error("a run whose lease has ended does not wait")
			}
			if c.watch(e, &a, start+8100); !keeps(start + 8100) {
				t.Error("a run that was seen alive waits")
			}
		})
	}
}

// A node that stands in for the watchers learns of all runs also if a tick of the group is not decided, and for a group that is, once more: the
// watchers may have died since. It learns twice in a period at most.
func TestUndecidedGroupThatNoWatcherKept(t *testing.T) {
	learned := 0
	for _, c := range fleetOf(40) {
		c.free = 1
		for i, decided := range []bool{false, false, true, true, false} {
			s := &Share{Group: series.Group{At: learnEvery, Count: 2}, whole: decided}
			if keep := c.Peeked(s, nil, learnEvery); keep && !decided {
				t.Error("a group is kept with an undecided tick")
			}
			if len(c.Effects().Learn) == 1 {
				if learned++; i != 0 && i != 2 {
					t.Errorf("a node learns of group %d", i)
				}
			}
		}
	}
	if learned != 2*watchersMost {
		t.Errorf("nodes learn %d times", learned)
	}
}
