package memlock

import "github.com/cronce/cronce/lock"

// Leases is how many plain leases the store keeps, expired ones included.
func (s *Store) Leases() int { return len(s.leases) }

// Desert takes a place for an owner that never answers.
func (s *Store) Desert(a lock.Acquisition) error {
	_, err := s.askInLine(&a, newPlace(&a))
	return err
}
