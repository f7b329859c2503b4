package redislock_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/redislock"
)

// late lets each reply come so much later.
type late time.Duration

func (late) DialHook(next redis.DialHook) redis.DialHook { return next }

func (l late) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		<-time.After(time.Duration(l))
		return err
	}
}

func (l late) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		<-time.After(time.Duration(l))
		return err
	}
}

// A grant that was waited for is trusted from before it was asked for, not from when
// the reply came: the replies are late here, and the time until then is no lease.
func TestTrustFromBeforeTheReply(t *testing.T) {
	const by = 100 * time.Millisecond
	addr := redisserver.Start(t).Addr()
	_, clean := pod(t, addr, "a")
	c := client(t, addr)
	c.AddHook(late(by))
	slow := newDriver(t, c, redislock.Options{})
	t.Cleanup(func() { must(t, slow.Close()) })
	for _, limit := range []int{1, 2} {
		for _, held := range []bool{false, true} {
			var h driver.LeaseRef
			if held {
				h = acquire(t, clean, "key", "a/1")
			}
			early := make(chan time.Duration, 1)
			waiter := driver.Acquisition{Key: "key", Owner: "b/1", TTL: time.Minute, Limit: limit}
			go func() {
				began := time.Now()
				g, err := slow.Wait(t.Context(), waiter)
				if err != nil {
					t.Error(err)
				}
				if !held && g.Asked.IsZero() { // as it may be if nobody had to wait
					g.Asked = began
				}
				early <- time.Since(g.Asked)
			}()
			if held {
				until(t, "a place", func() bool { at, err := clean.Inspect(t.Context(), "key"); return err == nil && at.Waiting == 1 })
				must(t, clean.Release(t.Context(), h))
			}
			if got := <-early; got < by || got > time.Minute {
				t.Errorf("limit %d, held %v: the trust counts from %v before the answer, want %v or more", limit, held, got, by)
			}
			must(t, clean.Release(t.Context(), driver.LeaseRef{Key: "key", Owner: "b/1", Limit: limit}))
		}
	}
}
