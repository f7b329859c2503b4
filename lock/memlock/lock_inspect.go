package memlock

import (
	"context"

	"github.com/cronce/cronce/lock/driver"
)

// Inspect implements [driver.Inspector].
func (s *Store) Inspect(ctx context.Context, key string) (driver.KeyState, error) {
	if err := doubt(ctx, "inspect", key); err != nil {
		return driver.KeyState{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at := driver.KeyState{Waiting: len(s.queues[key])}
	if all := s.holders(key); len(all) > 0 {
		at.Owner, at.Fence, at.Left = all[0].Owner, all[0].Fence, all[0].Left
	}
	return at, nil
}

// Holders implements [driver.Sharer].
func (s *Store) Holders(ctx context.Context, key string) ([]driver.Holder, error) {
	if err := doubt(ctx, "read the holders of", key); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.holders(key), nil
}

// holders returns the owners that hold the key, and then those for which it is reserved.
func (s *Store) holders(key string) []driver.Holder {
	now := s.now()
	var all, kept []driver.Holder
	for _, l := range s.alive(now, key) {
		h := driver.Holder{Owner: l.owner, Fence: l.fence, Left: l.until.Sub(now), Limit: max(l.limit, 1)}
		if l.next != nil {
			kept = append(kept, h)
		} else {
			all = append(all, h)
		}
	}
	return append(all, kept...)
}
