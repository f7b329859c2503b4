package scheduler

import (
	"time"

	"github.com/cronce/cronce/scheduler/internal/runs"
)

// These are the causes with which a run's context ends, besides lock.ErrLost. Match them with
// errors.Is(context.Cause(ctx), …).
var (
	ErrTimeout   = runs.ErrTimeout   // the job's timeout has passed
	ErrReplaced  = runs.ErrReplaced  // a newer tick waits for the end of this run
	ErrCancelled = runs.ErrCancelled // an operator cancelled this run
	ErrDrained   = runs.ErrDrained   // the grace of the node's drain is over: see Config.Grace
)

// ErrSkipped is wrapped by each error of Skip.
var ErrSkipped = runs.ErrSkipped

// Skip returns an error that a job's function returns when it found nothing to do. The run ends
// with the outcome skipped and with the reason as its error. A skipped run is no failure, is not
// repeated, and does not change Run.Last. Skip also takes effect if another error wraps it.
func Skip(reason string) error { return runs.Skip(reason) }

// Permanent returns an error that a job's function returns when another try would fail too: the run
// fails at once, regardless of Job.Retry. The error has the text of err and wraps it. If err is
// nil, Permanent returns nil.
func Permanent(err error) error { return runs.Permanent(err) }

// RetryAfter returns an error with which a job's function sets the time of the next try: d after
// the function returned, in place of the wait of Job.Retry, even if d is longer than Retry.Max. It
// adds no try to Retry.Tries, and no try begins after Job.Timeout or Retry.For. The error has the
// text of err and wraps it. If err is nil, RetryAfter returns nil.
func RetryAfter(d time.Duration, err error) error { return runs.RetryAfter(d, err) }
