package scheduler

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/cronce/cronce/lock/driver"
)

// closings are the runs whose functions have returned and whose ends are still to
// be told to the store. One goroutine at a time closes all there are. Ticks that
// are on their way to a start go first: while there are many, ends wait for them.
type closings struct {
	mu   sync.Mutex
	runs []*running
	busy bool // a goroutine closes
}

const (
	manyStarts = 256                    // with more starts than this on their way, ends wait
	putOff     = 250 * time.Millisecond // but no longer than this
)

// leave frees the slot and ends the lease as e says, now or when the starts let it.
func (r *running) leave(e driver.EndRequest) {
	r.how = e
	r.e.ending.Add(1)
	n := r.node
	c := &n.closings
	wait := n.starts.Load() > manyStarts && !n.draining.Load() && r.lease.Context().Err() == nil
	c.mu.Lock()
	c.runs = append(c.runs, r)
	if wait && len(c.runs) == 1 {
		time.AfterFunc(putOff, n.close)
	}
	wait = wait || c.busy
	c.mu.Unlock()
	if !wait {
		n.close()
	}
}

// close ends what there is to end, unless another goroutine does.
func (n *Node) close() {
	c := &n.closings
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy {
		return
	}
	c.busy = true
	for len(c.runs) > 0 {
		runs := c.runs
		c.runs = nil
		c.mu.Unlock()
		n.vacate(runs...)
		for _, r := range runs {
			if !r.lease.End(n.ends(), r.how, r) {
				r.Ended(driver.EndAnswer{Ended: true}) // it was ended before, and told
			}
		}
		c.mu.Lock()
	}
	c.busy = false
}

// ends is for how long the ends of runs are repeated: until the drain is over, and for a
// while if a function returns after that.
func (n *Node) ends() context.Context {
	if n.base.Err() == nil {
		return n.base
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(n.base), lateEnd)
	context.AfterFunc(ctx, stop)
	return ctx
}

// lateEnd is for how long an end is repeated that comes after the node's own.
const lateEnd = 5 * time.Second

// afterEnd reports whether an ask has to wait: this node has ended a run of the job,
// and the store has not answered that. If the ask came to the store first, the tick would
// be skipped for a run that is over, or that run would be taken over though its
// outcome is known.
func (a *ask) afterEnd() bool { return a.e.ending.Load() > 0 }

// settled: the store has answered the end of a run, or never will.
func (r *running) settled() {
	if r.refused == 0 {
		r.e.ending.Add(-1)
		return
	}
	n := r.node
	n.mu.Lock()
	defer n.mu.Unlock()
	if !r.lifted {
		r.e.ending.Add(-1)
	}
	n.unrefuse(r)
}

// Refused is called each time that the store refuses the end of this run. Once that has
// lasted longer than the lease the job is opened again. If the store takes that, and still
// refuses the end, the refusal is of ends alone: the job goes on, and the next look at the run, or
// the next claim, settles it. If the store refuses that too it is as good as away: the end is
// recorded when it is back, before the job's next claim.
func (r *running) Refused() {
	n := r.node
	now := time.Since(n.born)
	if r.refused == 0 {
		r.refused = now
	}
	if now-r.refused <= r.e.Rules.Lease {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case r.lifted:
	case !slices.Contains(n.refused[r.e], r):
		n.refused[r.e] = append(n.refused[r.e], r)
		n.openings.askOpen(r.e)
		n.opener.Raise()
	case r.again < 2: // the first of these requests may be older than the opening
		if r.opened {
			r.again++
		}
	default:
		r.lifted = true
		r.e.ending.Add(-1)
		n.unrefuse(r)
		n.unpark(r.e, n.clock.Ms())
		n.look(watched{r.e, r.tick}, r.lease.Fence(), n.clock.Ms())
		n.arm()
	}
}

// unrefuse forgets a run whose end was refused. The node's mutex is held.
func (n *Node) unrefuse(r *running) {
	n.refused[r.e] = slices.DeleteFunc(n.refused[r.e], func(other *running) bool { return other == r })
	if len(n.refused[r.e]) == 0 {
		delete(n.refused, r.e)
	}
}

// park keeps an ask until ends of its job, or older asks of it, are answered. Those
// before it that are covered by it are given up, or asked for at once if they may hold a lease;
// of those that are only asked for to be recorded as missed the latest covers the others. The node's
// mutex is held.
func (n *Node) park(a *ask, ms int64) {
	n.unslot(a)
	kept := n.parked[a.e][:0]
	for _, old := range n.parked[a.e] {
		switch {
		case a.settle && old.settle && !old.unsure(): // given up
		case !old.stale:
			kept = append(kept, old)
		case old.unsure():
			n.agenda.add(ms, old)
		}
	}
	n.parked[a.e] = append(kept, a)
}

// unpark sends what waited. The node's mutex is held.
func (n *Node) unpark(e *entry, now int64) {
	if all := n.parked[e]; len(all) > 0 {
		delete(n.parked, e)
		n.agenda.add(now, all...)
	}
}
