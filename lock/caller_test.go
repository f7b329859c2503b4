package lock_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/memlock"
)

// A foreign context is one of the caller's own making: each of its methods runs code of
// the caller first.
type foreign struct {
	context.Context
	first func(method string)
}

func (f *foreign) Done() <-chan struct{} { f.first("Done"); return f.Context.Done() }
func (f *foreign) Err() error            { f.first("Err"); return f.Context.Err() }
func (f *foreign) Value(key any) any     { f.first("Value"); return f.Context.Value(key) }

func (f *foreign) Deadline() (time.Time, bool) {
	f.first("Deadline")
	return f.Context.Deadline()
}

// soon runs f, which must not wait for a lock that is never free.
func soon(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatalf("%s: waits for ever", what)
	}
}

// uses are the calls of a lease, and of its context.
var uses = map[string]func(s *lock.Lease, slept *atomic.Int64){
	"asked":     func(s *lock.Lease, _ *atomic.Int64) { _ = s.Context().Err(); _, _ = s.Context().Deadline() },
	"waited":    func(s *lock.Lease, _ *atomic.Int64) { _ = s.Context().Done() },
	"derived":   func(s *lock.Lease, _ *atomic.Int64) { _, stop := context.WithTimeout(s.Context(), time.Hour); stop() },
	"valued":    func(s *lock.Lease, _ *atomic.Int64) { _ = s.Context().Value(1) },
	"cancelled": func(s *lock.Lease, _ *atomic.Int64) { s.Cancel(errors.New("enough")) },
	"ended":     func(s *lock.Lease, _ *atomic.Int64) { s.Cancel(nil) },
	"abandoned": func(s *lock.Lease, _ *atomic.Int64) { s.Abandon(errors.New("enough")) },
	"lost":      func(s *lock.Lease, slept *atomic.Int64) { slept.Store(int64(time.Hour)); _ = s.Check() },
	"released":  func(s *lock.Lease, _ *atomic.Int64) { _ = s.Release(context.Background()) },
}

// The caller's context uses the lease whose context comes from it: each of its methods calls the
// lease and its context before it returns. The calls never wait for themselves, in any order.
func TestContextThatUsesItsLease(t *testing.T) {
	for name, use := range uses {
		calls := 0
		for next, then := range uses {
			caller, stop := context.WithCancel(t.Context())
			var lease *lock.Lease
			var inside atomic.Bool
			own := &foreign{Context: caller, first: func(string) {
				if lease == nil || inside.Swap(true) {
					return
				}
				calls++
				_ = lease.Check()
				_ = lease.Context().Err()
				_ = context.Cause(lease.Context())
				_ = lease.Context().Done()
				inside.Store(false)
			}}
			var err error
			l := lock.New(&memlock.Store{}, "a")
			slept := l.Suspended()
			lease, err = l.TryAcquire(t.Context(), "k", lock.Options{Context: own})
			wantErr(t, "acquire", err, nil)
			soon(t, name, func() { use(lease, slept) })
			soon(t, name+", then "+next, func() { then(lease, slept); stop(); <-lease.Context().Done() })
		}
		if calls == 0 {
			t.Errorf("%s: the caller's context was not asked", name)
		}
	}
}

// The caller's context asks the lease in each call, without a guard, as one does that ends
// with the lease: a lease that is lost answers it.
func TestContextThatChecksItsLease(t *testing.T) {
	for name, use := range uses {
		var lease *lock.Lease
		own := &foreign{Context: t.Context(), first: func(string) {
			if lease != nil {
				_ = lease.Check()
			}
		}}
		var err error
		l := lock.New(&memlock.Store{}, "a")
		slept := l.Suspended()
		lease, err = l.TryAcquire(t.Context(), "k", lock.Options{Context: own})
		wantErr(t, "acquire", err, nil)
		soon(t, name, func() {
			slept.Store(int64(time.Hour))
			use(lease, slept)
			_ = lease.Check()
			if err := context.Cause(lease.Context()); err == nil {
				t.Errorf("%s: the context of a lost lease has not ended", name)
			}
		})
	}
}

// A method of the caller's context does not return. The goroutine that called it waits, and
// the others can check, cancel and release the lease; when all is over, the context has ended.
func TestContextThatBlocks(t *testing.T) {
	for i, method := range []string{"Done", "Err", "Value", "Done", "Err", "Value"} {
		look := i < 3 // whether the context is looked at while that one waits
		for name, use := range uses {
			block, reached := make(chan struct{}), make(chan struct{}, 1)
			var armed atomic.Bool
			own := &foreign{Context: t.Context(), first: func(m string) {
				if m == method && armed.Swap(false) {
					reached <- struct{}{}
					<-block
				}
			}}
			l := lock.New(&memlock.Store{}, "a")
			slept := l.Suspended()
			lease, err := l.TryAcquire(t.Context(), "k", lock.Options{Context: own})
			wantErr(t, "acquire", err, nil)
			armed.Store(true)
			stuck := make(chan struct{})
			go func() { defer close(stuck); use(lease, slept) }()
			select {
			case <-reached:
			case <-stuck: // this use does not call it
				armed.Store(false)
			}
			soon(t, name+" blocks in "+method, func() {
				_ = lease.Check()
				lease.Cancel(errors.New("enough"))
				_ = lease.Release(context.Background())
				if look && lease.Context().Err() == nil {
					t.Errorf("%s blocks in %s: the context has not ended though the lease was cancelled", name, method)
				}
			})
			close(block)
			soon(t, name+" goes on", func() { <-stuck })
			if ctx := lease.Context(); ctx.Err() == nil || context.Cause(ctx) == nil {
				t.Errorf("%s blocked in %s: the context has not ended", name, method)
			}
		}
	}
}

// Cancel without a cause ends a context that no goroutine has used.
func TestCancelWithoutCause(t *testing.T) {
	lease := acquire(t, lock.New(&memlock.Store{}, "a"), "k", lock.Options{})
	lease.Cancel(nil)
	wantErr(t, "the context", lease.Context().Err(), context.Canceled)
	wantErr(t, "its cause", context.Cause(lease.Context()), context.Canceled)
}
