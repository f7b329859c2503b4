package lock

import (
	"context"
	"errors"
	"slices"

	"github.com/cronce/cronce/lock/driver"
)

// A LeaseSet is the leases on several keys, held together. It is safe for
// concurrent use.
type LeaseSet struct{ all []*Lease } // in the order of their keys

// AcquireAll waits for all keys until ctx ends, as [Locker.Acquire] does for one,
// and holds all of them or none: 1 to 500 keys, of which each counts once. Keys are taken
// in their order as texts, so callers whose keys overlap never wait for each other in a
// circle; only a caller that held a key before can make one. While it waits for a
// later key it holds, and renews, the earlier ones; losing one of them ends the
// waiting with ErrLost. An error is that of the key that failed; the others were
// released.
//
// If the store is a [driver.MultiAcquirer] the keys are first asked for in one step, which takes
// all of them or none, and only if one is held, or others wait for it, waited for
// one by one.
func (l *Locker) AcquireAll(ctx context.Context, keys []string, o Options) (*LeaseSet, error) {
	keys = slices.Compact(slices.Sorted(slices.Values(keys)))
	if err := driver.CheckKeys(keys); err != nil {
		return nil, err
	}
	if s, err := l.together(ctx, keys, o); s != nil || err != nil {
		return s, err
	}
	s := &LeaseSet{all: make([]*Lease, 0, len(keys))}
	for _, key := range keys {
		lease, err := l.beside(ctx, s, key, o)
		if err != nil {
			l.behind.do(ctx, func(ctx context.Context) { _ = s.Release(ctx) }) // their TTL ends them otherwise
			return nil, err
		}
		s.all = append(s.all, lease)
	}
	return s, nil
}

// beside acquires one key more. The wait ends, and later the context of the lease,
// when a lease before it does.
func (l *Locker) beside(ctx context.Context, s *LeaseSet, key string, o Options) (*Lease, error) {
	if len(s.all) == 0 {
		return l.Acquire(ctx, key, o)
	}
	o.Context = s.Context()
	wait, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	defer context.AfterFunc(o.Context, func() { stop(context.Cause(o.Context)) })()
	return l.Acquire(wait, key, o)
}

// All returns the leases, sorted by key.
func (s *LeaseSet) All() []*Lease { return slices.Clone(s.all) }

// Context returns a context that ends when the first lease does, with its cause.
// It came from all of them: with Options.Reenter each key may be acquired again.
func (s *LeaseSet) Context() context.Context { return s.all[len(s.all)-1].Context() }

// Check returns nil while all leases may be believed in: see [Lease.Check].
func (s *LeaseSet) Check() error {
	for _, lease := range s.all {
		if err := lease.Check(); err != nil {
			return err
		}
	}
	return nil
}

// Release gives all leases back, the last key first or, if the store is a [driver.MultiAcquirer],
// together, and joins what the releases could not do: see [Lease.Release].
func (s *LeaseSet) Release(ctx context.Context) error {
	if len(s.all) > 1 {
		if several, ok := s.all[0].locker.driver.(driver.MultiAcquirer); ok {
			return releaseTogether(ctx, several, s.all)
		}
	}
	var errs []error
	for _, lease := range slices.Backward(s.all) {
		errs = append(errs, lease.Release(ctx))
	}
	return errors.Join(errs...)
}
