package memlock

import (
	"context"
	"maps"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/revoked"
)

// books are the books of leases that were taken, by key. The zero value is ready to use.
type books struct {
	all     map[string]*revoked.Book
	sweepAt int // how many books there must be before outdated ones are deleted
}

// of returns the book of a key, for reading.
func (b *books) of(key string) *revoked.Book {
	if is := b.all[key]; is != nil {
		return is
	}
	return new(revoked.Book)
}

// open returns the book of a key, for writing.
func (b *books) open(now time.Time, key string) *revoked.Book {
	if is := b.all[key]; is != nil {
		return is
	}
	if b.all == nil {
		b.all = make(map[string]*revoked.Book)
	}
	if len(b.all) >= max(b.sweepAt, minSweep) {
		maps.DeleteFunc(b.all, func(_ string, is *revoked.Book) bool { return is.Expires() <= now.UnixMicro() })
		b.sweepAt = 2 * len(b.all)
	}
	is := new(revoked.Book)
	b.all[key] = is
	return is
}

// why returns the error that says how a lease was taken, or otherwise if it was not taken.
func (b *books) why(now time.Time, h *driver.LeaseRef, otherwise error) error {
	return b.of(h.Key).Why(now.UnixMicro(), h, otherwise)
}

// holder returns the owner of a lease that is taken.
func (l *lease) holder() revoked.Holder {
	return revoked.Holder{Owner: l.owner, Fence: l.fence, Until: l.until.UnixMicro()}
}

// Force implements [driver.Forcer].
func (s *Store) Force(ctx context.Context, f driver.ForceRequest) (driver.ForceRecord, error) {
	if err := doubt(ctx, "free by force", f.Key); err != nil {
		return driver.ForceRecord{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if made, known := s.books.of(f.Key).Record(f.ID); known {
		return made, nil
	}
	var from []revoked.Holder
	var kept []lease
	for _, l := range s.alive(now, f.Key) {
		if l.next == nil && f.Includes(l.fence) {
			from = append(from, l.holder())
		} else {
			kept = append(kept, l)
		}
	}
	if len(from) == 0 {
		return driver.ForceRecord{}, driver.ErrFree
	}
	made := s.books.open(now, f.Key).Force(now.UnixMicro(), &f, from)
	s.setLeases(f.Key, kept)
	s.serve(now, f.Key)
	return made, nil
}

// ForceRecords implements [driver.Forcer].
func (s *Store) ForceRecords(ctx context.Context, key string) ([]driver.ForceRecord, error) {
	if err := doubt(ctx, "read the records of", key); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.books.of(key).Records(s.now().UnixMicro()), nil
}
