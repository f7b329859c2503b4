package memlock

import (
	"context"

	"github.com/cronce/cronce/lock/series"
)

// A position is the number of changes that a store has counted since it lost its data so many times.
type position struct {
	losses int
	step   int64
}

// ChangedSince implements [series.Changes]. It counts changes, so no step of the clock hides one.
func (s *Store) ChangedSince(ctx context.Context, since series.Position) (keys []string, now series.Position, complete bool, err error) {
	if err := doubt(ctx, "read the changes since", "a position"); err != nil {
		return nil, nil, false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	before, known := since.(position)
	for key, r := range s.series {
		if r.journal.changed > before.step {
			keys = append(keys, key)
		}
	}
	return keys, position{s.losses, s.pen.step}, known && before.losses == s.losses, nil
}
