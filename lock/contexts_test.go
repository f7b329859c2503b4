package lock_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/memlock"
)

type valueKey struct{}

// The context that a lease is asked for with bounds the wait only: its end does not
// end the lease, whose context has its values.
func TestContextBoundsTheWaitOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := lock.New(new(memlock.Store), "a")
		ctx, stop := context.WithTimeout(context.WithValue(t.Context(), valueKey{}, "value"), time.Second)
		defer stop()
		one, err := l.TryAcquire(ctx, "one", lock.Options{})
		wantErr(t, "try", err, nil)
		two, err := l.Acquire(ctx, "two", lock.Options{})
		wantErr(t, "acquire", err, nil)
		all, err := l.AcquireAll(ctx, []string{"three", "four"}, lock.Options{})
		wantErr(t, "acquire all", err, nil)
		time.Sleep(time.Minute)
		for _, lease := range append(all.All(), one, two) {
			wantErr(t, lease.Key()+": check", lease.Check(), nil)
			wantErr(t, lease.Key()+": context", lease.Context().Err(), nil)
			if v := lease.Context().Value(valueKey{}); v != "value" {
				t.Errorf("%s: the context has the value %v", lease.Key(), v)
			}
		}
		for _, lease := range []*lock.Lease{all.All()[1], all.All()[0], one, two} {
			wantErr(t, lease.Key()+": release", lease.Release(t.Context()), nil)
			wantErr(t, lease.Key()+": cause", context.Cause(lease.Context()), lock.ErrReleased)
		}
	})
}

// A lease's context ends with the one that was given for it, and the lease is held on.
func TestLeaseOfAContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := lock.New(new(memlock.Store), "a")
		reason := errors.New("the request is over")
		request, end := context.WithCancelCause(t.Context())
		lease := acquire(t, l, "k", lock.Options{Context: request})
		all, err := l.AcquireAll(t.Context(), []string{"a", "b"}, lock.Options{Context: request})
		wantErr(t, "acquire all", err, nil)
		end(reason)
		for _, s := range append(all.All(), lease) {
			wantErr(t, s.Key()+": cause", context.Cause(s.Context()), reason)
			wantErr(t, s.Key()+": check", s.Check(), nil)
		}
		wantErr(t, "release", errors.Join(lease.Release(t.Context()), all.Release(t.Context())), nil)
	})
}

// The context of a function that is done under a lock ends with the caller's, with
// the one that is given for the lease, and with the lease.
func TestDoJoinsContexts(t *testing.T) {
	reason := errors.New("the caller goes")
	for _, c := range []struct {
		name string
		end  func(end, endOther context.CancelCauseFunc, lease *lock.Lease)
		want error
	}{
		{"the caller's ends", func(end, _ context.CancelCauseFunc, _ *lock.Lease) { end(reason) }, reason},
		{"the other ends", func(_, endOther context.CancelCauseFunc, _ *lock.Lease) { endOther(reason) }, reason},
		{"the lease ends", func(_, _ context.CancelCauseFunc, _ *lock.Lease) { time.Sleep(time.Hour) }, lock.ErrLost},
	} {
		for _, given := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				l := lock.New(new(memlock.Store), "a")
				ctx, end := context.WithCancelCause(t.Context())
				other, endOther := context.WithCancelCause(t.Context())
				o := lock.Options{Fixed: true}
				if given {
					o.Context = other
				} else {
					endOther = end
				}
				err := l.Do(ctx, "k", o, func(ctx context.Context, lease *lock.Lease) error {
					c.end(end, endOther, lease)
					<-ctx.Done()
					return context.Cause(ctx)
				})
				wantErr(t, c.name, err, c.want)
				end(nil)
				endOther(nil)
				free(t, l, "k")
			})
		}
	}
}

// A slicedContext cannot be compared with another one.
type slicedContext struct {
	context.Context
	_ []int
}

// A function is done under a lock with every kind of context, also one that cannot be
// compared.
func TestDoComparesNoContexts(t *testing.T) {
	l := lock.New(new(memlock.Store), "a")
	ctx := slicedContext{Context: t.Context()}
	for _, o := range []lock.Options{{}, {Context: ctx}} {
		err := l.Do(ctx, "k", o, func(context.Context, *lock.Lease) error { return nil })
		wantErr(t, "do", err, nil)
	}
}

// While a later key is waited for, the loss of an earlier one ends the wait.
func TestLossOfAnEarlierKeyEndsTheWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFaulty()
		acquire(t, lock.New(store, "b"), "b", lock.Options{})
		l := lock.New(store, "a")
		began := time.Now()
		_, err := l.AcquireAll(t.Context(), []string{"a", "b"}, lock.Options{TTL: 2 * time.Second, Fixed: true})
		wantErr(t, "acquire all", err, lock.ErrLost)
		if took := time.Since(began); took > 2*time.Second {
			t.Errorf("it waited for %v", took)
		}
	})
}

// Eight goroutines of one caller that holds a key enter one after the other, unless
// they ask to take part in its lease.
func TestFanOutIsExcluded(t *testing.T) {
	for _, reenter := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			l := lock.New(new(memlock.Store), "a")
			outer := acquire(t, l, "outer", lock.Options{})
			if reenter {
				outer = acquire(t, l, "k", lock.Options{})
			}
			var mu sync.Mutex
			var inside, most int // at a time
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					err := l.Do(outer.Context(), "k", lock.Options{Reenter: reenter}, func(context.Context, *lock.Lease) error {
						mu.Lock()
						inside++
						most = max(most, inside)
						mu.Unlock()
						time.Sleep(time.Millisecond)
						mu.Lock()
						inside--
						mu.Unlock()
						return nil
					})
					wantErr(t, "do", err, nil)
				})
			}
			wg.Wait()
			if want := map[bool]int{false: 1, true: 8}[reenter]; most != want {
				t.Errorf("with Reenter %v %d were inside together, want %d", reenter, most, want)
			}
		})
	}
}
