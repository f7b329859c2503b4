package redislock_test

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/internal/serverprocess"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/redislock"
)

// A process holds many leases for a minute, and loses none. The log has the time of
// processors that it and the server used: docs/limits.md has these numbers.
func TestHeldLeases(t *testing.T) {
	if os.Getenv("CRONCE_SOAK") == "" {
		t.Skip("a minute long: set CRONCE_SOAK")
	}
	const n, ttl, span = 20000, 5 * time.Second, time.Minute
	s := redisserver.Start(t)
	l := lock.New(newDriver(t, client(t, s.Addr()), redislock.Options{}), "a")
	leases := make([]*lock.Lease, n)
	for i := range leases {
		var err error
		leases[i], err = l.TryAcquire(t.Context(), fmt.Sprint("session/", i), lock.Options{TTL: ttl})
		must(t, err)
	}
	here, there := serverprocess.CPU(os.Getpid(), false), serverprocess.CPU(s.Pid(), true)
	time.Sleep(span)
	own, servers := serverprocess.CPU(os.Getpid(), false)-here, serverprocess.CPU(s.Pid(), true)-there
	lost := 0
	for _, s := range leases {
		if s.Check() != nil {
			lost++
			t.Logf("%v", context.Cause(s.Context()))
		}
	}
	t.Logf("%d leases of %v: %.1f%% of a core here, %.1f%% in the server, %d goroutines", n, ttl,
		100*float64(own)/float64(span), 100*float64(servers)/float64(span), runtime.NumGoroutine())
	if lost > 0 {
		t.Errorf("%d of %d leases are lost", lost, n)
	}
}
