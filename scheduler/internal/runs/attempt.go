package runs

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/internal/bounded"
	"github.com/cronce/cronce/scheduler/internal/job"
	"github.com/cronce/cronce/scheduler/internal/text"
)

// The causes, beside lock.ErrLost, with which the context of a run ends.
var (
	ErrTimeout  = error(timeoutError{}) // is context.DeadlineExceeded, too
	ErrReplaced = series.ErrReplaced    // a newer tick waits for the end of this run
	ErrDrained  = errors.New("scheduler: the node's drain is over")
)

type timeoutError struct{}

func (timeoutError) Error() string        { return "scheduler: the job's timeout is over" }
func (timeoutError) Timeout() bool        { return true }
func (timeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

// A Grant is what the store granted.
//
// Ending counts the runs of the job whose functions have returned and whose ends the store
// has not answered. It belongs to the dispatcher, whose claims of the job wait while it is
// not 0, and this package counts. If a claim reached the store before the end, its tick would
// be skipped for a run that is over, or that run would be taken over though its outcome is
// known.
type Grant struct {
	Job     *job.Job
	Lease   *lock.Lease
	Ending  *atomic.Int32
	Tick    int64
	Attempt int
	Wait    time.Duration // until the tick
	TTL     time.Duration // of the lease
	LastOK  int64         // the latest tick that ended ok; 0: none
	Backlog bool          // the next missed tick runs when this run has ended
	Void    bool          // granted when the node had no more use for it
}

// An Attempt is one attempt of a tick on this node, from the grant to its end.
type Attempt struct {
	Grant
	runs *Runs
	life context.Context // its end is repeated until this ends

	refusedSince time.Duration // when the store refused its end first, since the runs were made; 0: it did not. Used by the endings alone

	// Guarded by the mutex of the runs.
	opened      bool      // the store has taken an opening of the job since it refused the end
	refusals    uint8     // how often it has refused the end since
	lifted      bool      // the job no longer waits for the end
	replaced    bool      // a newer tick waits for its end
	named       bool      // the log has named it as ignoring its context
	renewalLate bool      // the log has that its lease was not renewed in time, and it was not renewed since
	lossTold    bool      // the log has its lost lease
	place       int       // among the attempts that are alive
	cancelled   time.Time // when its context was first seen to have ended
}

// String names the attempt's tick, as job@tick.
func (a *Attempt) String() string { return a.Job.Name + "@" + text.Tick(a.Tick) }

// Cause returns why the context of the attempt ended; nil: it has not.
func (a *Attempt) Cause() error { return context.Cause(a.Lease.Context()) }

// execute runs the job's function and ends the lease.
func (a *Attempt) execute() {
	began := a.begin()
	a.runs.starting.Add(-1)
	if !began {
		a.complete(series.EndRequest{Kind: series.EndUnstarted, Outcome: series.OutcomeUnstarted})
		return
	}
	a.runs.cfg.Events.RunStarted(a)
	at := time.Now()
	f := goexit
	defer func() { a.finish(at, f) }() // deferred, because Goexit in the function comes through here and nowhere else
	f = a.call()
}

// begin checks the lease a last time: no run starts with one that cannot be trusted. A
// grant to a claim from before a drain runs within the grace of the drain: the other nodes
// were answered that this one has the tick, and would find out too late that it has not.
func (a *Attempt) begin() bool {
	return !a.Void && a.Lease.Context().Err() == nil && a.Lease.Check() == nil
}

// call does the work, again after an error as the job's rules say.
func (a *Attempt) call() (f *Failure) {
	rules := a.Job.Rules
	ctx := a.Lease.Context()
	if rules.Timeout > 0 {
		limited, stop := context.WithTimeoutCause(ctx, rules.Timeout, ErrTimeout)
		defer stop()
		ctx = limited
		defer context.AfterFunc(ctx, func() { a.Lease.Cancel(context.Cause(ctx)) })()
	}
	pause, work, began := rules.Retry.Wait, a.runs.cfg.Work(a), time.Now()
	defer work.Ended()
	for try := 1; ; try++ {
		f = a.try(ctx, work)
		if f == nil || f.final || try >= rules.Retry.Tries || ctx.Err() != nil {
			break
		}
		wait := f.wait(pause, rules.Retry.Jitter)
		if end, bound := ctx.Deadline(); bound && wait >= time.Until(end) || rules.Retry.For > 0 && wait > rules.Retry.For-time.Since(began) {
			break // the next try would begin too late
		}
		a.runs.cfg.Events.TryFailed(a, try, f)
		if !a.pause(ctx, wait) {
			break
		}
		pause = min(bounded.Sum(pause, pause), rules.Retry.Max)
	}
	if f != nil {
		f.explain(ctx)
	}
	return f
}

// wait returns how long the next try waits: as long as the function asked, or the pause less a
// random part of up to a share of it.
func (f *Failure) wait(pause time.Duration, jitter float64) time.Duration {
	if f.after > 0 {
		return f.after
	}
	return pause - time.Duration(float64(pause)*jitter*rand.Float64())
}

// pause waits before the next try. It reports false if there is none: the context has ended, or
// the node drains, which ends the context of a run that only waits.
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

// try does the work once. A panic becomes a failure.
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

// finish logs how the run ended and completes it. A run whose lease was lost before its
// function had succeeded is left to the node that takes it over or settles it. A run that
// succeeded too late reports that, unless another node has the tick already.
func (a *Attempt) finish(began time.Time, f *Failure) {
	outcome := a.outcome(f)
	if outcome == series.OutcomeLost && a.tellLoss() {
		a.runs.cfg.Events.LeaseLost(a)
	}
	a.runs.cfg.Events.RunFinished(a, outcome, began, f)
	switch {
	case outcome == series.OutcomeLost && f != nil && !f.skipped:
		a.abandon()
	case outcome == series.OutcomeInterrupted && a.Job.Rules.GiveBack:
		a.complete(series.EndRequest{Kind: series.EndGivenBack, Outcome: outcome, Error: f.Text()})
	default:
		a.complete(series.EndRequest{Kind: series.EndDone, Outcome: outcome, OK: outcome == series.OutcomeOK, Error: f.Text()})
	}
}

// outcome names how the run ended, for log and journal.
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
	case errors.Is(f.cause, ErrDrained):
		return series.OutcomeInterrupted
	}
	return series.OutcomeFailed
}

// lost reports whether the lease is gone, whatever ended its context first.
func (a *Attempt) lost() bool { return errors.Is(a.Lease.Check(), lock.ErrLost) }

// tellLoss reports whether the log is due the lost lease, once.
func (a *Attempt) tellLoss() bool {
	a.runs.mu.Lock()
	defer a.runs.mu.Unlock()
	told := a.lossTold
	a.lossTold = true
	return !told
}

// abandon frees the slot and leaves the lease to its deadline.
func (a *Attempt) abandon() {
	a.runs.vacate(a)
	a.Lease.Abandon(lock.ErrLost)
	a.runs.answered(a, series.EndAnswer{})
}
