package scheduler

import "github.com/cronce/cronce/scheduler/internal/runs"

// The causes, beside lock.ErrLost, with which a run's context ends. Match them
// with errors.Is(context.Cause(ctx), …).
var (
	ErrTimeout  = runs.ErrTimeout  // the job's timeout is over
	ErrReplaced = runs.ErrReplaced // a newer tick waits for the end of this run
	ErrDrained  = runs.ErrDrained  // the node's drain is over
)
