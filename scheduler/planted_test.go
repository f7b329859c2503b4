package scheduler_test

import (
	"slices"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler"
)

// A node that drains removes itself from the list of nodes: its share goes to others at once, not when its runs have ended,
// nor when its time to live is over.
func TestDrainingNodeLeavesTheList(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := plan(t, scheduler.Job{Name: "a", Spec: "@hourly", Func: takes(30 * time.Minute)})
		c.setup = func(_ int, cfg *scheduler.Config) { cfg.Grace = time.Hour }
		c.start()
		c.start()
		c.pass(time.Hour + time.Second)
		drains := c.holder("a")
		drains.stop()
		for _, late := range []time.Duration{time.Millisecond, time.Minute, 20 * time.Minute} {
			c.pass(late)
			p, err := c.store.Beat(t.Context(), series.Beat{Node: "probe", TTL: time.Second})
			if err != nil || slices.Contains(p.Nodes, drains.ID()) || len(p.Nodes) != 2 {
				t.Errorf("%v later the list is %q, %v", late, p.Nodes, err)
			}
		}
	})
}

// A store that neither answers nor fails is noticed when three heartbeats have had no answer,
// however long a request may take.
func TestSilentStoreIsNotReady(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := plan(t, scheduler.Job{Name: "a", Spec: "@daily", Func: nothing})
		c.setup = func(_ int, cfg *scheduler.Config) { cfg.StoreTimeout = 5 * time.Minute }
		n := c.start()
		c.pass(12*time.Second + 500*time.Millisecond) // the rota's first turn was at 12 s
		n.partition()
		c.pass(30*time.Second - 600*time.Millisecond)
		if err := n.Ready(); err != nil {
			t.Errorf("after 29.9 s: %v", err)
		}
		c.pass(200 * time.Millisecond)
		if n.Ready() == nil {
			t.Error("ready after 30.1 s without an answer")
		}
		n.heal()
	})
}

// A deploy brings a spec. Its instants before the deploy are no ticks: none of them counts as
// missed, and none is made up for.
func TestTicksBeforeTheSpecAreNone(t *testing.T) {
	for _, misfire := range []scheduler.Misfire{scheduler.MisfireOnce, scheduler.MisfireAll} {
		bubbled := func(t *testing.T) {
			old := scheduler.Job{Name: "a", Spec: "@hourly", Misfire: misfire, Func: nothing}
			fresh := old
			fresh.Spec = "*/10 * * * *"
			c := cluster(t, 1, old)
			c.mixed = true
			c.pass(2*time.Hour + 25*time.Minute)
			if err := c.nodes[0].drain(); err != nil {
				t.Error(err)
			}
			c.pass(10 * time.Minute) // 02:35.5; the mark is 02:00
			c.startWith(fresh)
			c.pass(30 * time.Minute)
			var ticks []string
			for _, r := range c.ran("a") {
				ticks = append(ticks, r.Tick.Format("15:04"))
			}
			if want := []string{"01:00", "02:00", "02:40", "02:50", "03:00"}; !slices.Equal(ticks, want) {
				t.Errorf("ran %q, want %q", ticks, want)
			}
			c.wantLogged(0, "tick missed")
			for _, l := range c.journal("a").Lines {
				if l.Between != "" || l.Verdict == series.VerdictMissed {
					t.Errorf("the journal has %+v", l)
				}
			}
		}
		t.Run([]string{"once", "skip", "all"}[misfire], func(t *testing.T) { bubble(t, bubbled) })
	}
}
