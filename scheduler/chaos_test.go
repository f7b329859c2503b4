package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/cronce/cronce/scheduler"
)

// Twenty minutes of all possible faults: jobs with all policies and bad behaviour on three to five
// nodes, or eleven to thirteen, that are killed, drained and replaced, on wires that lose, delay, break and hang. The
// promise is checked at the end. The seed of a failure is in the test's name.
func TestStorms(t *testing.T) {
	seeds := storms
	if os.Getenv("CRONCE_SOAK") != "" {
		seeds = 1000
	}
	for seed := range seeds {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			bubble(t, func(t *testing.T) { newStorm(t, seed).rage(20 * time.Minute) })
		})
	}
}

// A storm is chaos drawn from a seed.
type storm struct {
	*world
	mu      sync.Mutex
	rnd     *rand.Rand
	strikes func() // draws the next event
	large   bool   // more nodes than watch the ticks of others
}

func newStorm(t *testing.T, seed uint64) *storm {
	s := drawStorm(t, seed, inMemory)
	s.begin()
	return s
}

// drawStorm draws a storm that has not begun.
func drawStorm(t *testing.T, seed uint64, open func(*world) store) *storm {
	s := &storm{world: planOn(t, open), rnd: rand.New(rand.NewPCG(seed, 1)), large: seed%7 == 6}
	for i := range 6 {
		s.jobs = append(s.jobs, s.job(i))
	}
	slots := []int{-1, 2, 4}[s.n(3)]
	s.setup = func(_ int, cfg *scheduler.Config) { cfg.Concurrency = slots }
	s.slack = 5 * time.Minute
	switch seed % 5 {
	case 3:
		s.strange = clockStepped
	case 4:
		s.strange = storeForgot
	}
	s.strikes = s.strike
	return s
}

// begin starts the first nodes.
func (s *storm) begin() {
	nodes := 3 + s.n(3)
	if s.large {
		nodes += 8
	}
	for range nodes {
		s.start()
	}
}

// rage lets the storm continue for d, followed by five minutes of calm.
func (s *storm) rage(d time.Duration) {
	for until := time.Now().Add(d); time.Now().Before(until); {
		s.pass(time.Duration(1+s.n(60_000)) * time.Millisecond)
		s.strikes()
	}
	for _, n := range s.alive() {
		n.heal()
		n.wire.spoil(nil)
	}
	s.pass(5*time.Minute + 500*time.Millisecond)
}

// strike causes one fault on one node, or on all.
func (s *storm) strike() {
	alive := s.alive()
	n := alive[s.n(len(alive))]
	switch s.n(14) {
	case 13:
		s.shake()
	case 0:
		n.kill()
		s.start()
	case 1:
		n.stop()
		s.start()
	case 2:
		n.partition()
	case 3:
		s.outage(time.Duration(s.n(90)) * time.Second)
	case 4, 5, 6:
		n.heal()
		n.wire.spoil(nil)
	default:
		n.wire.spoil(s.weather())
	}
}

// shake makes the store's clock step, or makes the store lose all data, if the seed says so.
func (s *storm) shake() {
	switch s.strange {
	case clockStepped:
		s.step(time.Duration(s.n(240)-120) * time.Second)
	case storeForgot:
		s.store.Forget()
	}
}

// alive returns the nodes that were not killed or stopped.
func (s *storm) alive() (ns []*node) {
	for _, n := range s.nodes {
		select {
		case <-n.stopping:
		default:
			ns = append(ns, n)
		}
	}
	return ns
}

// weather returns the fate of requests from now on: one kind of fault with some probability.
func (s *storm) weather() func(string) fault {
	long := func(most int) time.Duration { return time.Duration(s.n(most)) * time.Millisecond }
	kinds := []func() fault{
		func() fault { return fault{lost: lostReply} },
		func() fault { return fault{lost: lostReply, reset: true} },
		func() fault { return fault{lost: lostRequest} },
		func() fault { return fault{lost: lostRequest, reset: true} },
		func() fault { return fault{there: long(4000), lost: lostReply, broken: true} },
		func() fault { return fault{there: long(3000), back: long(3000)} },
		func() fault { return fault{there: long(50), back: long(50)} },
		func() fault { return fault{there: long(20_000), deaf: true} },
		func() fault { return fault{back: long(20_000), deaf: true} },
	}
	kind, one := kinds[s.n(len(kinds))], 1+s.n(5)
	return func(string) fault {
		if s.n(one) == 0 {
			return kind()
		}
		return fault{}
	}
}

// job draws a job's policies and behaviour.
func (s *storm) job(i int) scheduler.Job {
	period := time.Duration(5+s.n(115)) * time.Second
	j := scheduler.Job{
		Name: fmt.Sprint("job", i), Spec: fmt.Sprintf("@every %ds", int(period.Seconds())),
		Overlap: scheduler.Overlap(s.n(4)), Misfire: scheduler.Misfire(s.n(3)), Takeover: scheduler.Takeover(s.n(2)),
		Interrupted: scheduler.Interrupted(s.n(2)), Lease: time.Duration(500+s.n(20_000)) * time.Millisecond,
	}
	if j.Misfire == scheduler.MisfireAll {
		j.Overlap &= scheduler.OverlapAllow // neither queue nor replace
	}
	if s.n(3) == 0 {
		j.Jitter = period / 2
	}
	if s.n(3) == 0 {
		j.Timeout = period / 2
	}
	if s.n(3) == 0 {
		j.Retry = scheduler.Retry{Tries: 2}
	}
	j.Func = s.work(int(period.Milliseconds()))
	return j
}

// work is a function that takes up to one and a half periods and may fail, panic or ignore its
// context.
func (s *storm) work(period int) scheduler.Func {
	most := 1 + s.n(period*3/2)
	return func(ctx context.Context, r *scheduler.Run) error {
		d := time.Duration(1+s.n(most)) * time.Millisecond
		switch s.n(10) {
		case 0:
			return errors.New("a bad day")
		case 1:
			panic("a very bad day")
		case 2:
			return ignores(d)(ctx, r)
		case 3:
			return nothing(ctx, r)
		}
		return takes(d)(ctx, r)
	}
}

// n draws a number below most.
func (s *storm) n(most int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rnd.IntN(most)
}
