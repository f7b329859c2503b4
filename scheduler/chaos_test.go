package scheduler_test

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/cronce/cronce/scheduler"
)

// Twenty minutes of all possible faults: jobs with all policies and bad behaviour on one to five
// nodes, or nine to thirteen, that are killed, drained and replaced, on wires that lose, delay, break and hang. The
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

// A storm is chaos drawn from a seed. Each event has dice of its own: without an event the others stay as they are.
type storm struct {
	*world
	*dice
	seed    uint64
	strikes func()       // draws the next event
	lull    func()       // called before the calm
	without map[int]bool // events that do not happen
	events  int          // until now, with those that did not happen
	history *history
	spells  []spell
	slots   int  // of each node
	large   bool // more nodes than watch the ticks of others
}

// Dice draw numbers from a seed.
type dice struct {
	mu  sync.Mutex
	rnd *rand.Rand
}

func throw(seed, stream uint64) *dice { return &dice{rnd: rand.New(rand.NewPCG(seed, stream))} }

// n draws a number below most.
func (d *dice) n(most int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.rnd.IntN(most)
}

// long draws a time below most.
func (d *dice) long(most time.Duration) time.Duration {
	return time.Duration(d.n(int(most/time.Millisecond))) * time.Millisecond
}

// note adds a line to the history.
func (s *storm) note(format string, args ...any) {
	s.history.add(fmt.Sprintf("%s #%d ", time.Now().UTC().Format("15:04:05.000"), s.events) + fmt.Sprintf(format, args...))
}

func newStorm(t *testing.T, seed uint64) *storm {
	s := drawStorm(t, seed, inMemory)
	s.begin()
	return s
}

// drawStorm draws a storm that has not begun.
func drawStorm(t testing.TB, seed uint64, open func(*world) store) *storm {
	s := &storm{world: planOn(t, open), dice: throw(seed, 1), seed: seed, large: seed%7 == 6, history: &history{}}
	for i := range 6 {
		s.jobs = append(s.jobs, s.job(i))
	}
	s.slots = []int{-1, 2, 4}[s.n(3)]
	s.setup = func(_ int, cfg *scheduler.Config) { cfg.Concurrency = s.slots }
	s.slack = 5 * time.Minute
	s.strange = strangenessOf(seed)
	s.silent = seed%4 == 2 // logs hang
	s.strikes, s.lull = s.strike, func() {}
	return s
}

func strangenessOf(seed uint64) strangeness {
	switch seed % 5 {
	case 3:
		return clockStepped
	case 4:
		return storeForgot
	}
	return nothingStrange
}

// begin starts the first nodes.
func (s *storm) begin() {
	nodes := 1 + s.n(5)
	if s.large {
		nodes += 8
	}
	for range nodes {
		s.start()
	}
}

// rage lets the storm continue for d, followed by five minutes of calm.
func (s *storm) rage(d time.Duration) {
	for next, end := time.Now(), time.Now().Add(d); ; s.events++ {
		s.dice = throw(s.seed, 1000+uint64(s.events))
		next = next.Add(time.Millisecond + s.long(time.Minute))
		if next.After(end) {
			break
		}
		s.pass(time.Until(next)) // not at all, if the event before took longer
		if !s.without[s.events] {
			s.strikes()
		}
	}
	s.lull()
	for _, n := range s.alive() {
		s.calm(n)
	}
	s.pass(5*time.Minute + 500*time.Millisecond)
}

// calm ends all faults of a node.
func (s *storm) calm(n *node) {
	n.heal()
	n.wire.spoil(nil)
	s.recover(n)
}

// A spell is a time in which a node could reach the store.
type spell struct {
	window
	n *node
}

// fail ends the spells of nodes.
func (s *storm) fail(ns ...*node) {
	for _, n := range ns {
		if !n.well.IsZero() {
			s.spells = append(s.spells, spell{window{n.well, time.Now()}, n})
		}
		n.well = time.Time{}
	}
}

// recover begins a spell of each node whose wire has no fault.
func (s *storm) recover(ns ...*node) {
	for _, n := range ns {
		if n.well.IsZero() && n.wire.clear() {
			n.well = time.Now()
		}
	}
}

// strike causes one fault on one node, or on all.
func (s *storm) strike() {
	alive := s.alive()
	n := alive[s.n(len(alive))]
	switch s.n(19) {
	case 0:
		s.note("kill %s", n.ID())
		s.fail(n)
		n.kill()
		s.start()
	case 1:
		s.fail(n)
		s.drainIn(n)
		s.start()
	case 2:
		s.note("partition %s", n.ID())
		s.fail(n)
		n.partition()
	case 3:
		d := s.long(90 * time.Second)
		s.note("outage of %v", d)
		s.fail(alive...)
		s.outage(d)
		s.recover(alive...)
	case 4, 5, 6:
		s.note("calm %s", n.ID())
		s.calm(n)
	case 13, 18:
		s.fail(alive...)
		s.shake()
		s.recover(alive...)
	case 14:
		s.suspend(n)
	case 15:
		s.hang(n)
	case 16:
		s.slow(alive)
	case 17:
		s.fail(alive...)
		s.fill()
		s.recover(alive...)
	default:
		s.fail(n)
		n.wire.spoil(s.weather(n.ID()))
	}
}

// drainIn drains a node: at once, while replies to it are slow, or on a wire whose faults end soon after.
func (s *storm) drainIn(n *node) {
	switch s.n(3) {
	case 0:
		most := 100*time.Millisecond + s.long(4*time.Second)
		s.note("drain %s, replies take up to %v", n.ID(), most)
		d := throw(s.seed, uint64(7_000_000+s.events))
		n.wire.spoil(func(string) fault { return fault{back: d.long(most)} })
		s.pass(s.long(30 * time.Second))
		n.stop()
	case 1:
		s.note("drain %s, and calm it", n.ID())
		n.stop()
		s.pass(s.long(3 * time.Second))
		n.heal()
		n.wire.spoil(nil)
	default:
		s.note("drain %s", n.ID())
		n.stop()
	}
}

// suspend makes a machine stand still. The requests that its process was about to send arrive when the machine goes on.
func (s *storm) suspend(n *node) {
	s.fail(n)
	until := time.Now().Add(s.long(3 * time.Minute))
	s.note("suspend %s until %s", n.ID(), until.UTC().Format("15:04:05.000"))
	if s.silent { // a line that waits may be lost
		n.hang(until)
	}
	n.wire.spoil(func(string) fault {
		if left := time.Until(until); left > 0 {
			return fault{there: left, deaf: true}
		}
		return fault{}
	})
}

// hang makes the logger and an observer of a node hang, if the seed says so.
func (s *storm) hang(n *node) {
	if !s.silent {
		return
	}
	until := time.Now().Add(s.long(3 * time.Minute))
	s.note("hang the log of %s until %s", n.ID(), until.UTC().Format("15:04:05.000"))
	n.hang(until)
}

// slow makes the store answer all nodes slowly, until they are calmed.
func (s *storm) slow(all []*node) {
	most := 100*time.Millisecond + s.long(4*time.Second)
	s.note("slow down the store: up to %v to it and from it", most)
	s.fail(all...)
	for i, n := range all {
		d := throw(s.seed, uint64(1_000_000+1000*s.events+i))
		n.wire.spoil(func(string) fault { return fault{there: d.long(most), back: d.long(most)} })
	}
}

// fill lets the store refuse for a while whatever takes more memory.
func (s *storm) fill() {
	d := s.long(90 * time.Second)
	s.note("no memory for %v", d)
	s.full.Store(true)
	s.pass(d)
	s.full.Store(false)
}

// shake makes the store's clock step, or makes the store lose all data, if the seed says so.
func (s *storm) shake() {
	switch s.strange {
	case clockStepped:
		d := time.Duration(s.n(240)-120) * time.Second
		s.note("clock of the store by %v", d)
		s.step(d)
	case storeForgot:
		s.forget()
	}
}

// forget makes the store lose all data, its latest writes, or a few keys: only Redis can do the latter two.
func (s *storm) forget() {
	redis, can := s.store.(redisStore)
	if !can {
		s.note("the store forgets")
		s.store.Forget()
		return
	}
	switch s.n(3) {
	case 0:
		s.note("the store forgets")
		redis.Forget()
	case 1:
		for range 1 + s.n(3) {
			s.note("the store evicts %s", redis.evict(s.n))
		}
	default:
		restore, w, d := redis.copied(), window{from: time.Now()}, s.long(20*time.Second)
		s.pass(d)
		s.note("the store forgets %v", d)
		restore()
		w.to = time.Now()
		s.lost = append(s.lost, w)
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

// weather returns the fate of a node's requests from now on: one kind of fault with some probability, for all requests or for one
// kind of them. A link is half open if all are lost, or all replies.
func (s *storm) weather(node string) func(string) fault {
	d := throw(s.seed, uint64(2_000_000+s.events))
	kinds := faults(d)
	kind, one, only := kinds[s.n(len(kinds))], 1+s.n(5), ""
	if s.n(3) == 0 {
		only = []string{"open", "claim", "peek", "renew", "release", "beat", "now", "leave"}[s.n(8)]
	}
	s.note("weather of %s: one of %d %s requests as %+v", node, one, cmp.Or(only, "of all"), kind())
	return func(op string) fault {
		if (only == "" || op == only) && d.n(one) == 0 {
			return kind()
		}
		return fault{}
	}
}

// faults are the kinds of faults of a wire.
func faults(d *dice) []func() fault {
	return []func() fault{
		func() fault { return fault{lost: lostReply} },
		func() fault { return fault{lost: lostReply, reset: true} },
		func() fault { return fault{lost: lostRequest} },
		func() fault { return fault{lost: lostRequest, reset: true} },
		func() fault { return fault{there: d.long(4 * time.Second), lost: lostReply, broken: true} },
		func() fault { return fault{there: d.long(3 * time.Second), back: d.long(3 * time.Second)} },
		func() fault { return fault{there: d.long(50 * time.Millisecond), back: d.long(50 * time.Millisecond)} },
		func() fault { return fault{there: d.long(20 * time.Second), deaf: true} },
		func() fault { return fault{back: d.long(20 * time.Second), deaf: true} },
		func() fault { return fault{edge: true, there: d.long(3*time.Millisecond) - time.Millisecond} },
		func() fault {
			return fault{edge: true, there: d.long(3*time.Millisecond) - time.Millisecond, lost: lostReply, broken: true}
		},
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
	most := time.Duration(1+s.n(period*3/2)) * time.Millisecond
	return func(ctx context.Context, r *scheduler.Run) error {
		h := fnv.New64a()
		_, _ = fmt.Fprint(h, r.ID, r.Attempt, time.Now().UnixMilli())
		own := throw(s.seed, h.Sum64())
		d := time.Millisecond + own.long(most)
		switch own.n(10) {
		case 0:
			return badDay(own)
		case 1:
			panic("a very bad day")
		case 2, 4:
			return ignores(d)(ctx, r)
		case 3:
			return nothing(ctx, r)
		}
		return takes(d)(ctx, r)
	}
}
