package memlock

import (
	"context"
	"time"

	"github.com/cronce/cronce/lock"
)

// AcquireSeveral asks for all keys in one step.
func (s *Store) AcquireSeveral(ctx context.Context, as []lock.Acquisition) ([]lock.Grant, error) {
	if err := lock.CheckSeveral(as); err != nil {
		return nil, err
	}
	for i := range as {
		if err := lock.CheckNoReplicas(as[i].Replicas); err != nil {
			return nil, err
		}
	}
	if err := doubt(ctx, "acquire", as[0].Key); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	grants := make([]lock.Grant, len(as))
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
func (s *Store) freeAll(now time.Time, as []lock.Acquisition) {
	for _, a := range as {
		_ = s.release(&lock.Holding{Key: a.Key, Owner: a.Owner}) // another owner's stays
		s.serve(now, a.Key)
	}
}

// ReleaseSeveral frees keys in one step.
func (s *Store) ReleaseSeveral(ctx context.Context, hs []lock.Holding) []error {
	errs := make([]error, len(hs))
	for i := range hs {
		errs[i] = s.Release(ctx, hs[i])
	}
	return errs
}
