package failover_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/internal/rig"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/redislock"
)

// looked is a driver that counts how often its servers were looked at.
type looked struct {
	*redislock.Driver
	times atomic.Int64
}

func (d *looked) Now(ctx context.Context) ([]driver.ClockReading, error) {
	rs, err := d.Driver.Now(ctx)
	if err == nil {
		d.times.Add(1)
	}
	return rs, err
}

// more waits until the servers were looked at n times more.
func (d *looked) more(t *testing.T, n int64) {
	t.Helper()
	until := d.times.Load() + n
	becomes(t, "the servers were looked at", func() bool { return d.times.Load() >= until })
}

// restarting is a server that comes back with all its data, at the same address.
func restarting(t *testing.T) *topology {
	s := redisserver.Start(t, "--appendonly", "yes", "--appendfsync", "always")
	o := redis.UniversalOptions{Addrs: []string{s.Addr()}}
	return &topology{name: "restarted", master: s, before: o, after: o, promote: s.Restart, lock: "key"}
}

// A server is restarted with all its data, or another takes its place: that is
// reported, once, though the lease that is held lives on. Nothing is reported before.
func TestServerIsReplaced(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(*testing.T) *topology{"restarted": restarting, "by Sentinel": bySentinel, "in a Cluster": inCluster} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			replaced(t, start(t))
		})
	}
}

func replaced(t *testing.T, at *topology) {
	d := &looked{Driver: newDriver(t, at.before)}
	l, events := lock.New(d, "a"), make(chan lock.StoreEvent, 100)
	l.OnStoreEvent(func(of lock.StoreEvent) {
		if of.Replaced {
			events <- of
		}
	})
	lease, err := l.Acquire(t.Context(), at.lock, lock.Options{TTL: 2 * time.Minute}) // longer than an election takes on a busy machine
	must(t, err)
	_, err = l.Acquire(t.Context(), "often renewed", lock.Options{TTL: 3 * time.Second})
	must(t, err)
	d.more(t, 3)
	if at.replica != nil {
		at.copied(t, d.Driver)
	}
	if len(events) != 0 {
		t.Fatalf("without a reason it reported %v", <-events)
	}
	at.promote()
	if of := rig.Soon(t, events); of.Server == "" || of.Key != "" {
		t.Errorf("it reported %+v", of)
	}
	_, err = l.Acquire(t.Context(), "often renewed too", lock.Options{TTL: 3 * time.Second})
	must(t, err)
	d.more(t, 2)
	if len(events) != 0 {
		t.Errorf("it reported again %v", <-events)
	}
	must(t, lease.Check())
	must(t, lease.Release(t.Context()))
}
