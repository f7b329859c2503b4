package scheduler_test

import (
	"testing"
	"time"

	"github.com/cronce/cronce/scheduler"
)

// While answers take a few milliseconds claims are sent that much earlier, and
// runs begin at most the way back after their ticks, and never before. A store that
// takes long is asked no earlier than half its tolerance allows.
func TestClaimsLead(t *testing.T) {
	for _, way := range []time.Duration{0, time.Millisecond, 2 * time.Millisecond, 40 * time.Millisecond} {
		t.Run(way.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := cluster(t, 3, scheduler.Job{Name: "a", Spec: "@every 1s", Func: takes(0)},
					scheduler.Job{Name: "b", Spec: "@every 1s", Func: takes(1500 * time.Millisecond)},
					scheduler.Job{Name: "c", Spec: "@every 1s", Jitter: 300 * time.Millisecond, Func: takes(0)})
				for _, n := range c.nodes {
					n.wire.spoil(func(op string) fault {
						if op == "claim" {
							return fault{there: way, back: way}
						}
						return fault{}
					})
				}
				c.pass(30 * time.Second)
				began := time.Now()
				c.pass(20 * time.Second)
				late := max(way, 2*way-10*time.Millisecond) // the way back, or what the lead does not cover
				for _, r := range c.ran("a") {
					if took := r.began.Sub(r.Tick); r.Tick.After(began) && (took < 0 || took > late+time.Millisecond) {
						t.Errorf("%v began %v after its tick, want at most %v", r.Tick, took, late)
					}
				}
				for _, name := range []string{"b", "c"} {
					for _, r := range c.ran(name) {
						if r.began.Before(r.Tick) {
							t.Errorf("%s: %v began %v early", name, r.Tick, r.Tick.Sub(r.began))
						}
					}
				}
				for _, n := range c.nodes {
					n.wire.spoil(nil)
				}
			})
		})
	}
}
