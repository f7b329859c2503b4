package runs

import (
	"context"
	"time"

	"github.com/cronce/cronce/lock/series"
)

const (
	manyStarts = 256             // with more starts than this in flight, ends wait for them
	lateEnd    = 5 * time.Second // for how long an end is repeated after the life of the node
)

// complete frees the slot, ends the lease, and queues the end that e says. Ticks that are about
// to start go first: while there are many of them, ends wait.
func (a *Attempt) complete(e series.EndRequest) {
	r := a.runs
	a.Ending.Add(1)
	hold := r.starting.Load() > manyStarts && !r.drains() && a.Lease.Context().Err() == nil
	r.vacate(a)
	run, first := a.Lease.End()
	if !first { // the store knows its end
		a.Ended(series.EndAnswer{Ended: true})
		return
	}
	e.RunRef = run
	r.ends.add(a.endingLife(), int(a.Job.Shard), e, a, hold)
}

// endingLife bounds for how long the end is repeated: for the life of the node, and for a while
// if the function returns after that.
func (a *Attempt) endingLife() context.Context {
	if a.life.Err() == nil {
		return a.life
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(a.life), lateEnd)
	context.AfterFunc(ctx, stop)
	return ctx
}

// Ended takes the store's answer to the end of the attempt.
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
