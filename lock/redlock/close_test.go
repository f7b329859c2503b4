package redlock_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/rig"
	"github.com/cronce/cronce/lock/redlock"
)

// A closed Driver answers an acquisition that no server answers with doubt, and sends no undoing in the
// background: Close no longer waits for it.
func TestClosedDriverSweepsNothing(t *testing.T) {
	_, cs := simulated(t, 3, 0)
	gated(cs).open() // none
	d := newDriver(t, cs, redlock.Options{})
	d.TellTime(time.Now(), 0)
	must(t, d.Close())
	_, err := d.Acquire(t.Context(), asking("key", time.Minute))
	inDoubt(t, err)
	if n := d.Goroutines(); n != 0 {
		t.Errorf("%d servers are swept after Close", n)
	}
}

// A silentLoad is a hook of a server that never answers when a client sends a script itself.
type silentLoad struct{ asked atomic.Int64 }

func (s *silentLoad) DialHook(next redis.DialHook) redis.DialHook { return next }

func (s *silentLoad) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() != "eval" {
			return next(ctx, cmd)
		}
		s.asked.Add(1)
		<-ctx.Done()
		cmd.SetErr(ctx.Err())
		return ctx.Err()
	}
}

func (s *silentLoad) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// The servers do not know the script, and are silent when the Driver sends it: the request waits for them
// no longer than for any other answer, and is doubt.
func TestSilenceAfterAnUnknownScriptIsDoubt(t *testing.T) {
	hook := new(silentLoad)
	cs := clients(t, miniredis.RunT(t).Addr(), miniredis.RunT(t).Addr(), miniredis.RunT(t).Addr())
	for _, c := range cs {
		must(t, c.Ping(t.Context()).Err()) // opens a connection, so that the request is not late for that
		c.AddHook(hook)
	}
	d := newDriver(t, cs, redlock.Options{NodeTimeout: nodeTimeout})
	d.TellTime(time.Now(), 0)
	done := make(chan error, 1)
	go func() {
		_, err := d.Acquire(t.Context(), asking("key", time.Minute))
		done <- err
	}()
	err := rig.Soon(t, done)
	inDoubt(t, err)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the error is %v, want the end of the time for one server", err)
	}
	if hook.asked.Load() == 0 {
		t.Error("no script was sent")
	}
}
