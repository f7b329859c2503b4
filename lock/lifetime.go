package lock

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// A lifetime is a context that can be ended with a cause. What makes it one of the
// context package's is only made when somebody waits for its end, asks it for a
// value or derives from it: of many short runs none does.
//
// base may be code of the caller. None of its methods is called under the mutex, by deriving
// from it or cancelling what was derived neither: it may block, or use the lease.
type lifetime struct {
	base context.Context

	touched atomic.Bool // it ended, or real was made
	asked   atomic.Bool // the first end asks base whether that was first; the others do not
	mu      sync.Mutex
	real    context.Context // nil until it is needed
	cancel  context.CancelCauseFunc
	cause   error // why it ended
}

func (l *lifetime) context() context.Context {
	for {
		real, cause := l.state()
		if real != nil {
			return real
		}
		base := l.base
		if cause != nil {
			base = context.WithoutCancel(base) // what ends it now is not why this one ended
		}
		ctx, cancel := context.WithCancelCause(base)
		if cause != nil {
			cancel(cause)
		}
		if l.put(ctx, cancel, cause != nil) {
			return ctx
		}
		cancel(nil) // another was first, or it has ended meanwhile
	}
}

func (l *lifetime) state() (real context.Context, cause error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.real, l.cause
}

// put takes the context that was made from outside the mutex, unless there is one, or it was
// not made for what holds now.
func (l *lifetime) put(ctx context.Context, cancel context.CancelCauseFunc, ended bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.real != nil || ended != (l.cause != nil) {
		return false
	}
	l.real, l.cancel = ctx, cancel
	l.touched.Store(true)
	return true
}

// end ends it, the first time it is called.
func (l *lifetime) end(cause error) {
	if cause == nil {
		cause = context.Canceled
	}
	l.touched.Store(true)
	if real, ended := l.state(); real == nil && ended == nil && !l.asked.Swap(true) && l.base.Err() != nil {
		l.context() // which base has ended already
	}
	l.mu.Lock()
	if l.cause == nil {
		l.cause = cause
	}
	cause, cancel := l.cause, l.cancel
	l.mu.Unlock()
	if cancel != nil {
		cancel(cause)
	}
}

// over reports whether it is known here that it ended. It does not ask base.
func (l *lifetime) over() bool {
	if !l.touched.Load() {
		return false
	}
	real, cause := l.state()
	return cause != nil || real != nil && real.Err() != nil
}

func (l *lifetime) Deadline() (time.Time, bool) { return l.base.Deadline() }
func (l *lifetime) Done() <-chan struct{}       { return l.context().Done() }
func (l *lifetime) Value(key any) any           { return l.context().Value(key) }

func (l *lifetime) Err() error {
	if !l.touched.Load() {
		return l.base.Err()
	}
	return l.context().Err()
}
