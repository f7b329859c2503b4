package memlock

import (
	"github.com/cronce/cronce/lock/driver"
)

// Leases is how many plain leases the store keeps, expired ones included.
func (s *Store) Leases() int { return len(s.leases) }

// Abandon takes a place for an owner that never answers.
func (s *Store) Abandon(a driver.Acquisition) error {
	_, err := s.askInLine(&a, newPlace(&a))
	return err
}

// Nodes is how many nodes the store keeps, those that are over included.
func (s *Store) Nodes() int { return len(s.nodes) }

// FencesAhead is how many keys the store keeps a fence of that lies ahead of its counter.
func (s *Store) FencesAhead() int { return len(s.fences.ahead) }
