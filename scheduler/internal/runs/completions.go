package runs

import (
	"context"
	"sync"
	"time"

	"github.com/cronce/cronce/lock/series"
)

// completions are the attempts whose functions have returned and whose ends were not sent
// to the store yet. One goroutine at a time sends all there are. Ticks on their way to a
// start go first: while there are many of them, ends wait.
type completions struct {
	mu      sync.Mutex
	waiting []*Attempt
	busy    bool // a goroutine sends
}

const (
	manyStarts = 256                    // with more starts than this on their way, ends wait
	maxDelay   = 250 * time.Millisecond // but no longer than this
	lateEnd    = 5 * time.Second        // for how long an end is repeated after the life of the node
)

// complete ends the lease as e says, now or when the starts allow it.
func (a *Attempt) complete(e series.EndRequest) {
	a.end = e
	a.Ending.Add(1)
	r, c := a.runs, &a.runs.completions
	wait := r.starting.Load() > manyStarts && !r.drains() && a.Lease.Context().Err() == nil
	c.mu.Lock()
	c.waiting = append(c.waiting, a)
	if wait && len(c.waiting) == 1 {
		time.AfterFunc(maxDelay, r.sendEnds)
	}
	wait = wait || c.busy
	c.mu.Unlock()
	if !wait {
		r.sendEnds()
	}
}

// sendEnds ends all leases that wait for it, unless another goroutine does.
func (r *Runs) sendEnds() {
	c := &r.completions
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy {
		return
	}
	c.busy = true
	for len(c.waiting) > 0 {
		batch := c.waiting
		c.waiting = nil
		c.mu.Unlock()
		r.vacate(batch...)
		for _, a := range batch {
			if !a.Lease.End(r.ends(), a.end, a) {
				a.Ended(series.EndAnswer{Ended: true}) // it was ended before, and the store knows
			}
		}
		c.mu.Lock()
	}
	c.busy = false
}

// ends is for how long ends are repeated: for the life of the node, and for a while if a
// function returns after that.
func (r *Runs) ends() context.Context {
	if r.life.Err() == nil {
		return r.life
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(r.life), lateEnd)
	context.AfterFunc(ctx, stop)
	return ctx
}

// Ended takes the store's answer to the end of the attempt. The endings call it.
func (a *Attempt) Ended(e series.EndAnswer) {
	if e.Err == nil { // an end in doubt says nothing new of the store
		a.runs.cfg.Reached(time.Now())
	}
	a.unrefuse()
	a.runs.answered(a, e)
}

// answered counts an attempt whose end the store knows, or never will. Claims that waited
// for it go on first: a drain must not find both quiet in between.
func (r *Runs) answered(a *Attempt, e series.EndAnswer) {
	r.cfg.Dispatcher.Ended(a, e)
	r.unanswered.Add(-1)
	r.changed()
}
