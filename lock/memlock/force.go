package memlock

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/cronce/cronce/lock"
)

// A taking is a lease that was taken from its owner before its time was over. It is
// remembered until then, so that the owner's renewal can be answered with the cause.
type taking struct {
	fence int64
	until time.Time
	why   error
}

// A holder names an owner of a key.
type holder struct{ key, owner string }

// takings are the leases that were taken. The zero value is ready.
type takings struct {
	all     map[holder]taking
	sweepAt int // how many there must be to look for those whose time is over
}

func (t *takings) add(now time.Time, key string, l *lease, why error) {
	if t.all == nil {
		t.all = make(map[holder]taking)
	}
	if len(t.all) >= max(t.sweepAt, minSweep) {
		maps.DeleteFunc(t.all, func(_ holder, at taking) bool { return !now.Before(at.until) })
		t.sweepAt = 2 * len(t.all)
	}
	t.all[holder{key, l.owner}] = taking{l.fence, l.until, why}
}

// why is why a lease is not alive.
func (t *takings) why(now time.Time, h *lock.Holding) error {
	at, known := t.all[holder{h.Key, h.Owner}]
	if known && at.fence == h.Fence && now.Before(at.until) {
		return at.why
	}
	return lock.ErrLost
}

// forcings are the records of keys that were freed by force. The zero value is ready.
type forcings struct {
	all     map[string][]lock.Forced
	sweepAt int // how many keys there must be to look for those whose time is over
}

// of returns the records of a key.
func (f *forcings) of(now time.Time, key string) []lock.Forced {
	all := f.all[key]
	if outdated(now, all) {
		delete(f.all, key)
		return nil
	}
	return all
}

func outdated(now time.Time, all []lock.Forced) bool {
	return len(all) > 0 && now.Sub(time.UnixMilli(all[len(all)-1].At)) >= lock.ForcingsKept
}

func (f *forcings) add(now time.Time, key string, made lock.Forced) {
	if f.all == nil {
		f.all = make(map[string][]lock.Forced)
	}
	if len(f.all) >= max(f.sweepAt, minSweep) {
		maps.DeleteFunc(f.all, func(_ string, all []lock.Forced) bool { return outdated(now, all) })
		f.sweepAt = 2 * len(f.all)
	}
	all := append(f.all[key], made)
	f.all[key] = slices.Clone(all[max(0, len(all)-lock.MaxForcings):])
}

// Force takes a key from all that hold it.
func (s *Store) Force(ctx context.Context, f lock.Forcing) (lock.Forced, error) {
	if err := lock.CheckForcing(&f); err != nil {
		return lock.Forced{}, err
	}
	if err := doubt(ctx, "free by force", f.Key); err != nil {
		return lock.Forced{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	for _, made := range s.forcings.of(now, f.Key) {
		if made.ID == f.ID {
			return copied(made), nil
		}
	}
	var taken, kept []lease
	for _, l := range s.alive(now, f.Key) {
		if l.next == nil {
			taken = append(taken, l)
		} else {
			kept = append(kept, l)
		}
	}
	if len(taken) == 0 {
		return lock.Forced{}, lock.ErrFree
	}
	slices.SortFunc(taken, func(a, b lease) int { return cmp.Compare(a.fence, b.fence) })
	made := lock.Forced{ID: f.ID, By: f.By, Reason: f.Reason, At: now.UnixMilli(), Holders: len(taken)}
	for i := range taken {
		s.takings.add(now, f.Key, &taken[i], lock.ErrForced)
		if i < lock.MaxForcingOwners {
			made.Owners = append(made.Owners, lock.ForcedOwner{Owner: taken[i].owner, Fence: taken[i].fence})
		}
	}
	s.setLeases(f.Key, kept)
	s.forcings.add(now, f.Key, made)
	s.serve(now, f.Key)
	return copied(made), nil
}

// copied is a record that its reader may change.
func copied(f lock.Forced) lock.Forced {
	f.Owners = slices.Clone(f.Owners)
	return f
}

// Forcings returns the records of a key that was freed by force.
func (s *Store) Forcings(ctx context.Context, key string) ([]lock.Forced, error) {
	if err := lock.CheckKey(key); err != nil {
		return nil, err
	}
	if err := doubt(ctx, "read the records of", key); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []lock.Forced
	for _, made := range s.forcings.of(s.now(), key) {
		all = append(all, copied(made))
	}
	return all, nil
}
