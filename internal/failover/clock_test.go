package failover_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/lock"
)

// What Redis cannot promise: it forgets a plain lock with its release, so once its
// clock was put back the next fence is lower, for a Locker that has not seen a
// higher one. One that has goes on above it.
func TestFenceAfterStepBack(t *testing.T) {
	s, step := steppable(t)
	locker := func(node string) *lock.Locker {
		return lock.New(driver(t, redis.UniversalOptions{Addrs: []string{s.Addr()}}), node)
	}
	fence := func(l *lock.Locker) int64 {
		lease, err := l.Acquire(t.Context(), "key", lock.Options{})
		must(t, err)
		must(t, lease.Release(t.Context()))
		return lease.Fence()
	}
	knows := locker("a")
	before := fence(knows)
	step(-time.Hour)
	if after := fence(locker("b")); after >= before {
		t.Errorf("the fence is %d after %d: the package promises more than it says", after, before)
	}
	if after := fence(knows); after <= before {
		t.Errorf("the fence is %d after %d, which this Locker has seen", after, before)
	}
}
