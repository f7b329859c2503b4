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

	"github.com/cronce/cronce/internal/proof"
	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/lock"
)

// The network of holders swallows everything, at any instant between two renewals,
// and closes nothing. The context of each ends before somebody else is granted the
// key. (The bench does it fifty times.)
func TestSilentCut(t *testing.T) {
	t.Parallel()
	s := redisserver.Start(t)
	b := lock.New(driver(t, redis.UniversalOptions{Addrs: []string{s.Addr()}}), "b")
	var wg sync.WaitGroup
	for i := range 8 {
		proxy := proof.NewProxy(t, s.Addr())
		a := lock.New(driver(t, redis.UniversalOptions{Addrs: []string{proxy.Addr()}}), "a")
		wg.Go(func() {
			if err := cut(t.Context(), proxy, a, b, fmt.Sprintf("key-%d", i)); err != nil {
				t.Errorf("round %d: %v", i, err)
			}
		})
	}
	wg.Wait()
}

// cut is one round: a holds the key when its network goes, b waits for it.
func cut(ctx context.Context, proxy *proof.Proxy, a, b *lock.Locker, key string) error {
	const ttl = 3 * time.Second
	first, err := a.Acquire(ctx, key, lock.Options{TTL: ttl})
	if err != nil {
		return err
	}
	ended := make(chan time.Time, 1)
	context.AfterFunc(first.Context(), func() { ended <- time.Now() })
	<-time.After(rand.N(ttl))
	proxy.Set(proof.Faults{Hole: true})
	second, err := b.Acquire(ctx, key, lock.Options{TTL: ttl})
	granted := time.Now()
	if err != nil {
		return err
	}
	select {
	case at := <-ended:
		if at.After(granted) {
			return fmt.Errorf("the first context ended %v after the second grant", at.Sub(granted))
		}
	case <-time.After(ttl):
		return errors.New("the first context never ended")
	}
	if cause := context.Cause(first.Context()); !errors.Is(cause, lock.ErrLost) {
		return fmt.Errorf("the first context ended with %w", cause)
	}
	return second.Release(ctx)
}
