package failover_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/internal/rig"
	"github.com/cronce/cronce/lock"
)

// The network of the holders swallows all traffic, from any instant between two renewals, and closes no
// connection. The context of each holder ends before another owner is granted the key. (The bench does
// it fifty times.)
func TestSilentCut(t *testing.T) {
	t.Parallel()
	s := redisserver.Start(t)
	b := lock.New(newDriver(t, redis.UniversalOptions{Addrs: []string{s.Addr()}}), "b")
	meter := rig.NewMeter(t)
	var wg sync.WaitGroup
	for i := range 8 {
		proxy := rig.NewProxy(t, s.Addr())
		a := lock.New(newDriver(t, redis.UniversalOptions{Addrs: []string{proxy.Addr()}}), "a")
		wg.Go(func() {
			if err := cut(t.Context(), meter, proxy, a, b, fmt.Sprintf("key-%d", i)); err != nil {
				t.Errorf("round %d: %v", i, err)
			}
		})
	}
	wg.Wait()
}

// cut is one round: a holds the key when its network goes, b waits for it. Both are
// in this process: when it cannot run, b's grant may be seen before the end of a's
// context, but a's lease knows from the clock that it is over.
func cut(ctx context.Context, meter *rig.Meter, proxy *rig.Proxy, a, b *lock.Locker, key string) error {
	const ttl = 3 * time.Second
	first, err := a.Acquire(ctx, key, lock.Options{TTL: ttl})
	if err != nil {
		return err
	}
	ended := make(chan time.Time, 1)
	context.AfterFunc(first.Context(), func() { ended <- time.Now() })
	<-time.After(rand.N(ttl))
	proxy.Set(rig.Faults{Hole: true})
	second, err := b.Acquire(ctx, key, lock.Options{TTL: ttl})
	granted, over := time.Now(), first.Check()
	if err != nil {
		return err
	}
	if !errors.Is(over, lock.ErrLost) {
		return fmt.Errorf("after the second grant the first lease is checked as %w", over)
	}
	select {
	case at := <-ended:
		if late := at.Sub(granted); late > 0 && late > meter.Starved(granted.Add(-ttl/10), at) {
			return fmt.Errorf("the first context ended %v after the second grant", late)
		}
	case <-time.After(ttl):
		return errors.New("the first context never ended")
	}
	if cause := context.Cause(first.Context()); !errors.Is(cause, lock.ErrLost) {
		return fmt.Errorf("the first context ended with %w", cause)
	}
	return second.Release(ctx)
}
