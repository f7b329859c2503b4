package scheduler_test

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cronce/cronce/scheduler"
)

// Requests and replies suffer various faults on their way. Each tick still runs once, and none
// inside its deadline is missed.
func TestLossyWires(t *testing.T) {
	for name, spoil := range map[string]func(seed uint64) func(string) fault{
		"every third reply lost":        nth(3, fault{lost: lostReply}),
		"every second reply cut off":    nth(2, fault{lost: lostReply, reset: true}),
		"every third request lost":      nth(3, fault{lost: lostRequest}),
		"every second request refused":  nth(2, fault{lost: lostRequest, reset: true}),
		"every third request late":      nth(3, fault{there: 1900 * time.Millisecond}),
		"every third request too late":  nth(3, fault{there: 2500 * time.Millisecond}),
		"every third reply late":        nth(3, fault{back: 1900 * time.Millisecond}),
		"every third reply too late":    nth(3, fault{back: 2500 * time.Millisecond}),
		"every fifth call hangs":        nth(5, fault{there: 9 * time.Second, deaf: true}),
		"every fifth call hangs after":  nth(5, fault{back: 9 * time.Second, deaf: true}),
		"replies take up to one second": upTo(time.Second),
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := plan(t,
					scheduler.Job{Name: "short", Spec: "@every 15s", Func: nothing},
					scheduler.Job{Name: "long", Spec: "@every 1m", Func: takes(40 * time.Second)},
					scheduler.Job{Name: "queue", Spec: "@every 1m", Overlap: scheduler.OverlapQueue, Takeover: scheduler.TakeoverRerun, Func: takes(10 * time.Second)})
				for i := range 3 {
					n := c.create(c.jobs...)
					n.wire.spoil(spoil(uint64(i)))
					n.run()
				}
				c.pass(40 * time.Second) // nodes start slowly because of lost requests
				opened := map[string]int{}
				for _, j := range c.jobs {
					opened[j.Name] = len(c.ran(j.Name))
				}
				c.pass(30 * time.Minute)
				for _, j := range c.jobs {
					want := int(30 * time.Minute / c.account(j.Name).spec.Every())
					if got := len(c.ran(j.Name)) - opened[j.Name]; got != want {
						t.Errorf("%d runs of %s, want %d: %s", got, j.Name, want, c.tally(j.Name))
					}
				}
				c.wantLogged(0, "tick missed")
				c.wantLogged(0, "lease lost")
				for _, n := range c.nodes {
					n.wire.spoil(nil)
				}
				c.pass(5 * time.Second)
			})
		})
	}
}

// everyNth spoils every n-th request of each operation. A claim that is repeated is not spoiled again,
// as it would be now and then if all operations were counted together: its lease would be lost.
func everyNth(n int, f fault) func(string) fault {
	var mu sync.Mutex
	counts := map[string]int{}
	return func(op string) fault {
		mu.Lock()
		defer mu.Unlock()
		if counts[op]++; counts[op]%n == 0 {
			return f
		}
		return fault{}
	}
}

func nth(n int, f fault) func(uint64) func(string) fault {
	return func(uint64) func(string) fault { return everyNth(n, f) }
}

// upTo delays every reply by a random time.
func upTo(d time.Duration) func(uint64) func(string) fault {
	return func(seed uint64) func(string) fault {
		rnd := rand.New(rand.NewPCG(seed, 0))
		return func(string) fault { return fault{back: time.Duration(rnd.Int64N(int64(d)))} }
	}
}

// The store is down for ten seconds and comes back. Each node logs both once, nothing runs without
// a claim, and the ticks that became due meanwhile run when the store is back.
func TestStoreDown(t *testing.T) {
	for name, f := range map[string]fault{"silent": {lost: lostRequest}, "refusing": {lost: lostRequest, reset: true}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := cluster(t, 3, scheduler.Job{Name: "a", Spec: "@every 1m", Func: takes(20 * time.Second)})
				c.pass(4*time.Minute + 57*time.Second)
				for _, n := range c.nodes {
					n.wire.spoil(func(string) fault { return f })
				}
				c.pass(10 * time.Second)
				if r := c.running("a"); r != nil {
					t.Errorf("%v began at %v without the store", r.Tick, r.began)
				}
				for _, n := range c.nodes {
					if n.Ready() == nil {
						t.Error("a node is ready without the store")
					}
					n.wire.spoil(nil)
				}
				c.pass(4*time.Minute + 45*time.Second)
				c.wantTally("a", "ran ok 9")
				for _, n := range c.nodes {
					if un, back := len(n.logged("store unreachable")), len(n.logged("store back")); un != 1 || back != 1 {
						t.Errorf("%d times unreachable, %d times back, want both once", un, back)
					}
				}
			})
		})
	}
}

// A long outage does not pile up requests: requests that no longer matter are given up.
func TestLongOutage(t *testing.T) {
	for name, f := range map[string]fault{"silent": {lost: lostRequest}, "refusing": {lost: lostRequest, reset: true}} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := cluster(t, 1, scheduler.Job{Name: "a", Spec: "@every 1s", Lease: 3 * time.Second, Func: nothing})
				n, requests := c.nodes[0], new(atomic.Int64)
				n.wire.spoil(func(op string) fault {
					requests.Add(1)
					return f
				})
				c.pass(time.Hour)
				requests.Store(0)
				c.pass(time.Minute)
				if got := requests.Load(); got > 400 {
					t.Errorf("%d requests in a minute after an hour's outage, want a few for each tick", got)
				}
				if pending := n.Pending(); pending > 20 {
					t.Errorf("%d asks are pending", pending)
				}
				n.wire.spoil(nil)
				c.pass(time.Minute)
				if late := c.ran("a")[len(c.ran("a"))-1]; time.Since(late.Tick) > 2*time.Second {
					t.Errorf("the latest tick that ran is %v, a minute after the outage", late.Tick)
				}
			})
		})
	}
}
