package lock

import (
	"context"
	"fmt"

	"github.com/cronce/cronce/lock/driver"
)

// Holders returns the holders of a key, the earliest grant first, with their notes: see
// [driver.Sharer]. It changes nothing and decides nothing: a lease that it lists may be over when
// it returns. It returns within 100 ms of the end of ctx, however long the store takes. It returns
// ErrUnsupported if the store cannot list holders; any other error is doubt, or an *ArgumentError.
func (l *Locker) Holders(ctx context.Context, key string) ([]driver.Holder, error) {
	s, ok := l.driver.(driver.Sharer)
	if !ok {
		return nil, fmt.Errorf("lock: holders of %q: %w", key, ErrUnsupported)
	}
	if err := driver.CheckKey(key); err != nil {
		return nil, err
	}
	all, err := inTime(ctx, l, named(ctx, fmt.Sprintf("holders of %q", key)), func(*noted) ([]driver.Holder, error) { return s.Holders(ctx, key) })
	for i := range all {
		all[i].Owner, all[i].Note, _ = driver.CutNote(all[i].Owner)
	}
	return all, contextError(ctx, err)
}

// Inspect returns the holder of a key, how long it holds the key, and how many places are taken in
// the store's queue. It changes nothing and decides nothing: its result may be out of date when it
// returns. It returns within 100 ms of the end of ctx, as Holders does. It returns ErrUnsupported
// if the store is no [driver.Inspector]; any other error is doubt, or an *ArgumentError.
func (l *Locker) Inspect(ctx context.Context, key string) (driver.KeyState, error) {
	i, ok := l.driver.(driver.Inspector)
	if !ok {
		return driver.KeyState{}, fmt.Errorf("lock: inspect %q: %w", key, ErrUnsupported)
	}
	if err := driver.CheckKey(key); err != nil {
		return driver.KeyState{}, err
	}
	at, err := inTime(ctx, l, named(ctx, fmt.Sprintf("inspect %q", key)), func(*noted) (driver.KeyState, error) { return i.Inspect(ctx, key) })
	at.Owner, _, _ = driver.CutNote(at.Owner)
	return at, contextError(ctx, err)
}
