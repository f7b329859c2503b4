package scheduler

import (
	"errors"

	"github.com/cronce/cronce/lock/driver"
)

// The causes, beside lock.ErrLost, with which a run's context ends. Match them
// with errors.Is(context.Cause(ctx), …).
var (
	ErrTimeout  = errors.New("scheduler: the job's timeout is over")
	ErrReplaced = driver.ErrReplaced // a newer tick waits for the end of this run
	ErrDrained  = errors.New("scheduler: the node's drain is over")
)
