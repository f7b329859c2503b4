package scheduler_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/scheduler"
)

// The store refuses the ends of runs and accepts all other requests, as with an access rule that
// lacks a right. The job continues: when the lease of the run is over the next tick is claimed,
// which settles the run as lost. The log names the refusal once a minute, and so does Ready,
// without the user or the address.
func TestRefusedEnds(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := plan(t, scheduler.Job{Name: "a", Spec: "@every 1m", Lease: 10 * time.Second, Func: takes(time.Second)})
		n := c.start()
		c.pass(30 * time.Second)
		n.wire.spoil(func(op string) fault { return fault{refused: op == "release"} })
		c.pass(5*time.Minute + 10*time.Second)
		if got := len(c.ran("a")); got != 5 {
			t.Errorf("%d runs in 5 minutes", got)
		}
		err := n.Ready()
		if err == nil || !strings.Contains(err.Error(), "ends of runs: the user may not do") || strings.Contains(err.Error(), "app") {
			t.Errorf("ready: %v", err)
		}
		if ls := c.logged("store unreachable"); len(ls) < 4 || len(ls) > 6 || !strings.Contains(ls[0].keys["what"].(string), "ends of runs: the user may not do") {
			t.Errorf("%d lines: %v", len(ls), ls)
		}
		n.wire.spoil(nil)
		c.pass(2 * time.Minute)
		if err := n.Ready(); err != nil {
			t.Errorf("ready: %v", err)
		}
		c.wantTally("a", "lost 5, ran ok 2")
		if n.Free() != 1000 {
			t.Errorf("%d slots are free", n.Free())
		}
	})
}

// The store refuses peeks and accepts all other requests. The log and Ready report this, and each
// tick still runs. The claims that are answered meanwhile do not end the report.
func TestRefusedPeeks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := cluster(t, 3, everySecond(3)...)
		c.pass(20*time.Second + 500*time.Millisecond)
		spoil := func(f func(op string) fault) {
			for _, n := range c.nodes {
				n.wire.spoil(f)
			}
		}
		spoil(func(op string) fault { return fault{refused: op == "peek"} })
		c.pass(30 * time.Second)
		for i, n := range c.nodes {
			if err := n.Ready(); err == nil || !strings.Contains(err.Error(), "peeks at ticks: the user may not do") {
				t.Errorf("node %d is ready: %v", i, err)
			}
		}
		c.wantLogged(3, "store unreachable")
		spoil(nil)
		c.pass(20 * time.Second)
		for i, n := range c.nodes {
			if err := n.Ready(); err != nil {
				t.Errorf("node %d is not ready: %v", i, err)
			}
		}
		if ran := len(c.ran("job0")); ran < 70 {
			t.Errorf("%d runs in 70 seconds", ran)
		}
	})
}

// The store refuses all requests for longer than the lease, which counts as an outage. When it
// permits them again the ends come first, and no outcome is lost.
func TestRefusedOutage(t *testing.T) {
	for _, takeover := range []scheduler.Takeover{scheduler.TakeoverLost, scheduler.TakeoverRerun} {
		for i := range 12 {
			t.Run(fmt.Sprint(takeover, i), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					c := plan(t, scheduler.Job{Name: "a", Spec: "@every 1m", Takeover: takeover, Lease: 10 * time.Second, Func: takes(5 * time.Second)})
					n := c.start()
					c.pass(time.Minute + 2*time.Second)
					n.wire.spoil(func(string) fault { return fault{refused: true} })
					c.pass(5*time.Minute + 10*time.Second + time.Duration(i)*130*time.Millisecond)
					n.wire.spoil(nil)
					c.pass(5 * time.Minute)
					c.wantLogged(0, "tick missed", "reason", "lost")
					c.wantLogged(0, "tick skipped", "reason", "overlap")
					if ran := len(c.ran("a")); ran != 7 {
						t.Errorf("%d runs", ran)
					}
				})
			})
		}
	}
}
