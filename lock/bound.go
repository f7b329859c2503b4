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

	touched atomic.Bool // it was stopped, or real was made
	mu      sync.Mutex
	real    context.Context // nil until it is needed
	cancel  context.CancelFunc
}

// newBound returns a context that ends with ctx, after d, or with stop.
func newBound(ctx context.Context, d time.Duration) *bound {
	deadline := time.Now().Add(d)
	if earlier, some := ctx.Deadline(); some && earlier.Before(deadline) {
		deadline = earlier
	}
	return &bound{base: ctx, deadline: deadline}
}

func (b *bound) context() context.Context {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.real == nil {
		b.real, b.cancel = context.WithDeadline(b.base, b.deadline)
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
	if !b.touched.Load() && b.base.Err() == nil && time.Now().Before(b.deadline) {
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
