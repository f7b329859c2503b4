package lock

import (
	"context"
	"sync"
	"time"
)

// background counts the work in the background after requests were given up: the undoing of grants that
// they may have got. The zero value is ready to use.
type background struct {
	mu    sync.Mutex
	count int
	none  chan struct{} // closed when count is 0 again; nil while count is 0
}

const (
	undoTimeout = time.Second           // for the undoing of a request; if it fails, the key is free when the TTL has passed
	undoGrace   = 40 * time.Millisecond // how long the caller waits for the undoing: usually it takes less
)

// do calls undo, with the values of ctx and a timeout of its own. It returns when undo does, but
// after undoGrace at the latest: a store that hangs must not delay a caller whose time is over.
func (b *background) do(ctx context.Context, undo func(ctx context.Context)) {
	b.begin()
	done := make(chan struct{})
	go func() {
		defer b.end()
		defer close(done)
		ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), undoTimeout)
		defer stop()
		undo(ctx)
	}()
	t := time.NewTimer(undoGrace)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
	}
}

// later calls undo when d has passed, with a timeout of its own.
func (b *background) later(d time.Duration, undo func(ctx context.Context)) {
	b.begin()
	time.AfterFunc(d, func() {
		defer b.end()
		ctx, stop := context.WithTimeout(context.Background(), undoTimeout)
		defer stop()
		undo(ctx)
	})
}

func (b *background) begin() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.count++; b.none == nil {
		b.none = make(chan struct{})
	}
}

func (b *background) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.count--; b.count == 0 {
		close(b.none)
		b.none = nil
	}
}

// Wait returns nil when no given-up request is being undone and no event waits for a function of
// [Locker.OnEvent] or [Locker.OnStoreEvent], or the cause of ctx's end if that comes first. A request
// whose context ends while its store is silent returns soon. The grant that
// it may have got is given back in the background, within two seconds of the answer or of the
// client's timeout. A process that ends at once, or closes its client, calls Wait first: a key that
// was not given back is free only after its TTL.
func (l *Locker) Wait(ctx context.Context) error {
	l.background.mu.Lock()
	none := l.background.none
	l.background.mu.Unlock()
	if none == nil {
		return nil
	}
	select {
	case <-none:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
