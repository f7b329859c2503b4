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

var abc = []string{"a", "b", "c"}

// Free keys are taken in one step and given back in one; a key that is held is
// waited for, with those before it.
func TestTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFaulty()
		l := lock.New(store, "a")
		all, err := l.AcquireAll(t.Context(), abc, lock.Options{TTL: time.Second, Reenter: true})
		wantErr(t, "acquire", err, nil)
		time.Sleep(10 * time.Second) // each is renewed
		wantErr(t, "check", all.Check(), nil)
		wantErr(t, "release", all.Release(t.Context()), nil)
		wantErr(t, "release twice", all.Release(t.Context()), lock.ErrReleased)
		if a, r := store.acquires.Load(), store.releases.Load(); a != 1 || r != 1 {
			t.Errorf("3 keys took %d acquisitions and %d releases, want 1 of each", a, r)
		}
		free(t, l, abc...)

		held := acquire(t, lock.New(store.Store, "b"), "b", lock.Options{})
		time.AfterFunc(time.Minute, func() { wantErr(t, "release", held.Release(t.Context()), nil) })
		start := time.Now()
		all, err = l.AcquireAll(t.Context(), abc, lock.Options{})
		wantErr(t, "acquire", err, nil)
		if time.Since(start) != time.Minute {
			t.Errorf("waited for %v", time.Since(start))
		}
		wantErr(t, "release", all.Release(t.Context()), nil)
		free(t, l, abc...)
	})
}

// A context that holds one of the keys takes the others one by one.
func TestTogetherInside(t *testing.T) {
	store := newFaulty()
	l := lock.New(store, "a")
	outer := acquire(t, l, "b", lock.Options{})
	all, err := l.AcquireAll(outer.Context(), abc, lock.Options{Reenter: true})
	wantErr(t, "acquire", err, nil)
	if n := store.acquires.Load(); n != 1 { // of the outer lease; the others wait in the store
		t.Errorf("%d requests to acquire, want none for all keys at once", n)
	}
	if all.All()[1].Fence() != outer.Fence() {
		t.Errorf("the fence is %d, that of the outer lease %d", all.All()[1].Fence(), outer.Fence())
	}
	wantErr(t, "release", all.Release(t.Context()), nil)
	wantErr(t, "check of the outer lease", outer.Check(), nil)
	free(t, l, "a", "c")
	wantErr(t, "release", outer.Release(t.Context()), nil)
	free(t, l, "b")
}

// Lost answers are asked for again, by the same owner; a loss of all of them
// leaves nothing behind.
func TestTogetherLostReplies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFaulty()
		l := lock.New(store, "a")
		store.lose = times(2, "acquire several")
		all, err := l.AcquireAll(t.Context(), abc, lock.Options{})
		wantErr(t, "acquire", err, nil)
		if n := store.acquires.Load(); n != 3 {
			t.Errorf("asked %d times, want 3", n)
		}
		store.lose = times(2, "release several")
		wantErr(t, "release", all.Release(t.Context()), nil)
		free(t, l, abc...)

		store.lose = func(op string) bool { return op == "acquire several" }
		ctx, stop := context.WithTimeout(t.Context(), 5*time.Second)
		defer stop()
		_, err = l.AcquireAll(ctx, abc, lock.Options{})
		wantErr(t, "acquire", err, errNetwork)
		free(t, l, abc...)
	})
}

// In doubt for the whole time to live, the keys are taken one by one.
func TestTogetherInDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFaulty()
		l := lock.New(store, "a")
		store.lose = func(op string) bool { return op == "acquire several" }
		all, err := l.AcquireAll(t.Context(), abc, lock.Options{TTL: time.Second})
		wantErr(t, "acquire", err, nil)
		wantErr(t, "check", all.Check(), nil)
		wantErr(t, "release", all.Release(t.Context()), nil)
		free(t, l, abc...)
	})
}

// A release whose answer was lost, after which one key went on to others, is no
// loss; one that is lost when it is first released is.
func TestTogetherReleasedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFaulty()
		l, b := lock.New(store, "a"), lock.New(store.Store, "b")
		all, err := l.AcquireAll(t.Context(), abc, lock.Options{})
		wantErr(t, "acquire", err, nil)
		store.lose = times(1, "release several")
		done := make(chan error)
		go func() { done <- all.Release(t.Context()) }()
		time.Sleep(time.Millisecond)
		acquire(t, b, "b", lock.Options{})
		wantErr(t, "release", <-done, nil)

		all, err = l.AcquireAll(t.Context(), []string{"a", "c"}, lock.Options{})
		wantErr(t, "acquire", err, nil)
		store.Forget()
		acquire(t, b, "a", lock.Options{})
		wantErr(t, "release", all.Release(t.Context()), lock.ErrLost)
	})
}

// Grants that took longer than the lease are undone, and somebody new asks.
func TestTogetherTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFaulty()
		var owners []string
		slow, start := &lateSeveral{faulty: store, owners: &owners}, time.Now()
		all, err := lock.New(slow, "a").AcquireAll(t.Context(), abc, lock.Options{TTL: 3 * time.Second, Limit: 2})
		wantErr(t, "acquire", err, nil)
		wantErr(t, "check", all.Check(), nil)
		if len(owners) != 2 || owners[0] == owners[1] || time.Since(start) > time.Second {
			t.Errorf("asked by %q for %v, want two owners, and no wait for the first", owners, time.Since(start))
		}
		want := driver.LeaseRef{Key: "a", Owner: owners[0], TTL: 3 * time.Second, Limit: 2}
		if len(slow.undone) != 3 || slow.undone[0] != want {
			t.Errorf("undone are %+v, want first %+v", slow.undone, want)
		}
		wantErr(t, "release", all.Release(t.Context()), nil)
		free(t, lock.New(store, "b"), abc...)
		if time.Sleep(10 * time.Second); store.renewals.Load() != 0 {
			t.Error("leases that were undone are renewed")
		}
	})
}

// lateSeveral says of the first grants that they were asked for long ago.
type lateSeveral struct {
	*faulty
	owners *[]string
	undone []driver.LeaseRef
}

func (s *lateSeveral) ReleaseAll(ctx context.Context, hs []driver.LeaseRef) []error {
	if len(*s.owners) == 1 {
		s.undone = hs
	}
	return s.faulty.ReleaseAll(ctx, hs)
}

func (s *lateSeveral) AcquireAll(ctx context.Context, as []driver.Acquisition) ([]driver.Grant, error) {
	gs, err := s.faulty.AcquireAll(ctx, as)
	if *s.owners = append(*s.owners, as[0].Owner); len(*s.owners) == 1 {
		gs[1].Asked = time.Now().Add(-as[1].TTL)
	}
	return gs, err
}

// Keys that do not live together are taken one by one.
func TestTogetherUnsupported(t *testing.T) {
	store := &apart{newFaulty()}
	all, err := lock.New(store, "a").AcquireAll(t.Context(), abc, lock.Options{})
	wantErr(t, "acquire", err, nil)
	if n := store.acquires.Load(); n != 0 {
		t.Errorf("%d acquisitions beside those of Wait", n)
	}
	wantErr(t, "release", all.Release(t.Context()), nil)
}

type apart struct{ *faulty }

func (*apart) AcquireAll(context.Context, []driver.Acquisition) ([]driver.Grant, error) {
	return nil, lock.ErrUnsupported
}

// Barging takes keys that are reserved for owners that wait, all of them or none.
func TestTogetherBarging(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memlock.Store{}
		l := lock.New(store, "a")
		held := acquire(t, l, "b", lock.Options{})
		waited := make(chan struct{})
		go func() {
			defer close(waited)
			lease, err := lock.New(store, "w").Acquire(t.Context(), "b", lock.Options{})
			wantErr(t, "wait", err, nil)
			wantErr(t, "release", lease.Release(t.Context()), nil)
		}()
		synctest.Wait()
		wantErr(t, "release", held.Release(t.Context()), nil)
		all, err := l.AcquireAll(t.Context(), abc, lock.Options{Barge: true}) // before the waiter ran
		wantErr(t, "barge", err, nil)
		wantErr(t, "release", all.Release(t.Context()), nil)
		<-waited
	})
}

// An upgrade inside AcquireAll is refused, and nothing else is held then.
func TestTogetherUpgrade(t *testing.T) {
	l := lock.New(&memlock.Store{}, "a")
	outer := acquire(t, l, "c", reader)
	_, err := l.AcquireAll(outer.Context(), abc, again(writer))
	if _, refused := errors.AsType[*lock.UpgradeError](err); !refused {
		t.Errorf("the error is %v, want an UpgradeError", err)
	}
	free(t, l, "a", "b")
	wantErr(t, "check", outer.Check(), nil)
}
