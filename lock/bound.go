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
type bound struct {
	base     context.Context
	deadline time.Time
	timed    bool // the deadline is not that of base, which ends it otherwise

	touched atomic.Bool // it was stopped, or real was made
	mu      sync.Mutex
	real    context.Context // nil until it is needed
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
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.real == nil {
		if b.timed {
			b.real, b.cancel = context.WithDeadline(b.base, b.deadline)
		} else {
			b.real, b.cancel = context.WithCancel(b.base)
		}
		if b.touched.Swap(true) { // by stop
			b.cancel()
		}
	}
	return b.real
}

func (b *bound) stop() {
	if !b.touched.Swap(true) {
		return // whoever looks from now on sees that it ended
	}
	b.context()
	b.cancel()
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
