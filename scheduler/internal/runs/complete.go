package runs

import (
	"context"
	"time"

	"github.com/cronce/cronce/lock/series"
)

const (
	manyStarts = 256             // while more starts than this are in flight, ends wait for them
	lateEnd    = 5 * time.Second // how long an end is repeated after the life of the node
)

// complete frees the slot, ends the lease, and queues its end. Ticks that are about to start go
// first: while there are many of them, ends wait.
func (a *Attempt) complete(state series.RunState, outcome, text string) {
	r := a.runs
	a.Ending.Add(1)
	hold := r.starting.Load() > manyStarts && !r.drains() && a.Lease.Context().Err() == nil
	r.vacate(a)
	a.Lease.End()
	e := series.EndRequest{RunRef: a.Lease.Ref, State: state, Outcome: outcome, OK: a.succeeded(outcome), Error: text}
	r.ends.add(a.endingLife(), int(a.Job.Partition), &e, a, hold)
}

// endingLife bounds the time in which the end is repeated: the life of the node, plus a while if
// the function returns after that.
func (a *Attempt) endingLife() context.Context {
	if a.life.Err() == nil {
		return a.life
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(a.life), lateEnd)
	context.AfterFunc(ctx, stop)
	return ctx
}

// Ended applies the store's answer to the end of the attempt.
func (a *Attempt) Ended(e series.EndAnswer) {
	a.unrefuse()
	a.runs.answered(a, e)
}

// answered records that the store has answered the end of an attempt, or never will. It first
// releases the claims that waited for this end, so that a drain cannot find both counts at zero in
// between.
func (r *Runs) answered(a *Attempt, e series.EndAnswer) {
	a.dispatcher.Ended(a, e)
	r.unanswered.Add(-1)
	r.changed()
}
