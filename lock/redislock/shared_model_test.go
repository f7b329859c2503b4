package redislock_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/redislock"
)

// An asker is one owner, which holds the lock, waits, or does neither.
type asker struct {
	owner string
	limit int
	ttl   time.Duration
	fence int64         // 0: it does not hold the lock
	kept  bool          // the lock, or a place, is kept for it
	until time.Duration // if it holds the lock or that is kept for it
}

// A line is the model of one lock and its queue: the rule, written as plainly as possible.
type line struct {
	now     time.Duration
	holders []*asker
	queue   []*asker
	head    *asker        // the first of the queue, when it kept others waiting
	seen    time.Duration // the last sign of life of that
}

func (l *line) pass(d time.Duration) {
	l.now += d
	for _, a := range slices.Clone(l.holders) {
		if l.now >= a.until {
			l.leave(a)
		}
	}
}

func (l *line) leave(a *asker) {
	l.holders = slices.DeleteFunc(l.holders, func(h *asker) bool { return h == a })
	a.fence, a.kept = 0, false
	if len(l.holders) == 0 {
		l.head = nil
	}
}

func (l *line) fits(limit int) bool {
	for _, h := range l.holders {
		limit = min(limit, h.limit)
	}
	return len(l.holders) < max(limit, 1)
}

// serve keeps the lock for as many of the queue as fit, and passes over a first
// one that keeps others waiting and gave no sign of life for 5 seconds.
func (l *line) serve() {
	for len(l.queue) > 0 {
		a := l.queue[0]
		switch {
		case l.fits(a.limit):
			a.kept, a.until = true, l.now+2*time.Second
			l.holders = append(l.holders, a)
		case l.holders[0].limit <= 1:
			return
		case l.head != a:
			l.head, l.seen = a, l.now
			return
		case l.now-l.seen <= 5*time.Second:
			return
		}
		l.queue = l.queue[1:]
	}
}

// ask reports whether the asker holds the lock now. Its fence is the caller's.
func (l *line) ask(a *asker, inLine, barge bool) bool {
	if a.fence != 0 {
		return true
	}
	if inLine && len(l.queue) > 0 && l.queue[0] == a && len(l.holders) > 0 && l.holders[0].limit > 1 {
		l.head, l.seen = a, l.now
	}
	if barge {
		l.barge(a)
	} else {
		l.serve()
	}
	may := a.kept || l.fits(a.limit) && (barge || len(l.queue) == 0)
	if !may {
		if inLine && !slices.Contains(l.queue, a) && !a.kept {
			l.queue = append(l.queue, a)
		}
		return false
	}
	l.holders = slices.DeleteFunc(l.holders, func(h *asker) bool { return h == a })
	l.holders = append(l.holders, a)
	a.kept = false
	if barge {
		l.serveAfter(a)
	}
	return true
}

// serveAfter serves the owners that fit beside one that has just barged.
func (l *line) serveAfter(a *asker) {
	a.until = l.now + a.ttl
	l.serve()
}

// barge sends those back for whom the lock is kept, if that makes room.
func (l *line) barge(a *asker) {
	if l.fits(a.limit) {
		return
	}
	rest := line{}
	var kept []*asker
	for _, h := range l.holders {
		if h.kept {
			kept = append(kept, h)
		} else {
			rest.holders = append(rest.holders, h)
		}
	}
	if len(kept) == 0 || !rest.fits(a.limit) {
		return
	}
	for _, h := range kept {
		l.leave(h)
	}
	l.queue = append(kept, l.queue...)
}

// Random owners try, wait, barge, release, give up and die. After every step the
// lock has the holders, in their order, those for whom it is kept, and the queue
// that the rule says, whichever scripts were used.
func TestSharedQueueModel(t *testing.T) {
	s := simulated(t)
	c := client(t, s.Addr())
	for seed := range uint64(25) {
		d := newDriver(t, c, redislock.Options{Namespace: fresh()})
		g := &modelGame{T: t, sim: s, driver: d, rand: rand.New(rand.NewPCG(7, seed))}
		for range 60 {
			g.step()
		}
		for _, a := range g.all {
			g.giveUp(a)
		}
		for _, key := range s.Keys() { // this server keeps a key forever whose PXAT has passed, which should be deleted
			if text, _ := s.Get(key); strings.Trim(text, "0123456789") != "" {
				t.Fatalf("left behind: %q\n%v", key, g.log)
			}
		}
		must(t, d.Close())
	}
}

type modelGame struct {
	*testing.T
	sim    *clocked
	driver *redislock.Driver
	rand   *rand.Rand
	line   line
	all    []*asker
	last   int64
	looked time.Duration // when a waiter last did: a queue is forgotten after 10 seconds without
	log    []string
}

func (g *modelGame) step() {
	g.Helper()
	g.pass(time.Millisecond) // a clock that stands still would repeat fences
	if q := g.line.queue; len(q) > 0 && g.line.now-g.looked > 6*time.Second {
		g.ask(q[len(q)-1], true, false)
	}
	if n := g.rand.IntN(20); len(g.all) == 0 || n < 6 {
		limits := []int{0, 0, 1, 2, 2, 3, driver.NoLimit, driver.NoLimit}
		a := &asker{owner: fmt.Sprintf("n/%d", len(g.all)), limit: max(limits[g.rand.IntN(len(limits))], 1), ttl: time.Minute}
		if g.rand.IntN(3) > 0 {
			a.ttl = driver.MinTTL + time.Duration(g.rand.IntN(4000))*time.Millisecond
		}
		g.all = append(g.all, a)
		g.ask(a, g.rand.IntN(4) > 0, false)
	} else if a := g.all[g.rand.IntN(len(g.all))]; n < 11 {
		g.ask(a, a.kept || slices.Contains(g.line.queue, a), false)
	} else if n < 12 {
		g.ask(a, false, !a.kept && !slices.Contains(g.line.queue, a))
	} else if n < 15 {
		g.release(a)
	} else if n < 16 {
		g.giveUp(a)
	} else {
		g.pass(time.Duration(g.rand.IntN(3000)) * time.Millisecond)
		return // the next request is the first that sees which processes are gone
	}
	g.compare()
}

func (g *modelGame) pass(d time.Duration) {
	g.sim.wait(d)
	g.line.pass(d)
	g.logf("%v pass", d)
}

func (g *modelGame) logf(format string, args ...any) {
	g.log = append(g.log, fmt.Sprintf(format, args...))
}

func (g *modelGame) ask(a *asker, inLine, barge bool) {
	g.Helper()
	had := a.fence
	want := g.line.ask(a, inLine, barge)
	req := driver.Acquisition{Key: "key", Owner: a.owner, TTL: a.ttl, Limit: a.limit, Barge: barge}
	ask := g.driver.Acquire
	if inLine {
		ask = g.driver.LookInLine
	}
	grant, err := ask(context.Background(), req)
	g.logf("%s asks, limit %d, in line %v, barging %v: %+v, %v", a.owner, a.limit, inLine, barge, grant, err)
	_, held := errors.AsType[*driver.HeldError](err)
	if inLine && held {
		g.looked = g.line.now
	}
	switch {
	case want && err != nil, !want && !held:
		g.Fatalf("want a grant: %v\n%v", want, g.log)
	case want && had != 0 && grant.Fence != had, want && had == 0 && grant.Fence <= g.last:
		g.Fatalf("the fence had been %d, the last was %d\n%v", had, g.last, g.log)
	case want && had == 0:
		a.fence, a.until, g.last = grant.Fence, g.line.now+a.ttl, grant.Fence
	}
}

func (g *modelGame) release(a *asker) {
	g.Helper()
	held := a.fence != 0
	others := len(g.line.holders) > 0
	err := g.driver.Release(context.Background(), driver.LeaseRef{Key: "key", Owner: a.owner, Fence: max(a.fence, 1), Limit: g.rand.IntN(3)})
	g.logf("%s releases: %v", a.owner, err)
	if held {
		g.line.leave(a)
		g.line.serve()
	}
	var want error
	switch {
	case !held && others:
		want = driver.ErrLost
	case !held:
		want = driver.ErrForgotten
	}
	if !errors.Is(err, want) {
		g.Fatalf("the release says %v\n%v", err, g.log)
	}
}

func (g *modelGame) giveUp(a *asker) {
	g.Helper()
	g.driver.GiveUp(context.Background(), driver.Acquisition{Key: "key", Owner: a.owner, Limit: a.limit})
	g.logf("%s gives up", a.owner)
	g.line.queue = slices.DeleteFunc(g.line.queue, func(q *asker) bool { return q == a })
	if a.fence != 0 || a.kept {
		g.line.leave(a)
	}
	g.line.serve()
}

// compare compares the lock with the model, after a request that only lets owners in that fit: a
// request of an owner without a lease need not do so.
func (g *modelGame) compare() {
	g.Helper()
	_ = g.driver.Release(context.Background(), driver.LeaseRef{Key: "key", Owner: "stranger/1", Limit: 2})
	g.line.serve()
	var want []string
	for _, kept := range []bool{false, true} {
		for _, h := range g.line.holders {
			if h.kept == kept {
				want = append(want, fmt.Sprintf("%s %d %v", h.owner, h.fence, h.limit))
			}
		}
	}
	all, err := g.driver.Holders(context.Background(), "key")
	must(g.T, err)
	var got []string
	for _, h := range all {
		got = append(got, fmt.Sprintf("%s %d %v", h.Owner, h.Fence, h.Limit))
	}
	at, err := g.driver.Inspect(context.Background(), "key")
	must(g.T, err)
	if !slices.Equal(got, want) || at.Waiting != len(g.line.queue) {
		g.Fatalf("the holders are %q and %d wait, want %q and %d\n%v", got, at.Waiting, want, len(g.line.queue), g.log)
	}
}
