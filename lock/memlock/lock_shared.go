package memlock

import (
	"context"
	"time"

	"github.com/cronce/cronce/lock/driver"
)

// AcquireAll implements [driver.MultiAcquirer].
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

// freeAll takes back the keys that an earlier request of the owner was granted, and gives the
// reservations that this one has displaced in vain to their owners again.
func (s *Store) freeAll(now time.Time, as []driver.Acquisition) {
	for _, a := range as {
		_ = s.release(&driver.LeaseRef{Key: a.Key, Owner: a.Owner}) // the lease of another owner stays
		s.serve(now, a.Key)
	}
}

// ReleaseAll implements [driver.MultiAcquirer].
func (s *Store) ReleaseAll(ctx context.Context, hs []driver.LeaseRef) []error {
	errs := make([]error, len(hs))
	for i := range hs {
		errs[i] = s.Release(ctx, hs[i])
	}
	return errs
}
