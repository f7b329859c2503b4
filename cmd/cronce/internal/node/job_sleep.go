package node

import (
	"context"
	"time"

	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/internal/wait"
	"github.com/cronce/cronce/scheduler"
)

// sleepKind makes a job that only waits, for trying out policies.
func sleepKind(c *config.Config, at string, j *config.Job, _ resources) (scheduler.Job, error) {
	var pause time.Duration
	if j.Sleep != nil {
		pause = time.Duration(j.Sleep.For)
	}
	job := scheduler.Job{Func: func(ctx context.Context, _ *scheduler.Run) error { return wait.Sleep(ctx, pause) }}
	if pause < 0 {
		return job, c.Fault(at+".sleep.for", "is %v, must be 0 or more", pause)
	}
	return job, nil
}
