package memlock

import (
	"context"
	"fmt"

	"github.com/cronce/cronce/lock"
)

// Adopt gives a key from one owner to another.
func (s *Store) Adopt(ctx context.Context, from lock.Holding, to lock.Acquisition) (lock.Grant, error) {
	if err := lock.CheckAdoption(&from, &to); err != nil {
		return lock.Grant{}, err
	}
	if err := doubt(ctx, "adopt", to.Key); err != nil {
		return lock.Grant{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	held := s.alive(now, to.Key)
	mine, old := find(held, to.Owner), find(held, from.Owner)
	switch {
	case mine >= 0 && held[mine].next == nil:
		return lock.Grant{Fence: held[mine].fence, Left: held[mine].until.Sub(now)}, nil
	case mine >= 0 || old < 0 || held[old].next != nil || held[old].fence != from.Fence:
		return lock.Grant{}, lock.ErrLost
	}
	if err := lock.CheckFence(s.fences.next(&to, now.UnixMicro()), now.UnixMicro()); err != nil {
		return lock.Grant{}, fmt.Errorf("lock: adopt %q: %w", to.Key, err)
	}
	s.books.open(now, to.Key).HandOver(now.UnixMicro(), held[old].holder())
	fence := s.fences.take(&to, now.UnixMicro())
	held[old] = lease{owner: to.Owner, fence: fence, until: now.Add(to.TTL), limit: held[old].limit}
	return lock.Grant{Fence: fence, Left: to.TTL}, nil
}
