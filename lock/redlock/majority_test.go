package redlock_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/redlock"
)

// take takes a free key, and does not wait for servers for which the grant did not wait.
func take(t *testing.T, d *redlock.Driver, a driver.Acquisition) driver.LeaseRef {
	t.Helper()
	g, err := d.Acquire(t.Context(), a)
	must(t, err)
	return driver.LeaseRef{Key: a.Key, Owner: a.Owner, Fence: g.Fence, TTL: a.TTL}
}

// A request for a lease arrives late, after the lease was released on the other servers, and after
// another owner's lease was given back, which is all that the server remembers: the server gets the
// release after the request.
func TestRequestIsLate(t *testing.T) {
	t.Parallel()
	_, cs := servers(t, 5)
	d := newDriver(t, cs, redlock.Options{Namespace: "late", NodeTimeout: slow})
	d.Warm(t.Context())
	slowest := cs[0]
	late := &late{goes: make(chan struct{})}
	goOn := sync.OnceFunc(func() { close(late.goes) })
	t.Cleanup(goOn)
	slowest.AddHook(late)
	h := take(t, d, asking("key", time.Minute))
	until(t, "it is asked", late.began.Load)
	must(t, d.Release(t.Context(), h))
	last := func() string { return slowest.Get(t.Context(), redlock.BackKey("late", "key")).Val() }
	must(t, slowest.Set(t.Context(), redlock.BackKey("late", "key"), redlock.State(0, 1, time.Minute, "other/1"), time.Minute).Err())
	goOn()
	until(t, "it is given and released there", func() bool { return strings.HasSuffix(last(), h.Owner) && votes(cs, "late", "key") == 0 })
	d.Settle()
}

// A late hook delays requests for a lease.
type late struct {
	began atomic.Bool
	goes  chan struct{} // closed: it delays no more
}

func (l *late) DialHook(next redis.DialHook) redis.DialHook { return next }

func (l *late) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if args := cmd.Args(); len(args) > 1 && args[1] == redlock.AcquireHash() {
			l.began.Store(true)
			<-l.goes
		}
		return next(ctx, cmd)
	}
}

func (l *late) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// An owner repeats its request in another millisecond: neither request leaves anything behind once
// the lease is released.
func TestAskedTwice(t *testing.T) {
	t.Parallel()
	_, cs := servers(t, 5)
	d := newDriver(t, cs, redlock.Options{Namespace: "all", NodeTimeout: slow})
	h := take(t, d, asking("key", time.Minute))
	_, err := d.Renew(t.Context(), h)
	must(t, err)
	if n := votes(cs, "all", "key"); n != 5 {
		t.Errorf("after a renewal %d votes, want 5", n)
	}
	waitOn(t, cs, 2*time.Millisecond)
	a := driver.Acquisition{Key: h.Key, Owner: h.Owner, TTL: h.TTL}
	h = take(t, d, a)
	must(t, d.Release(t.Context(), h))
	d.Settle()
	if n := votes(cs, "all", "key"); n != 0 {
		t.Errorf("%d votes are left of a lease that was asked for twice", n)
	}
}

// One server fails, or refuses, or answers another fence: the others are enough, at once.
func TestOneDisagrees(t *testing.T) {
	t.Parallel()
	_, cs := servers(t, 5)
	d := newDriver(t, cs, redlock.Options{Namespace: "rest", NodeTimeout: slow})
	gate := gated(cs[:1])[0]
	state := redlock.Key("rest", "key")
	for _, c := range []struct {
		name    string
		disturb func()
		end     func()
		votes   int
	}{
		{"fails", func() { gate.shut.Store(true) }, func() { gate.shut.Store(false) }, 4},
		{"refuses", func() {
			theirs := redlock.State(1, 1, 0, "other/1")
			must(t, cs[1].Set(t.Context(), state, theirs, time.Minute).Err())
		}, func() { must(t, cs[1].Del(t.Context(), state).Err()) }, 5},
		{"says another fence", func() {
			must(t, cs[2].Set(t.Context(), redlock.BackKey("rest", "key"), redlock.State(anHourAhead(), 1, time.Minute, "other/1"), time.Minute).Err())
		}, func() {}, 5},
	} {
		c.disturb()
		began := time.Now()
		_, h := acquire(t, d, asking("key", time.Minute))
		if took := time.Since(began); took > slow/4 {
			t.Errorf("%s: it took %v", c.name, took)
		}
		if n := votes(cs, "rest", "key"); n != c.votes {
			t.Errorf("%s: %d votes, want %d", c.name, n, c.votes)
		}
		c.end()
		must(t, d.Release(t.Context(), h))
		until(t, "nothing is left", func() bool { return d.Goroutines() == 0 && votes(cs, "rest", "key") == 0 })
	}
}

// One server is silent and no majority of the others answers one fence: the highest is written to
// them, and the driver does not wait for the silent server, which might have decided.
func TestSilenceDoesNotDecideFence(t *testing.T) {
	t.Parallel()
	all, cs := servers(t, 5)
	d := newDriver(t, cs, redlock.Options{Namespace: "fences", NodeTimeout: slow})
	t.Cleanup(func() { signal(syscall.SIGCONT, all...) })
	d.Warm(t.Context())
	far := anHourAhead()
	for i, last := range []int64{far, far, far + 7, far + 7, far + 9} {
		must(t, cs[i].Set(t.Context(), redlock.BackKey("fences", "key"), redlock.State(last, 1, time.Minute, "gone/1"), time.Minute).Err())
	}
	signal(syscall.SIGSTOP, all[4])
	began := time.Now()
	g, err := d.Acquire(t.Context(), asking("key", time.Minute))
	must(t, err)
	if took := time.Since(began); took > slow/4 {
		t.Errorf("it took %v", took)
	}
	if want := far + 8; g.Fence != want {
		t.Errorf("the fence is %d, want %d", g.Fence, want)
	}
}

// Leases are released while some servers have not answered yet. None of the leases is left on any
// server.
func TestReleasedBeforeAllAnswer(t *testing.T) {
	t.Parallel()
	_, cs := servers(t, 5)
	d := newDriver(t, cs, redlock.Options{Namespace: "while", NodeTimeout: slow})
	keys := make([]string, 200)
	for i := range keys {
		keys[i] = "key-" + strconv.Itoa(i)
		h := take(t, d, asking(keys[i], time.Minute))
		if pause := rand.N(2 * time.Millisecond); i%4 > 0 {
			<-time.After(pause)
		}
		must(t, d.Release(t.Context(), h))
	}
	until(t, "nothing is under way", func() bool { d.Settle(); return d.Goroutines() == 0 })
	for _, key := range keys {
		if n := votes(cs, "while", key); n != 0 {
			t.Errorf("%s: %d votes are left", key, n)
		}
	}
}

// Servers lose a lease one after the other, and get it again with the renewal that follows: each
// has it from another request of its owner. They nevertheless answer the same lease, so the key is
// held and not in doubt.
func TestHeldAfterRestarts(t *testing.T) {
	t.Parallel()
	_, cs := servers(t, 3)
	d := newDriver(t, cs, redlock.Options{Namespace: "restarts", NodeTimeout: slow})
	_, h := acquire(t, d, asking("key", time.Minute))
	for i := range cs {
		must(t, cs[i].FlushAll(t.Context()).Err())
		_, err := d.Renew(t.Context(), h)
		must(t, err)
		if n := votes(cs, "restarts", "key"); n != 3 {
			t.Fatalf("after the restart of server %d the lease is on %d servers", i, n)
		}
	}
	_, err := d.Acquire(t.Context(), asking("key", time.Minute))
	if held, is := errors.AsType[*driver.HeldError](err); !is || held.Left <= 0 {
		t.Errorf("the key that all servers say another has: %v, want a *lock.HeldError", err)
	}
	must(t, d.Release(t.Context(), h))
}

// Servers forget a lease. Its release reports this if the other servers that had it are not a
// majority: another owner may have had the key. When it is repeated, the lease is released.
func TestReleaseOfForgottenVotes(t *testing.T) {
	t.Parallel()
	_, cs := servers(t, 3)
	for name, c := range map[string]struct {
		forget int // how many of the three servers
		want   error
	}{
		"none": {0, nil},
		"one":  {1, nil},
		"two":  {2, driver.ErrForgotten},
		"all":  {3, driver.ErrForgotten},
	} {
		namespace := fresh()
		d := newDriver(t, cs, redlock.Options{Namespace: namespace, NodeTimeout: slow})
		d.Warm(t.Context())
		_, h := acquire(t, d, asking("key", time.Minute))
		for _, one := range cs[:c.forget] {
			must(t, one.Del(t.Context(), redlock.Key(namespace, "key")).Err())
		}
		if err := d.Release(t.Context(), h); !errors.Is(err, c.want) {
			t.Errorf("%s: the release says %v, want %v", name, err, c.want)
		}
		// The first answers may have decided: a server that the other request has not reached yet
		// knows of no release.
		until(t, "asked again it is released", func() bool {
			err := d.Release(t.Context(), h)
			if err != nil && !errors.Is(err, driver.ErrForgotten) {
				t.Fatalf("%s: asked again: %v", name, err)
			}
			return err == nil
		})
	}
}
