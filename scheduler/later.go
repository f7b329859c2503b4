package scheduler

import (
	"context"
	"slices"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/scheduler/internal/health"
)

// The later share: due ticks that come first to other nodes. Almost all of them
// are decided when this node asks, so they are no asks yet: they are peeked at
// together, and only what nobody has decided is asked for. Where the store cannot
// be peeked at they are asks that wait as long.

// A dueTick is a tick that the timetable handed out.
type dueTick struct {
	e           *entry
	tick, after int64
}

// shard is the one of its job; of no tick the first.
func (t *dueTick) shard() int {
	if t.e == nil {
		return 0
	}
	return int(t.e.Shard)
}

// ask is the claim of the tick.
func (t *dueTick) ask() *ask {
	a := &ask{e: t.e, tick: t.tick, after: t.after}
	t.e.latest = a
	return a
}

// A laterShare is what is peeked at with one request.
type laterShare struct {
	at    int64
	ticks []dueTick
	peeks []driver.NumberRef
}

// A shelf holds later shares by their instants.
type shelf struct {
	shares []*laterShare
	spare  *laterShare // one that is empty
}

// share returns an empty one for the instant, filled in before the shelf is used
// again.
func (s *shelf) share(at int64) *laterShare {
	l := s.spare
	if s.spare = nil; l == nil {
		l = new(laterShare)
	}
	l.at = at
	s.shares = append(s.shares, l)
	return l
}

// take returns those that are due at ms.
func (s *shelf) take(ms int64) (due []*laterShare) {
	s.shares = slices.DeleteFunc(s.shares, func(l *laterShare) bool {
		if l.at <= ms {
			due = append(due, l)
			return true
		}
		return false
	})
	return due
}

// keep takes back one that was answered.
func (s *shelf) keep(l *laterShare) {
	clear(l.ticks)
	clear(l.peeks)
	l.ticks, l.peeks = l.ticks[:0], l.peeks[:0]
	s.spare = l
}

// next returns the instant of the earliest, or 0.
func (s *shelf) next() (at int64) {
	for _, l := range s.shares {
		if at == 0 || l.at < at {
			at = l.at
		}
	}
	return at
}

func (s *shelf) shift(step int64) {
	for _, l := range s.shares {
		l.at += step
	}
}

// peekable turns the due later shares into what is to be peeked at.
func (n *Node) peekable(ms int64) []*laterShare {
	due := n.shelf.take(ms)
	for _, l := range due {
		l.ticks = slices.DeleteFunc(l.ticks, func(t dueTick) bool { return t.e.Last() != t.tick || t.e.latest != nil }) // a newer tick covers it
		for _, t := range l.ticks {
			l.peeks = append(l.peeks, driver.NumberRef{Key: t.e.Name, Number: t.tick})
		}
	}
	return due
}

// peek asks which ticks of a later share are decided, and takes the answers when
// they are there or the request's time is over.
func (n *Node) peek(l *laterShare) {
	ctx, stop := context.WithTimeout(n.base, n.cfg.StoreTimeout)
	defer stop()
	first := context.AfterFunc(ctx, func() { n.peeked(l, nil, ctx.Err()) })
	answers, err := n.peeker.Peek(ctx, l.peeks, n.events.tellsPassed())
	if first() {
		n.peeked(l, answers, err)
	}
}

// peeked takes the answers to a later share, and claims what is not known to be
// decided.
func (n *Node) peeked(l *laterShare, answers []*driver.Answer, err error) {
	if len(l.ticks) > 0 {
		n.monitor.Answered(health.Part{Shard: int(l.ticks[0].e.Shard), Kind: health.Peeks}, err)
	}
	if err != nil {
		answers = make([]*driver.Answer, len(l.ticks))
	}
	if n.events.tellsPassed() {
		for i, t := range l.ticks {
			if c := answers[i]; c != nil {
				n.events.passed(t.e.Job, t.tick, c.Node)
			}
		}
	}
	n.mu.Lock()
	now := n.clock.Ms()
	for i := range l.ticks {
		t, c := &l.ticks[i], answers[i]
		switch {
		case c != nil:
			t.e.mark = max(t.e.mark, c.Mark)
			n.outrun(t.e, t.after, c)
			n.watch(t.e, c, now)
		case t.e.Last() == t.tick && t.e.latest == nil && !n.draining.Load():
			n.agenda.add(now, t.ask())
		}
	}
	if err == nil { // else the store may be reading it still
		n.shelf.keep(l)
	}
	n.arm()
	n.sending--
	n.stir()
	n.mu.Unlock()
	n.wg.Done()
}
