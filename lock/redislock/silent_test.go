package redislock_test

import (
	"context"
	"errors"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/internal/rig"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/redislock"
)

// silentAsks are the ways to ask for a key, and for several, and two to ask about one.
var silentAsks = map[string]func(ctx context.Context, l *lock.Locker, keys ...string) error{
	"TryAcquire": func(ctx context.Context, l *lock.Locker, keys ...string) error {
		_, err := l.TryAcquire(ctx, keys[0], lock.Options{TTL: time.Hour})
		return err
	},
	"Acquire": func(ctx context.Context, l *lock.Locker, keys ...string) error {
		_, err := l.Acquire(ctx, keys[0], lock.Options{TTL: time.Hour})
		return err
	},
	"AcquireAll": func(ctx context.Context, l *lock.Locker, keys ...string) error {
		_, err := l.AcquireAll(ctx, keys, lock.Options{TTL: time.Hour})
		return err
	},
	"Do": func(ctx context.Context, l *lock.Locker, keys ...string) error {
		return l.Do(ctx, keys[0], lock.Options{TTL: time.Hour}, func(context.Context, *lock.Lease) error { return nil })
	},
	"Holders": func(ctx context.Context, l *lock.Locker, keys ...string) error {
		_, err := l.Holders(ctx, keys[0])
		return err
	},
	"Force": func(ctx context.Context, l *lock.Locker, keys ...string) error {
		_, err := l.Force(ctx, driver.ForceRequest{Key: keys[0], By: "alice", Reason: "gone"})
		return err
	},
}

// While the server is stopped its callers are back soon after the end of their context,
// a cancelled one too, and those that wait in line as well: long before the second that
// giving a place up may take, and the client's timeout of three. Once the server goes on
// and Wait has returned nothing is left of them: no key, no place and no goroutine.
func TestCallersOfAStoppedServerReturn(t *testing.T) {
	const soon = 500 * time.Millisecond // a test of package lock checks the exact bound
	meter := rig.NewMeter(t)
	s := redisserver.Start(t)
	other := lock.New(newDriver(t, client(t, s.Addr()), redislock.Options{}), "other")
	for _, cancelled := range []bool{false, true} {
		own := rig.Goroutines(t)
		c := client(t, s.Addr())
		d := newDriver(t, c, redislock.Options{})
		l := lock.New(d, "a")
		held := acquireKey(t, other, "held")
		must(t, acquireKey(t, l, "warm").Release(t.Context()))
		ctx, stop := context.WithCancelCause(t.Context())
		var callers sync.WaitGroup
		var ended time.Time
		call := func(name string, ask func(ctx context.Context, l *lock.Locker, keys ...string) error, keys ...string) {
			callers.Go(func() {
				ctx := ctx
				if !cancelled {
					var stop context.CancelFunc
					ctx, stop = context.WithDeadline(context.WithoutCancel(ctx), ended)
					defer stop()
				}
				err := ask(ctx, l, keys...)
				if late := time.Since(ended); late > soon+meter.Starved(ended, time.Now()) {
					t.Errorf("%s was back %v after the end of its context", name, late)
				}
				if want := context.Cause(ctx); !errors.Is(err, want) {
					t.Errorf("%s returned %v, want %v", name, err, want)
				}
			})
		}
		ended = time.Now().Add(3 * time.Second) // a place in line must be taken before, also on a busy machine
		call("Acquire in line", silentAsks["Acquire"], "held")
		call("Acquire behind it", silentAsks["Acquire"], "held")
		until(t, "a place is taken", func() bool { at, err := d.Inspect(t.Context(), "held"); return err == nil && at.Waiting == 1 })
		fixed, err := l.Acquire(t.Context(), "fixed", lock.Options{TTL: time.Hour, Fixed: true})
		must(t, err)
		<-time.After(time.Until(ended.Add(-time.Second))) // a request ends with its context, not with the client's timeout
		must(t, syscall.Kill(s.Pid(), syscall.SIGSTOP))
		call("Extend", func(ctx context.Context, _ *lock.Locker, _ ...string) error { return fixed.Extend(ctx) })
		for name, ask := range silentAsks {
			call(name, ask, "free "+name, "free too "+name)
		}
		<-time.After(time.Until(ended))
		stop(context.Canceled)
		callers.Wait()
		must(t, syscall.Kill(s.Pid(), syscall.SIGCONT))
		continued := time.Now()

		wait, done := context.WithTimeout(t.Context(), 2*time.Minute)
		must(t, l.Wait(wait))
		done()
		for name := range silentAsks {
			for _, key := range []string{"free " + name, "free too " + name} {
				if at, err := d.Inspect(t.Context(), key); err != nil || at != (driver.KeyState{}) {
					t.Errorf("of %s there is left: %+v, %v", name, at, err)
				}
			}
		}
		late := meter.Starved(ended, continued) > soon // a place that was not given up within a second is passed over
		if at, err := d.Inspect(t.Context(), "held"); err != nil || at.Waiting != 0 && !late {
			t.Errorf("of those in line there is left: %+v, %v", at, err)
		}
		must(t, held.Release(t.Context()))
		must(t, fixed.Release(t.Context()))
		must(t, d.Close())
		must(t, c.Close())
		until(t, "no goroutine is left", func() bool { return own() == 1 })
	}
}
