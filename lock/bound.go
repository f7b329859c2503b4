package lock

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// A bound is a context with a deadline of its own, as context.WithDeadline makes it.
// The timer, and what tells it of the end of the context it came from, come to be
// when somebody waits for its end or derives from it: nearly all requests are
// answered before anybody does.
//
// base may be code of the caller. None of its methods is called under the mutex, by deriving
// from it or cancelling what was derived neither: it may block, or use the lock.
type bound struct {
	base     context.Context
	deadline time.Time
	timed    bool // the deadline is not that of base, which ends it otherwise

	touched atomic.Bool // it was stopped, or real was made
	mu      sync.Mutex
	stopped bool
	real    context.Context // nil until it is needed; cancelled if stopped
	cancel  context.CancelFunc
}

// newBound returns a context that ends with ctx, after d, or with stop.
func newBound(ctx context.Context, d time.Duration) *bound {
	b := &bound{base: ctx, deadline: time.Now().Add(d), timed: true}
	if earlier, some := ctx.Deadline(); some && earlier.Before(b.deadline) {
		b.deadline, b.timed = earlier, false
	}
	return b
}

func (b *bound) context() context.Context {
	for {
		real, stopped := b.state()
		if real != nil {
			return real
		}
		ctx, cancel := b.derive()
		if stopped {
			cancel()
		}
		if b.put(ctx, cancel, stopped) {
			return ctx
		}
		cancel() // another was first, or it was stopped meanwhile
	}
}

func (b *bound) derive() (context.Context, context.CancelFunc) {
	if b.timed {
		return context.WithDeadline(b.base, b.deadline)
	}
	return context.WithCancel(b.base)
}

func (b *bound) state() (real context.Context, stopped bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.real, b.stopped
}

// put takes the context that was made from outside the mutex, unless there is one, or it was
// not made for what holds now.
func (b *bound) put(ctx context.Context, cancel context.CancelFunc, stopped bool) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.real != nil || stopped != b.stopped {
		return false
	}
	b.real, b.cancel = ctx, cancel
	b.touched.Store(true)
	return true
}

func (b *bound) stop() {
	b.mu.Lock()
	b.stopped = true // whoever looks from now on sees that it ended
	b.touched.Store(true)
	cancel := b.cancel
	b.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

func (b *bound) Deadline() (time.Time, bool) { return b.deadline, true }
func (b *bound) Done() <-chan struct{}       { return b.context().Done() }

func (b *bound) Err() error {
	if !b.touched.Load() && b.base.Err() == nil && (!b.timed || time.Now().Before(b.deadline)) {
		return nil
	}
	return b.context().Err() // which it will be for good
}

func (b *bound) Value(key any) any {
	if !b.touched.Load() {
		return b.base.Value(key)
	}
	return b.context().Value(key)
}
