package lock

import (
	"context"
	"errors"
	"slices"

	"github.com/cronce/cronce/lock/driver"
)

// A LeaseSet is the leases on several keys, held together. It is safe for
// concurrent use. Only a [Locker] makes one: the zero LeaseSet cannot be used.
type LeaseSet struct{ all []*Lease } // in the order of their keys

// AcquireAll waits for all keys until ctx ends, as [Locker.Acquire] does for one, and holds all of
// them or none. There are 1 to 500 keys; repeated keys count once. Keys are acquired in the order
// of their texts, so callers whose keys overlap never deadlock with each other, unless one of them
// held a key before. While AcquireAll waits for a later key it holds, and renews, the earlier ones;
// if one of those is lost, the wait ends with ErrLost. An error is about the key that failed; the
// others were released.
//
// If the store is a [driver.MultiAcquirer], AcquireAll first requests all keys in one step. It waits for
// them one by one if one of them is held, if others wait for one, if the store cannot take these keys in
// one step, or after doubt.
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
			l.background.do(ctx, func(ctx context.Context) { _ = s.Release(ctx) }) // their TTL ends them otherwise
			return nil, err
		}
		s.all = append(s.all, lease)
	}
	return s, nil
}

// beside acquires one key more. The wait, and later the context of the lease, end when a lease
// before it ends.
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

// Context returns a context that ends when the first lease does, with its cause. It is derived from
// all leases: with Options.Reenter each key may be acquired again.
func (s *LeaseSet) Context() context.Context { return s.all[len(s.all)-1].Context() }

// Check returns nil while all leases can be trusted: see [Lease.Check].
func (s *LeaseSet) Check() error {
	for _, lease := range s.all {
		if err := lease.Check(); err != nil {
			return err
		}
	}
	return nil
}

// Release gives all leases back, the last key first or, if the store is a [driver.MultiAcquirer],
// together, and joins the errors of the releases: see [Lease.Release].
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
