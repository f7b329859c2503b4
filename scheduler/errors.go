package scheduler

import (
	"time"

	"github.com/cronce/cronce/scheduler/internal/runs"
)

// The causes, beside lock.ErrLost, with which a run's context ends. Match them
// with errors.Is(context.Cause(ctx), …).
var (
	ErrTimeout  = runs.ErrTimeout  // the job's timeout is over
	ErrReplaced = runs.ErrReplaced // a newer tick waits for the end of this run
	ErrDrained  = runs.ErrDrained  // the node's drain is over
)

// ErrSkipped is wrapped by each error of Skip.
var ErrSkipped = runs.ErrSkipped

// Skip returns an error with which a job's function says that it found nothing to do. The run
// ends with the outcome skipped and with the reason as its error: that is no failure, it is not
// repeated, and Run.Last stays at the tick before. Such errors are found also in one that wraps
// them.
func Skip(reason string) error { return runs.Skip(reason) }

// Permanent returns an error with which a job's function says that another try would fail too:
// the run fails at once, whatever Job.Retry says. It has the text of err and wraps it. If err is
// nil, so is Permanent's.
func Permanent(err error) error { return runs.Permanent(err) }

// RetryAfter returns an error with which a job's function says when to try again: d after it
// returned, instead of the wait of Job.Retry, and also if that is longer than Retry.Max. It does
// not add a try, and none begins after Job.Timeout or Retry.For. It has the text of err and wraps
// it. If err is nil, so is RetryAfter's.
func RetryAfter(d time.Duration, err error) error { return runs.RetryAfter(d, err) }
