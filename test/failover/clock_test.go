package failover_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/lock"
)

// The last fence of a plain lock is remembered after its release, so the next fence is higher although
// the clock was put back. Redis cannot promise this for longer: 10 seconds after that fence by its
// clock it forgets it. If the clock is then put back by more, the next fence is lower for a Locker
// that has not seen a higher one. A Locker that has seen one continues above it.
func TestFenceAfterStepBack(t *testing.T) {
	s, step := steppable(t)
	locker := func(node string) *lock.Locker {
		return lock.New(newDriver(t, redis.UniversalOptions{Addrs: []string{s.Addr()}}), node)
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
	if after := fence(locker("b")); after <= before {
		t.Errorf("the fence is %d after %d, which the server remembers", after, before)
	}
	step(time.Minute)
	before = fence(knows)
	step(2 * time.Minute)
	c := redis.NewClient(&redis.Options{Addr: s.Addr()})
	defer c.Close()
	if keys, err := c.Exists(t.Context(), "cronce:v1:l:{key}").Result(); err != nil || keys != 0 {
		t.Fatalf("%d locks are there, %v: its fence is more than 10 seconds old", keys, err)
	}
	step(-time.Hour)
	if after := fence(locker("b")); after >= before {
		t.Errorf("the fence is %d after %d: the package promises more than it says", after, before)
	}
	if after := fence(knows); after <= before {
		t.Errorf("the fence is %d after %d, which this Locker has seen", after, before)
	}
}
