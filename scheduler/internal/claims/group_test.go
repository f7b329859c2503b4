package claims

import (
	"fmt"
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
	if w.c.Nodes(rendezvous.Of("a", nil)); !w.c.Effects().Learn {
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

// A node with a free slot that finds a group decided, but not kept, learns of all runs, at most each ten seconds. Of the nodes without
// one, which learn of nothing, about an eighth keep the group, others each time.
func TestGroupThatNoWatcherKept(t *testing.T) {
	keeps := map[string]int{}
	const nodes, groups = 400, 20
	for i := range nodes {
		c := New(Config{Slots: 1, Nodes: rendezvous.Of(fmt.Sprintf("node%d", i), nil)})
		for g := range int64(groups) {
			now := learnEvery + g*500
			if !c.unkept(&series.Group{At: now}, now) || c.Effects().Learn != (g == 0) {
				t.Fatalf("node %d with a free slot does not keep group %d, or learns", i, g)
			}
		}
		c.free = 0
		for g := range int64(groups) {
			if c.unkept(&series.Group{At: g * 500}, 10*learnEvery) {
				keeps[fmt.Sprint("node", i)]++
			}
			if c.Effects().Learn {
				t.Fatalf("node %d without a free slot learns of runs", i)
			}
		}
	}
	all := 0
	for _, n := range keeps {
		all += n
	}
	if want := nodes * groups / keepers; all < want*9/10 || all > want*11/10 || len(keeps) < nodes*8/10 {
		t.Errorf("%d nodes keep %d groups, want most of %d and about %d", len(keeps), all, nodes, want)
	}
}

// With many jobs, few nodes read them all for one group, and each does for another one.
func TestLearnSeldomOfManyJobs(t *testing.T) {
	learn := 0
	for i := range 300 {
		c := New(Config{Slots: 1, Nodes: rendezvous.Of(fmt.Sprintf("node%d", i), nil)})
		for range 3 * learnMost {
			c.entries.Add()
		}
		if !c.unkept(&series.Group{At: 500}, learnEvery) {
			t.Fatal("a node with a free slot does not keep a group")
		}
		if c.Effects().Learn {
			learn++
		}
	}
	if learn < 70 || learn > 130 {
		t.Errorf("%d of 300 nodes learn, want about a third", learn)
	}
}

// A watcher without a free slot does not keep a group while a run waits to be taken over by it, and does again when another node has
// taken the run over.
func TestWatcherWithoutASlot(t *testing.T) {
	c, e := New(Config{Slots: 1, Peek: true, Nodes: rendezvous.Of("a", nil)}), entryOf()
	keeps := func() bool {
		c.groups = []*group{{Group: series.Group{At: 500, Count: 1}, at: 1000}}
		_, keep := c.takeGroups(1000)
		return len(keep) == 1
	}
	c.free = 0
	if !keeps() {
		t.Error("a watcher without a free slot does not keep a group")
	}
	a := series.Answer{Number: 1000, Fence: 7, State: series.RunOpen, Node: "dead"}
	c.watch(e, &a, 2000)
	c.admit(c.retries.take(2000), 2000)
	if keeps() || !c.probes[run{e, 1000}].look || c.lookAt == 0 {
		t.Error("while the run of a dead node waits, the watcher keeps a group, or does not look at the run")
	}
	waits := c.probes[run{e, 1000}].claim
	if c.watch(e, &a, 2500); c.probes[run{e, 1000}].claim != waits {
		t.Error("the run of a dead node loses its place before a free slot")
	}
	a.Fence, a.Node, a.Left = 8, "b", 3*time.Second
	if c.watch(e, &a, 3000); !keeps() {
		t.Error("a run that another node has taken over waits")
	}
	c.admit(c.retries.take(7000), 7000)
	a.Left = 2 * time.Second
	if keeps() {
		t.Error("a run whose lease has ended does not wait")
	}
	if c.watch(e, &a, 7100); !keeps() {
		t.Error("a run that was seen alive waits")
	}
}
