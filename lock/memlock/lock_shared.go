package memlock

import (
	"context"
	"time"

	"github.com/cronce/cronce/lock/driver"
)

// AcquireAll asks for all keys in one step.
func (s *Store) AcquireAll(ctx context.Context, as []driver.Acquisition) ([]driver.Grant, error) {
	if err := doubt(ctx, "acquire", as[0].Key); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	grants := make([]driver.Grant, len(as))
	for i := range as {
		var err error
		if grants[i], err = s.may(now, &as[i]); err != nil {
			s.freeAll(now, as)
			return nil, err
		}
	}
	for i := range as {
		if grants[i].Fence == 0 {
			grants[i] = s.grant(now, &as[i])
		}
	}
	return grants, nil
}

// freeAll takes back what an earlier request of the owner was granted, and what
// this one has displaced in vain.
func (s *Store) freeAll(now time.Time, as []driver.Acquisition) {
	for _, a := range as {
		_ = s.release(&driver.LeaseRef{Key: a.Key, Owner: a.Owner}) // another owner's stays
		s.serve(now, a.Key)
	}
}

// ReleaseAll frees keys in one step.
func (s *Store) ReleaseAll(ctx context.Context, hs []driver.LeaseRef) []error {
	errs := make([]error, len(hs))
	for i := range hs {
		errs[i] = s.Release(ctx, hs[i])
	}
	return errs
}
