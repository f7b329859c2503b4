package redlock_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/lock/redlock"
)

// A lag is a delay of replies.
type lag struct{ atomic.Int64 }

func (l *lag) DialHook(next redis.DialHook) redis.DialHook { return next }

func (l *lag) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		<-time.After(time.Duration(l.Load()))
		return err
	}
}

func (l *lag) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// The time left of a grant, and of a renewal, is the TTL less the time for the answers and the
// drift of the clocks meanwhile.
func TestValidity(t *testing.T) {
	t.Parallel()
	_, cs := servers(t, 3)
	d := newDriver(t, cs, redlock.Options{NodeTimeout: slow})
	d.Warm(t.Context())
	var late lag
	for _, c := range cs {
		c.AddHook(&late)
	}
	const took, ttl = 300 * time.Millisecond, time.Minute
	const most = ttl - took - ttl/100 - 2*time.Millisecond
	late.Store(int64(took))
	g, h := acquire(t, d, asking("key", ttl))
	if g.Left > most {
		t.Errorf("of the grant is left %v, more than %v", g.Left, most)
	}
	again, err := d.Renew(t.Context(), h)
	must(t, err)
	if again.Left > most {
		t.Errorf("of the renewal is left %v, more than %v", again.Left, most)
	}
	late.Store(0)
	must(t, d.Release(t.Context(), h))
}
