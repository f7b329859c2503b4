package lock_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/memlock"
)

// A lease that was lost before it was released says so, whoever has the key now:
// that it is free again does not mean that nobody else had it. What another holds
// stays that one's.
func TestReleaseAfterLoss(t *testing.T) {
	const after = 2 * time.Second
	fixed := lock.Options{TTL: time.Second, Fixed: true}
	release := func(t *testing.T, l *lock.Locker, meanwhile func()) error {
		lease := acquire(t, l, "k", fixed)
		time.Sleep(after)
		meanwhile()
		err := lease.Release(t.Context())
		wantErr(t, "the second release", lease.Release(t.Context()), lock.ErrReleased)
		return err
	}
	ways := map[string]func(t *testing.T, l *lock.Locker, meanwhile func()) error{
		"one": release,
		"several": func(t *testing.T, l *lock.Locker, meanwhile func()) error {
			leases, err := l.AcquireAll(t.Context(), []string{"j", "k"}, fixed)
			wantErr(t, "both", err, nil)
			time.Sleep(after)
			meanwhile()
			return leases.Release(t.Context())
		},
		"Do": func(t *testing.T, l *lock.Locker, meanwhile func()) error {
			return l.Do(t.Context(), "k", fixed, func(context.Context, *lock.Lease) error {
				time.Sleep(after)
				meanwhile()
				return nil
			})
		},
	}
	for name, way := range ways {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := new(memlock.Store)
				l, other := lock.New(store, "a"), lock.New(store, "b")
				wantErr(t, "nobody had it", way(t, l, func() {}), lock.ErrLost)
				wantErr(t, "another had it", way(t, l, func() {
					wantErr(t, "the release", acquire(t, other, "k", lock.Options{}).Release(t.Context()), nil)
				}), lock.ErrLost)
				var theirs *lock.Lease
				wantErr(t, "another has it", way(t, l, func() { theirs = acquire(t, other, "k", lock.Options{}) }), lock.ErrLost)
				wantErr(t, "the other's release", theirs.Release(t.Context()), nil)
			})
		})
	}
}
