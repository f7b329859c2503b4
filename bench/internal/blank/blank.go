// Package blank is a store that keeps nothing: every claim is answered as
// decided by another node. Below a scheduler it leaves the timetable to be
// measured alone.
package blank

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/cronce/cronce/lock"
)

// A Store answers at once. Shift is added to its clock, which is this machine's.
type Store struct {
	Shift time.Duration
	asked atomic.Int64
}

// Asked is how many claims were answered so far.
func (s *Store) Asked() int64 { return s.asked.Load() }

func (s *Store) now() time.Time { return time.Now().Add(s.Shift).Round(0) }

// Claim answers passed.
func (s *Store) Claim(_ context.Context, cs []lock.Claim) []lock.Answer {
	s.asked.Add(int64(len(cs)))
	now := s.now().UnixMilli()
	answers := make([]lock.Answer, len(cs))
	for i := range cs {
		answers[i] = lock.Answer{Kind: lock.Passed, Number: cs[i].Number, State: lock.RunDone, Mark: cs[i].Number, Now: now}
	}
	return answers
}

// Open answers that the series begins now.
func (s *Store) Open(_ context.Context, os []lock.Opening) []lock.Series {
	now := s.now().UnixMilli()
	all := make([]lock.Series, len(os))
	for i, o := range os {
		all[i] = lock.Series{Key: o.Key, Now: now, Mark: max(now, o.Mark), Since: now}
	}
	return all
}

// Look answers that nothing is open.
func (s *Store) Look(_ context.Context, keys []string) []lock.Series {
	return make([]lock.Series, len(keys))
}

// RenewRuns answers that nothing is held.
func (s *Store) RenewRuns(_ context.Context, rs []lock.RunRef) []lock.Renewed {
	return make([]lock.Renewed, len(rs))
}

// ReleaseRuns answers that nothing was held.
func (s *Store) ReleaseRuns(_ context.Context, es []lock.Ending) []lock.Ended {
	return make([]lock.Ended, len(es))
}

// Pause does nothing.
func (s *Store) Pause(context.Context, string, int64) lock.Series { return lock.Series{} }

// Resume does nothing.
func (s *Store) Resume(context.Context, string, int64) lock.Series { return lock.Series{} }

// Journal is empty.
func (s *Store) Journal(_ context.Context, key string, _ int) (lock.Journal, error) {
	return lock.Journal{Key: key}, nil
}

// Keys are none.
func (s *Store) Keys(context.Context) ([]string, error) { return nil, nil }

// Acquire grants nothing.
func (s *Store) Acquire(_ context.Context, a lock.Acquisition) (lock.Grant, error) {
	return lock.Grant{}, &lock.HeldError{Key: a.Key, Left: a.TTL}
}

// Renew answers that the lease is lost.
func (s *Store) Renew(context.Context, lock.Holding) (lock.Grant, error) {
	return lock.Grant{}, lock.ErrLost
}

// Release does nothing.
func (s *Store) Release(context.Context, lock.Holding) error { return nil }

// Now reads the clock.
func (s *Store) Now(context.Context) ([]lock.Reading, error) {
	now := time.Now()
	return []lock.Reading{{Server: "blank", Time: s.now(), Sent: now, Received: time.Now()}}, nil
}

// Beat answers that the node is alone.
func (s *Store) Beat(ctx context.Context, node string, _ time.Duration) (lock.Pulse, error) {
	readings, err := s.Now(ctx)
	return lock.Pulse{Nodes: []string{node}, Readings: readings}, err
}

// Leave does nothing.
func (s *Store) Leave(context.Context, string) error { return nil }

// Members answers that no node is known.
func (s *Store) Members(context.Context) (lock.Roll, error) { return lock.Roll{}, nil }
