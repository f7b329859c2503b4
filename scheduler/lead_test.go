package scheduler_test

import (
	"context"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler"
)

// While answers take a few milliseconds, claims are sent earlier by that time. Runs begin at most
// the duration of a reply after their ticks, and never before. If the store is slow, claims are
// sent at most half of its tolerance early.
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
				late := max(way, 2*way-10*time.Millisecond) // the duration of a reply, or the part that the lead does not cover
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

// A node whose clock is slightly wrong, and which does not notice it, starts no run early, leaves
// no tick out and decides none early: a claim that cannot be granted before its tick is repeated.
// This is also the only cost if the clock is wrong by more than the lead leaves of the store's
// tolerance.
func TestLeadOfAWrongClock(t *testing.T) {
	for _, c := range []struct {
		ahead  time.Duration
		claims int // for 40 ticks, 10 of which find the previous run alive
	}{
		{-20 * time.Millisecond, 40}, {-9 * time.Millisecond, 50}, {0, 50}, {9 * time.Millisecond, 50}, {20 * time.Millisecond, 80},
	} {
		t.Run(c.ahead.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := cluster(t, 1, scheduler.Job{Name: "a", Spec: "@every 1s", Func: takes(0)},
					scheduler.Job{Name: "b", Spec: "@every 1s", Lease: 30 * time.Second, Func: takes(1500 * time.Millisecond)})
				w.nodes[0].wire.spoil(func(op string) fault {
					switch op {
					case "beat", "now":
						return fault{lost: lostRequest}
					case "claim":
						return fault{back: 40 * time.Millisecond}
					}
					return fault{}
				})
				w.step(-c.ahead)
				w.pass(3 * time.Second) // answers take long, so the lead is at its maximum
				first := w.now()
				if n := w.counted(func() { w.pass(20 * time.Second) }).claims; n != c.claims {
					t.Errorf("%d claims for 40 ticks, want %d", n, c.claims)
				}
				ran := 0
				for _, r := range w.ran("a") {
					if late := r.began.Add(-c.ahead).Sub(r.Tick); late < 0 || late > 100*time.Millisecond {
						t.Errorf("%v began %v after its tick", r.Tick, late)
					}
					if r.Tick.After(first) {
						ran++
					}
				}
				if ran != 20 {
					t.Errorf("%d of 20 ticks ran", ran)
				}
				w.nodes[0].wire.spoil(nil)
			})
		})
	}
}

// An uneven store has two servers. The one of job "b" is slow by 5 ms, so its early grants have to
// wait longer.
type uneven struct{ *memlock.Store }

func (s uneven) Claim(ctx context.Context, cs []series.Claim) []series.Answer {
	time.Sleep(4 * time.Millisecond)
	as := s.Store.Claim(ctx, cs)
	for i := range as {
		if cs[i].Key == "b" && as[i].Kind == series.KindGranted {
			as[i].Wait += 5 * time.Millisecond
		}
	}
	return as
}

// Runs that were granted together each wait for the time in their own grants.
func TestEachRunWaitsForItsTick(t *testing.T) {
	bubble(t, func(t *testing.T) {
		began := make(chan time.Duration, 64)
		note := func(least time.Duration) scheduler.Func {
			return func(_ context.Context, r *scheduler.Run) error {
				began <- time.Since(r.Tick) - least
				return nil
			}
		}
		n, err := scheduler.New(scheduler.Config{Name: "a", Store: uneven{new(memlock.Store)}, Spread: -1, Jobs: []scheduler.Job{
			{Name: "b", Spec: "@every 1s", Func: note(5 * time.Millisecond)}, {Name: "a", Spec: "@every 1s", Func: note(0)}}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithTimeout(t.Context(), 20*time.Second+500*time.Millisecond)
		defer stop()
		if err := n.Run(ctx); err != nil {
			t.Fatal(err)
		}
		close(began)
		if len(began) < 38 {
			t.Errorf("%d runs", len(began))
		}
		for late := range began {
			if late < 0 || late > 4*time.Millisecond { // the duration of a reply, until the node knows it
				t.Errorf("a run began %v after it should", late)
			}
		}
	})
}
