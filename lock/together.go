package lock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cronce/cronce/lock/driver"
)

// together acquires keys in one step. It returns nil, nil if they must be acquired one by one: the
// store cannot do it, the context holds one of them already, a caller of this process waits for
// one, one is not free, or the answer was doubt before ctx ended.
func (l *Locker) together(ctx context.Context, keys []string, o Options) (*LeaseSet, error) {
	several, can := l.driver.(driver.MultiAcquirer)
	if !can || len(keys) < 2 || o.Reenter && slices.ContainsFunc(keys, func(key string) bool { return l.held(ctx, key) != nil }) {
		return nil, nil
	}
	if !o.Barge && slices.ContainsFunc(keys, l.local.waited) {
		return nil, nil
	}
	a := l.acquisition("", o)
	as := make([]driver.Acquisition, len(keys))
	for i, key := range keys {
		a.Key, a.Barge = key, o.Barge
		if err := l.check(ctx, &a, &o); err != nil {
			return nil, err
		}
		as[i] = a
	}
	began := time.Now()
	s, err := l.tryAll(ctx, several, as, &o)
	if err == nil {
		for _, lease := range s.all {
			l.acquired(lease, began)
		}
	}
	if isHeld(err) && ctx.Err() != nil {
		return nil, fmt.Errorf("lock: acquire %d keys: %w", len(as), withCause(ctx, err))
	}
	if isHeld(err) || errors.Is(err, ErrUnsupported) || doubtful(err) && ctx.Err() == nil {
		return nil, nil
	}
	return s, err
}

// tryAll is try for several keys.
func (l *Locker) tryAll(ctx context.Context, several driver.MultiAcquirer, as []driver.Acquisition, o *Options) (*LeaseSet, error) {
	failed := func(err error) error { return fmt.Errorf("lock: acquire %d keys: %w", len(as), withCause(ctx, err)) }
	return callUntilDone(ctx, l, failed, func(latest *noted) (s *LeaseSet, err error) {
		err = retry(ctx, as[0].TTL, func(bound context.Context) error {
			s, err = l.askAll(ctx, bound, several, as, o)
			latest.note(err)
			return err
		})
		if doubtful(err) {
			l.undoAll(ctx, several, as)
			return nil, failed(err)
		}
		return s, err
	})
}

// askAll is ask for several keys.
func (l *Locker) askAll(ctx, bound context.Context, several driver.MultiAcquirer, as []driver.Acquisition, o *Options) (*LeaseSet, error) {
	for i := range as {
		as[i].Fence = l.floors.Of(as[i].Key)
	}
	sent := time.Now()
	grants, err := several.AcquireAll(bound, as)
	if err != nil {
		return nil, err
	}
	s := &LeaseSet{all: make([]*Lease, 0, len(as))}
	inside := o.base(ctx)
	for i, a := range as {
		lease, err := l.keep(inside, a, o.Fixed, grants[i], sent)
		if err != nil {
			l.abandonAll(ctx, several, as, s, o.Note)
			return nil, err
		}
		s.all = append(s.all, lease)
		inside = lease.Context()
	}
	return s, nil
}

// abandonAll undoes grants if one of them came too late. The next request has a new owner, because
// the store may receive the undoing after that request.
func (l *Locker) abandonAll(ctx context.Context, several driver.MultiAcquirer, as []driver.Acquisition, s *LeaseSet, note string) {
	for _, lease := range s.all {
		lease.Abandon(ErrReleased)
	}
	l.undoAll(ctx, several, as)
	owner := l.owner(note)
	for i := range as {
		as[i].Owner = owner
	}
}

// undoAll is undo for several keys.
func (l *Locker) undoAll(ctx context.Context, several driver.MultiAcquirer, as []driver.Acquisition) {
	hs := make([]driver.LeaseRef, len(as))
	for i, a := range as {
		hs[i] = driver.LeaseRef{Key: a.Key, Owner: a.Owner, TTL: a.TTL, Limit: a.Limit}
	}
	l.background.do(ctx, func(ctx context.Context) { several.ReleaseAll(ctx, hs) }) // their TTL ends them otherwise
}

// releaseTogether releases several leases as [Lease.Release] does one.
func releaseTogether(ctx context.Context, several driver.MultiAcquirer, leases []*Lease) error {
	var errs []error
	var left []*Lease // not released in the store yet
	for _, lease := range slices.Backward(leases) {
		if ended, err := lease.end(); ended {
			errs = append(errs, err)
		} else {
			left = append(left, lease)
		}
	}
	if len(left) == 0 {
		return errors.Join(errs...)
	}
	again := false
	doubt := retryAfterCancel(ctx, left[0].ref.TTL, func(bound context.Context) error {
		answers, still, doubt := releaseOnce(bound, several, left, again)
		errs, left, again = append(errs, answers...), still, true
		return doubt
	})
	for _, lease := range left { // in doubt
		lease.report(EventReleased, doubt)
	}
	if doubt != nil {
		errs = append(errs, fmt.Errorf("lock: release %d keys: %w", len(left), doubt))
	}
	return errors.Join(errs...)
}

// releaseOnce sends one request, and returns the answers and the leases that are still in doubt.
func releaseOnce(ctx context.Context, several driver.MultiAcquirer, leases []*Lease, again bool) (answers []error, still []*Lease, doubt error) {
	hs := make([]driver.LeaseRef, len(leases))
	for i, lease := range leases {
		hs[i] = lease.ref
	}
	for i, err := range several.ReleaseAll(ctx, hs) {
		if err = leases[i].released(err, again); doubtful(err) {
			still, doubt = append(still, leases[i]), errors.Join(doubt, err)
		} else {
			leases[i].report(EventReleased, err)
			answers = append(answers, err)
		}
	}
	return answers, still, doubt
}
