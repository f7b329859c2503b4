package lock_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/memlock"
)

// lateUndo is a store whose first grant comes too late, and so does its undoing: after the next
// grant.
type lateUndo struct {
	*memlock.Store
	grants []string // to whom
	undone []driver.LeaseRef
}

func (s *lateUndo) Wait(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	return s.Acquire(ctx, a)
}

func (s *lateUndo) Acquire(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	first := len(s.grants) == 0
	if first {
		defer time.Sleep(2 * a.TTL)
	}
	s.grants = append(s.grants, a.Owner)
	g, err := s.Store.Acquire(ctx, a)
	if !first {
		for _, h := range s.undone {
			_ = s.Store.Release(ctx, h)
		}
	}
	return g, err
}

func (s *lateUndo) Release(ctx context.Context, h driver.LeaseRef) error {
	if len(s.grants) == 1 {
		s.undone = append(s.undone, h)
		return errNetwork
	}
	return s.Store.Release(ctx, h)
}

// A caller that repeats its request after a late grant is a new owner: the undoing of the old grant
// may come late too, and must not free the new one.
func TestLateUndo(t *testing.T) {
	for name, ask := range map[string]func(*lock.Locker, context.Context, string, lock.Options) (*lock.Lease, error){
		"acquire": (*lock.Locker).Acquire,
		"barging": func(l *lock.Locker, ctx context.Context, key string, o lock.Options) (*lock.Lease, error) {
			o.Barge = true
			return l.Acquire(ctx, key, o)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &lateUndo{Store: &memlock.Store{}}
				lease, err := ask(lock.New(store, "a"), t.Context(), "k", lock.Options{TTL: time.Second, Limit: 2})
				wantErr(t, "acquire", err, nil)
				if len(store.undone) == 0 || store.grants[0] == store.grants[1] {
					t.Fatalf("granted to %q, undone %+v", store.grants, store.undone)
				}
				if want := (driver.LeaseRef{Key: "k", Owner: store.grants[0], TTL: time.Second, Limit: 2}); store.undone[0] != want {
					t.Errorf("undone is %+v, want %+v", store.undone[0], want)
				}
				at, err := store.Inspect(t.Context(), "k")
				if err != nil || at.Fence != lease.Fence() {
					t.Errorf("the key stands at %+v, %v, the lease has the fence %d", at, err, lease.Fence())
				}
			})
		})
	}
}

// A grant within the time of a try that came too late is asked for by a new owner.
func TestLateTry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &lateTry{Store: &memlock.Store{}}
		lease, err := lock.New(store, "a").TryAcquire(t.Context(), "k", lock.Options{TTL: time.Second})
		wantErr(t, "try", err, nil)
		wantErr(t, "check", lease.Check(), nil)
		if len(store.owners) != 2 || store.owners[0] == store.owners[1] {
			t.Errorf("asked by %q, want two owners", store.owners)
		}
	})
}

// lateTry says of its first grant that it was asked for long ago.
type lateTry struct {
	*memlock.Store
	owners []string
}

func (s *lateTry) Acquire(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	g, err := s.Store.Acquire(ctx, a)
	if s.owners = append(s.owners, a.Owner); len(s.owners) == 1 {
		g.Asked = time.Now().Add(-a.TTL)
	}
	return g, err
}

// The results of Release if the store answers that the lease is lost: the lease was not lost if an
// earlier request without an answer may have freed the key in time.
func TestReleaseOfLost(t *testing.T) {
	for name, c := range map[string]struct {
		lost int32         // answers to the release
		wait time.Duration // until the release
		slow time.Duration // until it reaches the store
		want error
	}{
		"at once":                   {want: lock.ErrLost},
		"asked again":               {lost: 1},
		"asked again twice":         {lost: 2},
		"asked again, but too late": {lost: 1, wait: 800 * time.Millisecond, slow: 300 * time.Millisecond, want: lock.ErrLost},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := newFaulty()
				lease := acquire(t, lock.New(store, "a"), "k", lock.Options{TTL: time.Second, Fixed: true})
				store.before = func(string) {
					time.Sleep(c.slow)
					store.Forget()
					_, err := store.Store.Acquire(t.Context(), driver.Acquisition{Key: "k", Owner: "b/1", TTL: time.Minute})
					wantErr(t, "another", err, nil)
				}
				store.lose = times(c.lost, "release")
				time.Sleep(c.wait)
				if err := lease.Release(context.WithoutCancel(t.Context())); !errors.Is(err, c.want) {
					t.Errorf("the release says %v, want %v", err, c.want)
				}
			})
		})
	}
}
