package runs

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/cronce/cronce/internal/wait"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/lock/series/claimer"
	"github.com/cronce/cronce/scheduler/internal/job"
	"github.com/cronce/cronce/scheduler/internal/text"
)

// These are the causes with which the context of a run ends, besides lock.ErrLost.
var (
	ErrTimeout   = error(timeoutError{}) // also matches context.DeadlineExceeded
	ErrReplaced  = claimer.ErrReplaced   // a newer tick waits for the end of this run
	ErrCancelled = claimer.ErrCancelled  // an operator cancelled this run
	ErrDrained   = errors.New("scheduler: the node's drain is over")
)

type timeoutError struct{}

func (timeoutError) Error() string        { return "scheduler: the job's timeout is over" }
func (timeoutError) Timeout() bool        { return true }
func (timeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

// A Grant is a run with the store's answer to its claim.
type Grant struct {
	job.Run
	Lease   *claimer.Lease
	Attempt int
	Wait    time.Duration // time until the tick
	LastOK  int64         // the latest tick that ended ok; 0: none
	For     int64         // the earlier tick whose work it does, for a backfill; 0: its own

	TickFence int64  // of a shard: the fence of its tick; Lease.Ref has its index
	Param     string // of a shard
}

// Sharded reports whether the grant is one shard of its tick.
func (g *Grant) Sharded() bool { return g.Lease.Ref.Shards > 0 }

// An Attempt is one attempt of a tick on this node, from the grant to its end.
type Attempt struct {
	Grant
	runs       *Runs
	dispatcher Dispatcher      // claimed it
	life       context.Context // its end is repeated until this context ends

	refusedSince time.Duration // when the store first refused its end, since the runs were made; 0: never. Only used when an end is answered

	// Guarded by the mutex of the runs.
	opened      bool      // the store has accepted an opening of the job since it refused the end
	refusals    uint8     // number of refusals of the end since then
	lifted      bool      // the job no longer waits for the end
	replaced    bool      // a newer tick waits for its end
	named       bool      // the log has named it as ignoring its context
	renewalLate bool      // the log has its late renewal, and no renewal has succeeded since
	lossLogged  bool      // the log has its lost lease
	place       int       // index among the attempts that are alive
	cancelled   time.Time // when its context was first seen to have ended
}

// String returns the attempt's tick as job@tick, and a shard as job@tick#shard.
func (a *Attempt) String() string {
	name := a.Job.Name + "@" + text.Tick(a.Tick)
	if a.Sharded() {
		name += "#" + strconv.Itoa(a.Lease.Ref.Shard)
	}
	return name
}

// Cause returns the cause with which the context of the attempt ended, or nil if it has not.
func (a *Attempt) Cause() error { return context.Cause(a.Lease.Context()) }

// execute runs the job's function and ends the lease.
func (a *Attempt) execute() {
	begins := a.begin()
	a.runs.starting.Add(-1)
	if !begins {
		a.complete(series.RunUnstarted, series.OutcomeUnstarted, "")
		return
	}
	a.runs.cfg.Events.RunStarted(a)
	began := time.Now()
	f := goexit
	defer func() { a.finish(began, f) }() // deferred, because after a Goexit in the function only deferred calls run
	f = a.call(began)
}

// begin checks the lease a last time: no run starts with a lease that cannot be trusted. A claim
// that was granted before a drain still runs, within the grace of the drain. The other nodes were
// answered that this node has the tick, and would find out too late that it does not run it.
func (a *Attempt) begin() bool {
	return !a.Void && a.Lease.Context().Err() == nil && a.Lease.Check() == nil
}

// call does the work, and repeats it after an error as the job's rules say.
func (a *Attempt) call(began time.Time) (f *Failure) {
	rules := a.Job.Rules
	ctx := a.Lease.Context()
	if rules.Timeout > 0 {
		limited, stop := context.WithTimeoutCause(ctx, rules.Timeout, ErrTimeout)
		defer stop()
		ctx = limited
		defer context.AfterFunc(ctx, func() { a.Lease.Cancel(context.Cause(ctx)) })()
	}
	work := a.runs.cfg.Work(a)
	f = goexit // unless a try returns
	defer func() { work.Ended(a.failedShard(f)) }()
	pauses := wait.Backoff{First: rules.Retry.Wait, Longest: rules.Retry.Max}
	for try := 1; ; try++ {
		f = a.try(ctx, work)
		if f == nil || f.final || try >= rules.Retry.Tries || ctx.Err() != nil {
			break
		}
		d := f.wait(pauses.After(try), rules.Retry.Jitter)
		if end, bound := ctx.Deadline(); bound && d >= time.Until(end) || rules.Retry.For > 0 && d > rules.Retry.For-time.Since(began) {
			break // the next try would begin too late
		}
		a.runs.cfg.Events.TryFailed(a, try, f, d)
		if !a.pause(ctx, d) {
			break
		}
	}
	if f != nil {
		f.explain(ctx)
	}
	return f
}

// wait returns the wait before the next try: the duration that the function requested, or the pause
// shortened by a random part of up to the share jitter.
func (f *Failure) wait(pause time.Duration, jitter float64) time.Duration {
	if f.after > 0 {
		return f.after
	}
	return pause - time.Duration(float64(pause)*jitter*rand.Float64())
}

// pause waits before the next try. It returns false if there is no next try: the context has ended,
// or the node drains, which also cancels the context of a run that only waits.
func (a *Attempt) pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
	case <-a.runs.draining:
		a.Lease.Cancel(ErrDrained)
	}
	return false
}

// try does the work once. It recovers a panic, which becomes a failure.
func (a *Attempt) try(ctx context.Context, work Work) (f *Failure) {
	defer func() {
		if v := recover(); v != nil {
			f = panicked(v)
		}
	}()
	if err := work.Do(ctx); err != nil {
		return failed(err)
	}
	return nil
}

// finish logs how the run ended and completes it. If the lease was lost before the function had
// succeeded, the run is left to the node that takes it over or settles it. A run that succeeded too
// late reports its success, unless another node already has the tick.
func (a *Attempt) finish(began time.Time, f *Failure) {
	outcome := a.outcome(f)
	if outcome == series.OutcomeLost && a.logsLoss() {
		a.runs.cfg.Events.LeaseLost(a)
	}
	a.runs.cfg.Events.RunFinished(a, outcome, began, f)
	switch {
	case outcome == series.OutcomeLost && f != nil && !f.skipped:
		a.abandon()
	case outcome == series.OutcomeInterrupted && a.Job.Rules.GiveBack:
		a.complete(series.RunGivenBack, outcome, f.Text())
	default:
		a.complete(series.RunDone, outcome, f.Text())
	}
}

// succeeded reports whether an outcome is a success. A shard that found nothing to do does not make its tick fail.
func (a *Attempt) succeeded(outcome string) bool {
	return outcome == series.OutcomeOK || outcome == series.OutcomeSkipped && a.Sharded()
}

// outcome returns how the run ended, for log and journal.
func (a *Attempt) outcome(f *Failure) string {
	switch {
	case a.lost():
		return series.OutcomeLost
	case f == nil:
		return series.OutcomeOK
	case f.skipped:
		return series.OutcomeSkipped
	case f.panicked:
		return series.OutcomePanic
	case errors.Is(f.cause, ErrTimeout):
		return series.OutcomeTimeout
	case errors.Is(f.cause, ErrReplaced):
		return series.OutcomeReplaced
	case errors.Is(f.cause, ErrCancelled):
		return series.OutcomeCancelled
	case errors.Is(f.cause, ErrDrained):
		return series.OutcomeInterrupted
	}
	return series.OutcomeFailed
}

// failedShard reports whether the attempt was a shard that failed, and not one that others take over or an operator ended.
func (a *Attempt) failedShard(f *Failure) bool {
	if !a.Sharded() {
		return false
	}
	switch a.outcome(f) {
	case series.OutcomeOK, series.OutcomeSkipped, series.OutcomeLost, series.OutcomeCancelled, series.OutcomeInterrupted:
		return false
	}
	return true
}

// lost reports whether the lease is lost, even if another cause ended its context first.
func (a *Attempt) lost() bool { return errors.Is(a.Lease.Check(), lock.ErrLost) }

// logsLoss reports whether the lost lease is due in the log. It returns true once.
func (a *Attempt) logsLoss() bool {
	a.runs.mu.Lock()
	defer a.runs.mu.Unlock()
	logged := a.lossLogged
	a.lossLogged = true
	return !logged
}

// abandon frees the slot and leaves the lease to expire.
func (a *Attempt) abandon() {
	a.runs.vacate(a)
	a.Lease.Abandon(lock.ErrLost)
	a.runs.answered(a, series.EndAnswer{})
}
