package failover_test

import (
	"context"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/internal/rig"
	"github.com/cronce/cronce/internal/serverprocess"
	"github.com/cronce/cronce/lock"
)

// watched returns a Locker on a server, and the channel of its store events.
func watched(t *testing.T, s *redisserver.Server) (*lock.Locker, <-chan lock.StoreEvent) {
	t.Helper()
	l := lock.New(newDriver(t, redis.UniversalOptions{Addrs: []string{s.Addr()}}), "a")
	events := make(chan lock.StoreEvent, 100)
	l.OnStoreEvent(func(of lock.StoreEvent) { events <- of })
	return l, events
}

const holdTTL = 6 * time.Second

func held(t *testing.T, l *lock.Locker) *lock.Lease {
	t.Helper()
	lease, err := l.TryAcquire(t.Context(), "key", lock.Options{TTL: holdTTL})
	must(t, err)
	return lease
}

// A server that was emptied, and one that came back without its data, have
// forgotten a lease that is held: its context ends with the next renewal, long
// before its time, and it is reported.
func TestServerForgets(t *testing.T) {
	t.Parallel()
	for name, forget := range map[string]func(*redisserver.Server){
		"FLUSHALL":                    func(s *redisserver.Server) { s.Tell("FLUSHALL") },
		"restart without persistence": func(s *redisserver.Server) { s.Restart() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := redisserver.Start(t)
			l, events := watched(t, s)
			lease := held(t, l)
			forget(s)
			of := rig.Soon(t, events)
			if of.Key != "key" || of.Fence != lease.Fence() {
				t.Errorf("it reported %+v", of)
			}
			if cause := context.Cause(lease.Context()); !errors.Is(cause, lock.ErrForgotten) {
				t.Errorf("the lease ended with %v", cause)
			}
		})
	}
}

// The wall clock of a running server is moved: its leases last longer, or end
// early. Either is reported, with how far it was; a lease that ended early is reported
// too.
func TestServerClockSteps(t *testing.T) {
	s, step := steppable(t)
	l, events := watched(t, s)
	lease := held(t, l)
	for range 2 { // the clock has been read when the second comes
		until := lease.Deadline()
		becomes(t, "a renewal", func() bool { return lease.Deadline().After(until) })
	}
	step(-time.Hour)
	stepped := time.Now()
	wantStep(t, rig.Soon(t, events), -time.Hour)
	must(t, lease.Check())
	// The reading that found the step may have come with a renewal from before the
	// step. The lease ends early only if it was renewed by the clock that was set back.
	becomes(t, "a renewal that was sent after the step", func() bool { return lease.Deadline().After(stepped.Add(holdTTL * 9 / 10)) })

	step(0)
	// The reading that belongs to the last renewal from before this step may come after
	// it. Then the step is reported before the lease.
	of, late := rig.Soon(t, events), false
	if of.Key == "" {
		wantStep(t, of, time.Hour)
		of, late = rig.Soon(t, events), true
	}
	if of.Key != "key" {
		t.Errorf("of a lease that ended early it reported %+v", of)
	}
	if cause := context.Cause(lease.Context()); !errors.Is(cause, lock.ErrForgotten) {
		t.Errorf("the lease ended with %v", cause)
	}
	next := held(t, l)
	if !late {
		wantStep(t, rig.Soon(t, events), time.Hour)
	}
	if next.Fence() <= lease.Fence() {
		t.Errorf("the fence is %d after %d", next.Fence(), lease.Fence())
	}
	must(t, next.Release(t.Context()))
}

func wantStep(t *testing.T, of lock.StoreEvent, d time.Duration) {
	t.Helper()
	if of.Key != "" || (of.Step-d).Abs() > 2*time.Second {
		t.Errorf("of a step of %v it reported %+v", d, of)
	}
}

// steppable starts a server whose wall clock the test moves.
func steppable(t *testing.T) (*redisserver.Server, func(ahead time.Duration)) {
	t.Helper()
	compiler := serverprocess.Find(t, "cc", "gcc libc6-dev") // for the server's clock
	library, file := filepath.Join(t.TempDir(), "skew.so"), filepath.Join(t.TempDir(), "skew")
	if out, err := exec.Command(compiler, "-O2", "-shared", "-fPIC", "-o", library, "testdata/skew.c").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	step := func(ahead time.Duration) {
		f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY, 0o600) // not truncated: the server has it mapped
		must(t, err)
		must(t, binary.Write(f, binary.NativeEndian, int64(ahead)))
		must(t, f.Close())
	}
	step(0)
	t.Setenv("LD_PRELOAD", library)
	t.Setenv("SKEW_FILE", file)
	return redisserver.Start(t), step
}
