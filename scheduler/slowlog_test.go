package scheduler_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/cronce/cronce/scheduler"
)

// A logger takes ten seconds for each line that names a run that ignores its context, and
// there is one every two seconds. The ticks of another job are run in time.
func TestSlowLoggerDelaysNoTick(t *testing.T) {
	bubble(t, func(t *testing.T) {
		jobs := []scheduler.Job{{Name: "a", Spec: "@every 5s", Func: nothing}}
		for i := range 20 {
			jobs = append(jobs, scheduler.Job{Name: fmt.Sprint("deaf", i), Spec: fmt.Sprintf("%d * * * * *", 7+2*i), Timeout: time.Second,
				Func: func(context.Context, *scheduler.Run) error { time.Sleep(20 * time.Second); return nil }})
		}
		c := plan(t, jobs...)
		c.setup = func(_ int, cfg *scheduler.Config) {
			cfg.Logger = cfg.Logger.WithOptions(zap.Hooks(func(e zapcore.Entry) error {
				if e.Message == "run ignores its context" {
					time.Sleep(10 * time.Second)
				}
				return nil
			}))
		}
		c.start()
		c.pass(2*time.Minute + 500*time.Millisecond)
		if c.wantTally("a", "ran ok 24"); len(c.logged("run ignores its context")) < 30 {
			t.Error("the logger was not asked for lines that take long")
		}
	})
}
