package scheduler_test

import (
	"context"

	"github.com/cronce/cronce/lock/driver"
)

// The requests for places in limits are on the wire too: those to take one, to keep it, and to free it.
const (
	opTake = "take"
	opKeep = "hold"
	opFree = "free"
)

func (w *wire) Acquire(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	return result(through(ctx, w, opTake, func(ctx context.Context) reply[driver.Grant] { return replied(w.store.Acquire(ctx, a)) }, failed[driver.Grant]))
}

// Wait gives up its place in the queue when its caller does, also if its request is lost.
func (w *wire) Wait(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	return result(through(ctx, w, opTake, func(context.Context) reply[driver.Grant] { return replied(w.store.Wait(ctx, a)) }, failed[driver.Grant]))
}

func (w *wire) Renew(ctx context.Context, h driver.LeaseRef) (driver.Grant, error) {
	return result(through(ctx, w, opKeep, func(ctx context.Context) reply[driver.Grant] { return replied(w.store.Renew(ctx, h)) }, failed[driver.Grant]))
}

func (w *wire) RenewAll(ctx context.Context, hs []driver.LeaseRef) []driver.Renewal {
	return through(ctx, w, opKeep, func(ctx context.Context) []driver.Renewal { return w.store.RenewAll(ctx, hs) },
		each(len(hs), func(r *driver.Renewal, err error) { r.Err = err }))
}

func (w *wire) Release(ctx context.Context, h driver.LeaseRef) error {
	return through(ctx, w, opFree, func(ctx context.Context) error { return w.store.Release(ctx, h) }, func(err error) error { return err })
}

func (w *wire) ReleaseAll(ctx context.Context, hs []driver.LeaseRef) []error {
	return through(ctx, w, opFree, func(ctx context.Context) []error { return w.store.ReleaseAll(ctx, hs) },
		each(len(hs), func(to *error, err error) { *to = err }))
}
