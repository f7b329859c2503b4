package scheduler_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/cronce/cronce/scheduler"
)

// fleet starts n nodes that have jobs each second, and waits until they know each other.
func fleet(t *testing.T, n, jobs int) *world {
	var all []scheduler.Job
	for i := range jobs {
		all = append(all, scheduler.Job{Name: fmt.Sprintf("job%d", i), Spec: "@every 1s", Func: takes(0)})
	}
	c := cluster(t, n, all...)
	c.pass(30 * time.Second)
	return c
}

// watchers returns the nodes that have peeked at the ticks during f. Another node may peek at the run of a job that it has just opened.
func (c *world) watchers(f func()) (all []*node) {
	peeks, most := map[*node]int64{}, int64(0)
	for _, n := range c.nodes {
		peeks[n] -= n.peeks.Load()
	}
	f()
	for _, n := range c.nodes {
		peeks[n] += n.peeks.Load()
		most = max(most, peeks[n])
	}
	for _, n := range c.nodes {
		if peeks[n] > most/3 {
			all = append(all, n)
		}
	}
	return all
}

// slowest returns how long after its tick the latest first attempt began, of the ticks of all jobs from an
// instant on, and how many there were.
func (c *world) slowest(from time.Time) (late time.Duration, n int) {
	for _, r := range c.ranAny() {
		if r.Attempt == 1 && !r.Tick.Before(from) {
			late, n = max(late, r.began.Sub(r.Tick)), n+1
		}
	}
	return late, n
}

// In a fleet of 30 nodes, four watch: each of them peeks at the ticks of other nodes, and each of the
// other 26 asks once for all ticks of a second, however many jobs there are. A node that opens a job may peek at its run.
func TestFewNodesPeekInALargeFleet(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := fleet(t, 30, 10)
		var sent count
		watchers := c.watchers(func() { sent = c.counted(func() { c.pass(20 * time.Second) }) })
		if len(watchers) != 4 || sent.peeks > 4*10*20+sent.opens || sent.asks < 26*19 || sent.asks > 26*21 || sent.claims < 10*20 || sent.claims > 10*20+20 {
			t.Errorf("in 20 ticks of 10 jobs %d of 30 nodes peeked, and all sent %+v; want 4, at most 800 peeks and one for each open, about 520 asks and about 200 claims", len(watchers), sent)
		}
	})
}

// A node that was notified that a group is decided does not ask, and all ticks run. Without notices it asks again.
func TestNoticesInALargeFleet(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := fleet(t, 30, 10)
		c.notifies.Store(true)
		c.pass(time.Second)
		began := time.Now()
		sent := c.counted(func() { c.pass(20 * time.Second) })
		if late, n := c.slowest(began); sent.asks != 0 || n < 190 || late > time.Second {
			t.Errorf("%d asks, %d ticks, up to %v late", sent.asks, n, late)
		}
		c.notifies.Store(false)
		if sent := c.counted(func() { c.pass(20 * time.Second) }); sent.asks < 22*19 {
			t.Errorf("%d asks without notices", sent.asks)
		}
	})
}

// Jobs that are due at one instant are claimed in at most as many calls as there are bundles, by most of the nodes
// in turn.
func TestClaimsAreBundledInALargeFleet(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := fleet(t, 40, 100)
		began := time.Now()
		sent := c.counted(func() { c.pass(20 * time.Second) })
		ran := map[*node]bool{}
		for _, r := range c.ranAny() {
			if r.began.After(began) {
				ran[r.node] = true
			}
		}
		if sent.claims != 100*20 || sent.calls > 16*20+20 || len(ran) < 36 {
			t.Errorf("in 20 ticks of 100 jobs 40 nodes sent %+v, and %d of them ran some; want 2000 claims in at most 340 calls, and at least 36", sent, len(ran))
		}
	})
}

// If all watchers die, freeze, or do not reach the store for claims and peeks, the other nodes decide each tick
// within a second.
func TestTicksWithoutWatchers(t *testing.T) {
	unreached := func(op string) fault {
		if op == "claim" || op == "peek" {
			return fault{lost: lostRequest}
		}
		return fault{}
	}
	for name, fail := range map[string]func(n *node){
		"dead":      (*node).kill,
		"cut off":   (*node).partition,
		"half deaf": func(n *node) { n.wire.spoil(unreached) },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := fleet(t, 30, 5)
				watchers := c.watchers(func() { c.pass(10 * time.Second) })
				for _, n := range watchers {
					fail(n)
				}
				began := time.Now()
				c.pass(20 * time.Second) // the list of nodes still has them
				late, n := c.slowest(began)
				if n < 5*19 || late > time.Second {
					t.Errorf("without the %d watchers %d ticks ran, the latest after %v; want at least 95, within a second", len(watchers), n, late)
				}
				t.Logf("the latest of %d ticks began after %v", n, late)
				for _, w := range watchers {
					if name == "cut off" {
						w.heal()
					}
					w.wire.spoil(nil)
				}
			})
		})
	}
}

// If all nodes of a large fleet but three die at once, those three decide each tick within a second, although the list
// of nodes still has all the others.
func TestFewSurvivorsOfALargeFleet(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := fleet(t, 300, 3)
		for _, n := range c.nodes[3:] {
			n.kill()
		}
		began := time.Now()
		c.pass(20 * time.Second)
		if late, n := c.slowest(began); n < 3*19 || late > time.Second {
			t.Errorf("%d ticks ran, the latest after %v; want at least 57, within a second", n, late)
		}
	})
}

// The halves of a large fleet differ in one job each, as in a rolling deployment. The watchers of one half die:
// a group that the others keep is not one of the ticks of this half, which are decided within a second.
func TestGroupsOfDifferentJobs(t *testing.T) {
	bubble(t, func(t *testing.T) {
		jobs := map[string]scheduler.Job{}
		for _, name := range []string{"a", "b", "c"} {
			jobs[name] = scheduler.Job{Name: name, Spec: "@every 1s", Func: takes(0)}
		}
		c := plan(t, jobs["a"], jobs["b"], jobs["c"])
		half := map[*node]bool{}
		for i := range 24 {
			half[c.startWith(jobs["a"], jobs[[]string{"b", "c"}[i%2]])] = i%2 == 1
		}
		c.pass(30500 * time.Millisecond)
		dead := 0
		for _, n := range c.watchers(func() { c.pass(5 * time.Second) }) {
			if half[n] {
				n.kill()
				dead++
			}
		}
		if dead == 0 || dead == 12 {
			t.Fatalf("%d of 12 nodes with a job watched", dead)
		}
		began := time.Now()
		c.pass(20 * time.Second)
		if late, n := c.slowest(began); n < 3*19 || late > time.Second {
			t.Errorf("%d ticks ran, the latest after %v; want at least 57, within a second", n, late)
		}
	})
}

// A run whose node dies is taken over in time in a large fleet, also if the nodes have watched earlier ticks of its job.
func TestTakeoverInALargeFleet(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := cluster(t, 30, scheduler.Job{Name: "a", Spec: "@every 10s", Takeover: scheduler.TakeoverRerun, Lease: 3 * time.Second, Func: takes(3 * time.Second)})
		c.pass(31 * time.Second)
		for range 5 {
			n := c.holder("a")
			n.kill()
			died := time.Now()
			c.pass(4100 * time.Millisecond)
			if r := c.running("a"); r == nil || r.Attempt != 2 || r.began.Sub(died) > 4*time.Second {
				t.Fatalf("4.1s after its node died, %+v runs; want attempt 2 within the lease and a second", r)
			}
			c.pass(10*time.Second - 4100*time.Millisecond)
		}
	})
}

// Once the store answers again, each node of a large fleet is ready within seconds, also one that then only asks for groups, or only
// is notified of them.
func TestFleetIsReadyAgain(t *testing.T) {
	for name, notifies := range map[string]bool{"asks": false, "is notified": true} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := fleet(t, 30, 1)
				for _, n := range c.nodes {
					n.wire.spoil(func(op string) fault {
						if op == "peek" {
							return fault{lost: lostRequest}
						}
						return fault{}
					})
				}
				c.pass(10 * time.Second)
				c.notifies.Store(notifies)
				for _, n := range c.nodes {
					n.wire.spoil(nil)
				}
				c.pass(8 * time.Second)
				for _, n := range c.nodes {
					if err := n.Ready(); err != nil {
						t.Fatal(err)
					}
				}
			})
		})
	}
}

// The only survivor of a large fleet decides each tick within a second, whenever it learns between two ticks that the
// others are gone, and so watches ticks that it has left to them.
func TestLastSurvivorOfALargeFleet(t *testing.T) {
	for phase := range 10 {
		t.Run(fmt.Sprint(phase), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := plan(t, scheduler.Job{Name: "a", Spec: "@every 1s", Func: takes(0)})
				c.pass(time.Duration(phase) * 100 * time.Millisecond) // it beats that long after a tick
				for range 60 {
					c.start()
				}
				c.pass(30 * time.Second)
				c.pass(time.Until(time.Now().Truncate(time.Second).Add(1500 * time.Millisecond)))
				for _, n := range c.nodes[1:] {
					n.kill()
				}
				began := time.Now()
				c.pass(40 * time.Second)
				if late, n := c.slowest(began); n != 40 || late > time.Second {
					t.Errorf("%d ticks ran, the latest after %v; want 40, within a second", n, late)
				}
			})
		})
	}
}

// A long jitter may bring the next tick of a job before its group is asked about. Few survivors of a large fleet decide
// such ticks too before the next one passes over them.
func TestJitterWithoutWatchers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var jobs []scheduler.Job
		for i := range 5 {
			jobs = append(jobs, scheduler.Job{Name: fmt.Sprintf("job%d", i), Spec: "@every 1s", Jitter: 900 * time.Millisecond, Func: takes(0)})
		}
		c := cluster(t, 100, jobs...)
		c.pass(30 * time.Second)
		nodes := slices.SortedFunc(slices.Values(c.nodes), func(a, b *node) int { return cmp.Compare(a.peeks.Load(), b.peeks.Load()) })
		for _, n := range nodes[3:] { // the watchers have peeked at more ticks than the others
			n.kill()
		}
		began := time.Now()
		c.pass(20 * time.Second)
		if late, n := c.slowest(began); n < 5*19 {
			t.Errorf("%d ticks ran, the latest after %v; want at least 95", n, late)
		}
	})
}

// A node that becomes a watcher learns of the runs that those before it watched. If all of them have stopped, and then
// all other nodes die, their runs are taken over in time, however many jobs the slow turns have to read.
func TestWatchersThatStopHandOver(t *testing.T) {
	bubble(t, func(t *testing.T) {
		jobs := []scheduler.Job{{Name: "b", Spec: "@every 1s", Func: takes(0)}}
		for i := range 2000 {
			jobs = append(jobs, scheduler.Job{Name: fmt.Sprintf("rare%d", i), Spec: "0 0 12 * * *", Func: takes(0)})
			if i%100 == 0 {
				jobs = append(jobs, scheduler.Job{Name: fmt.Sprintf("long%d", i), Spec: "0 1 * * * *", Takeover: scheduler.TakeoverRerun, Lease: 3 * time.Second, Func: takes(50 * time.Minute)})
			}
		}
		c := cluster(t, 30, jobs...)
		c.pass(30 * time.Second)
		watchers := c.watchers(func() { c.pass(10 * time.Second) })
		c.pass(25 * time.Second)
		for _, n := range watchers {
			n.stop() // its runs go on for the grace
		}
		c.pass(11 * time.Second) // each other node has beaten
		alive := map[*node]bool{}
		for _, n := range c.watchers(func() { c.pass(2 * time.Second) }) {
			alive[n] = true
		}
		for _, n := range c.nodes {
			if !alive[n] {
				n.kill()
			}
		}
		c.pass(4100 * time.Millisecond)
		for i := 0; i < 2000; i += 100 {
			if name := fmt.Sprintf("long%d", i); c.running(name) == nil {
				t.Errorf("4.1s after its node died, no attempt of %s runs; want one within the lease and a second", name)
			}
		}
	})
}

// lone returns 2,000 jobs that are rare, one that is due each second, and n that run for most of an hour from the second 73 on. Of nodes that
// start together, some have a turn at the second 72, and the next ones at 82.
func lone(n int) []scheduler.Job {
	jobs := []scheduler.Job{{Name: "b", Spec: "@every 1s", Func: takes(0)}}
	for i := range 2000 {
		jobs = append(jobs, scheduler.Job{Name: fmt.Sprintf("rare%d", i), Spec: "0 0 12 * * *", Func: takes(0)})
	}
	for i := range n {
		jobs = append(jobs, scheduler.Job{Name: fmt.Sprintf("long%d", i), Spec: "13 1 * * * *", Takeover: scheduler.TakeoverRerun, Lease: 3 * time.Second, Func: takes(50 * time.Minute)})
	}
	return jobs
}

// outlives kills the watchers and the node with the run of long0. Another node has to take the run over.
func (c *world) outlives(watchers []*node) {
	c.t.Helper()
	for _, n := range append(watchers, c.holder("long0")) {
		if n.killed.IsZero() {
			n.kill()
		}
	}
	c.pass(5 * time.Second)
	if r := c.running("long0"); r == nil || r.Attempt != 2 {
		c.t.Errorf("5s after its node died, %+v runs; want attempt 2 within the lease and two seconds", r)
	}
}

// A node dies with all nodes that watch its run. Others notice that no node watches, and take the run over when its lease has ended: also
// if in each second many ticks are due, some of them on dead nodes.
func TestTakeoverWithoutWatchers(t *testing.T) {
	for _, more := range []int{0, 23} {
		t.Run(fmt.Sprintf("%d jobs more", more), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				jobs := lone(1)
				for i := range more {
					jobs = append(jobs, scheduler.Job{Name: fmt.Sprintf("more%d", i), Spec: "@every 1s", Func: takes(0)})
				}
				c := cluster(t, 40, jobs...)
				c.slack = 5 * time.Second
				c.pass(30 * time.Second)
				watchers := c.watchers(func() { c.pass(10 * time.Second) })
				c.pass(34 * time.Second)
				c.outlives(watchers)
			})
		})
	}
}

// The partition of the run has no tick when the node dies with all watchers of all partitions. Others notice that from the ticks of another
// partition, and take the run over when its lease has ended.
func TestTakeoverInAQuietPartition(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := plan(t, lone(1)...)
		c.partitions, c.slack = 8, 5*time.Second
		w := &wire{n: &node{c: c}}
		brief := 0
		for w.Partition(fmt.Sprint("brief", brief)) != w.Partition("long0") {
			brief++
		}
		c.jobs = append(c.jobs, scheduler.Job{Name: fmt.Sprint("brief", brief), Spec: "* 0 * * * *", Func: nothing}) // it shows the watchers
		if w.Partition("long0") == w.Partition("b") {
			t.Fatal("the partition of the run has ticks")
		}
		for range 40 {
			c.start()
		}
		c.pass(30*time.Second + 500*time.Millisecond)
		watchers := c.watchers(func() { c.pass(10 * time.Second) })
		c.pass(34 * time.Second)
		c.outlives(watchers)
	})
}

// A job that can never be decided has a tick each ten seconds, for which nodes stand in for watchers that live. A run that begins after
// that, and whose node dies with the watchers in the same period, is taken over in time all the same.
func TestTakeoverBehindAnUndecidedTick(t *testing.T) {
	bubble(t, func(t *testing.T) {
		jobs := []scheduler.Job{{Name: "steady", Spec: "@every 1s", Func: nothing}, {Name: "bad", Spec: "*/10 * * * * *", Func: nothing},
			{Name: "long0", Spec: "22 1 * * * *", Takeover: scheduler.TakeoverRerun, Lease: 3 * time.Second, Func: takes(50 * time.Minute)}}
		for i := range 2000 { // so that few of the turns read the run
			jobs = append(jobs, scheduler.Job{Name: fmt.Sprintf("rare%d", i), Spec: "0 0 12 * * *", Func: nothing})
		}
		c := cluster(t, 40, jobs...)
		c.slack = 5 * time.Minute
		c.pass(30 * time.Second)
		watchers := c.watchers(func() { c.pass(10 * time.Second) })
		for _, n := range c.nodes {
			n.wire.spoilKeys("bad")
		}
		c.pass(43 * time.Second)
		c.outlives(watchers)
		for _, n := range c.nodes {
			n.wire.spoilKeys()
		}
		c.pass(20 * time.Second)
	})
}

// All nodes that watch a run have no free slot when its node dies. A node that has one takes the run over.
func TestTakeoverByAFreeNode(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := plan(t, lone(1)...)
		c.setup = func(_ int, cfg *scheduler.Config) { cfg.Concurrency = 1 }
		for range 30 {
			c.start()
		}
		c.pass(30 * time.Second)
		for i, n := range c.watchers(func() { c.pass(10 * time.Second) }) {
			own := scheduler.Job{Name: fmt.Sprintf("own%d", i), Spec: "50 0 * * * *", Func: takes(50 * time.Minute)}
			c.jobs = append(c.jobs, own)
			if err := n.change(append(slices.Clone(n.holds(time.Now())), own)); err != nil {
				t.Fatal(err)
			}
		}
		c.pass(34 * time.Second)
		c.holder("long0").kill()
		c.pass(7900 * time.Millisecond) // others stand in for the watchers from the second 80 on, and have a turn at 82
		if r := c.running("long0"); r == nil || r.Attempt != 2 {
			t.Errorf("7.9s after its node died, %+v runs; want attempt 2", r)
		}
	})
}

// While a store answers so slowly that no watcher keeps a group in time, few nodes read all jobs, however large the fleet is.
func TestFewNodesLearnFromASlowStore(t *testing.T) {
	for _, nodes := range []int{30, 60} {
		t.Run(fmt.Sprint(nodes), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c := plan(t, lone(0)...)
				for range nodes {
					c.start()
				}
				c.pass(125 * time.Second)
				for _, n := range c.nodes {
					n.wire.spoil(func(string) fault { return fault{there: 100 * time.Millisecond, back: 100 * time.Millisecond} })
				}
				c.pass(15 * time.Second)
				if sent := c.counted(func() { c.pass(time.Minute) }); sent.opens > 7*4*2001+7*10*200*2 {
					t.Errorf("the nodes opened jobs %d times in a minute; want about four times all 2,001 in ten seconds, beside the slow turns", sent.opens)
				}
				for _, n := range c.nodes {
					n.wire.spoil(nil)
				}
			})
		})
	}
}
