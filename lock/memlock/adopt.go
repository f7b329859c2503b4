package memlock

import (
	"context"
	"fmt"

	"github.com/cronce/cronce/lock/driver"
)

// Adopt gives a key from one owner to another.
func (s *Store) Adopt(ctx context.Context, from driver.LeaseRef, to driver.Acquisition) (driver.Grant, error) {
	if err := doubt(ctx, "adopt", to.Key); err != nil {
		return driver.Grant{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	held := s.alive(now, to.Key)
	mine, old := find(held, to.Owner), find(held, from.Owner)
	switch {
	case mine >= 0 && held[mine].next == nil:
		return driver.Grant{Fence: held[mine].fence, Left: held[mine].until.Sub(now)}, nil
	case mine >= 0 || old < 0 || held[old].next != nil || held[old].fence != from.Fence:
		return driver.Grant{}, driver.ErrLost
	}
	if err := driver.CheckFence(s.fences.next(&to, now.UnixMicro()), now.UnixMicro()); err != nil {
		return driver.Grant{}, fmt.Errorf("lock: adopt %q: %w", to.Key, err)
	}
	s.books.open(now, to.Key).HandOver(now.UnixMicro(), held[old].holder())
	fence := s.fences.take(&to, now.UnixMicro())
	held[old] = lease{owner: to.Owner, fence: fence, until: now.Add(to.TTL), limit: held[old].limit}
	return driver.Grant{Fence: fence, Left: to.TTL}, nil
}
