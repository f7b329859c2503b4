package redlock_test

import (
	"testing"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/redlock"
)

// BenchmarkFiveServers acquires and releases a lease on five real servers.
func BenchmarkFiveServers(b *testing.B) {
	_, cs := servers(b, 5)
	d := newDriver(b, cs, redlock.Options{})
	for b.Loop() {
		a := asking("key", 30*time.Second)
		g, err := d.Acquire(b.Context(), a)
		must(b, err)
		must(b, d.Release(b.Context(), driver.LeaseRef{Key: a.Key, Owner: a.Owner, Fence: g.Fence, TTL: a.TTL}))
	}
}
