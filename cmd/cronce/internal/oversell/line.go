package oversell

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
)

// A line is the buyers of one process that wait for their turn. It counts the turns, of
// buyers that find nothing left, too; and once one of them has seen that nothing is left
// the others stop waiting. The zero value is ready.
type line struct {
	turns atomic.Int64
	once  sync.Once
	open  context.Context // ends with ErrSoldOut
	close context.CancelCauseFunc
}

// HandOvers is how often a buyer of this process had its turn.
func (l *line) HandOvers() int64 { return l.turns.Load() }

func (l *line) begin() {
	l.once.Do(func() { l.open, l.close = context.WithCancelCause(context.Background()) })
}

// waiting ends with ctx, and once it is known that nothing is left. It is made of the line's own
// context, not of ctx, so that all waits have ended before the buyer that found nothing gives the
// lock back: else the lock would reach every second buyer first.
func (l *line) waiting(ctx context.Context) (context.Context, func()) {
	l.begin()
	open, cancel := context.WithCancelCause(l.open)
	stop := context.AfterFunc(ctx, func() { cancel(context.Cause(ctx)) })
	return open, func() { stop(); cancel(nil) }
}

// turn begins a turn. It is an error if it is known that nothing is left.
func (l *line) turn() error {
	l.turns.Add(1)
	l.begin()
	return context.Cause(l.open)
}

// ended ends the waits of the others if nothing is left, and returns err.
func (l *line) ended(err error) error {
	if errors.Is(err, ErrSoldOut) {
		l.begin()
		l.close(ErrSoldOut)
	}
	return err
}
