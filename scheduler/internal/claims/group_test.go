package claims

import (
	"fmt"
	"testing"
	"time"

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
	if !w.c.Nodes(rendezvous.Of("a", nil)) {
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
