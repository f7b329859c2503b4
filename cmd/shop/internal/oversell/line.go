package oversell

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
)

// A line lets the buyers of one process wait for their turn, and counts the turns, including the turns
// of buyers that find no item left. When one buyer has found no item left, the others stop waiting. The
// zero value is ready.
type line struct {
	turns atomic.Int64
	once  sync.Once
	open  context.Context // ends with ErrSoldOut
	close context.CancelCauseFunc
}

// HandOvers returns the number of turns.
func (l *line) HandOvers() int64 { return l.turns.Load() }

func (l *line) begin() {
	l.once.Do(func() { l.open, l.close = context.WithCancelCause(context.Background()) })
}

// waiting returns a context that ends with ctx, and when no item is left. It derives from the
// line's context and not from ctx, so that all waits have ended before the buyer that found no item
// left releases the lock. Otherwise the lock would first be granted to about every second buyer.
func (l *line) waiting(ctx context.Context) (context.Context, func()) {
	l.begin()
	open, cancel := context.WithCancelCause(l.open)
	stop := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	return open, func() { stop(); cancel(nil) }
}

// turn begins a turn. It returns an error if no item is left.
func (l *line) turn() error {
	l.turns.Add(1)
	l.begin()
	return context.Cause(l.open)
}

// ended ends the waits of the other buyers if err reports that no item is left, and returns err.
func (l *line) ended(err error) error {
	if errors.Is(err, ErrSoldOut) {
		l.begin()
		l.close(ErrSoldOut)
	}
	return err
}
