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
type lifetime struct {
	base context.Context

	touched atomic.Bool // it ended, or real was made
	mu      sync.Mutex
	real    context.Context // nil until it is needed
	cancel  context.CancelCauseFunc
	cause   error // why it ended
}

func (l *lifetime) context() context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.real == nil {
		l.touched.Store(true)
		base := l.base
		if l.cause != nil {
			base = context.WithoutCancel(base) // what ends it now is not why this one ended
		}
		l.make(base)
	}
	return l.real
}

// make makes the context that was not needed before. The mutex is held.
func (l *lifetime) make(base context.Context) {
	l.real, l.cancel = context.WithCancelCause(base)
	if l.cause != nil {
		l.cancel(l.cause)
	}
}

// end ends it, the first time it is called.
func (l *lifetime) end(cause error) {
	l.touched.Store(true)
	l.mu.Lock()
	if l.cause == nil {
		if l.real == nil && l.base.Err() != nil {
			l.make(l.base) // which has ended it already
		}
		l.cause = cause
	}
	cause, cancel := l.cause, l.cancel
	l.mu.Unlock()
	if cancel != nil {
		cancel(cause)
	}
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
