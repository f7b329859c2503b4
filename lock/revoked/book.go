// Package revoked keeps the leases on a plain key that were taken from their owners, as pure code for
// stores: the records of forced unlocks, and for how long the owner of such a lease is answered
// with the cause. Times are µs since 1970 on the store's clock.
package revoked

import (
	"cmp"
	"math"
	"slices"

	"github.com/cronce/cronce/lock/driver"
)

// MaxLeases is how many leases a Book keeps: the latest. Owners of earlier ones are answered
// without a cause.
const MaxLeases = 500

// A Book is the leases and records of one key. The zero value is empty.
type Book struct {
	records []driver.ForceRecord // the oldest first; at most driver.MaxForceRecords
	leases  []lease              // in the order in which they were taken; at most MaxLeases
}

// A lease is one that was taken from its owner.
type lease struct {
	owner string
	fence int64
	until int64 // when its time would have ended
}

// A Holder is an owner from which a lease is taken.
type Holder struct {
	Owner string
	Fence int64
	Until int64 // when its time would end
}

// Record returns the record of an unlock, if it is still kept. An unreadable record has no ID.
func (b *Book) Record(id string) (driver.ForceRecord, bool) {
	for _, made := range b.records {
		if made.ID == id {
			return copied(made), true
		}
	}
	return driver.ForceRecord{}, false
}

// Records returns the records of unlocks that are kept at now, the oldest first.
func (b *Book) Records(now int64) []driver.ForceRecord {
	if b.outdated(now) {
		return nil
	}
	var all []driver.ForceRecord
	for _, made := range b.records {
		all = append(all, copied(made))
	}
	return all
}

// copied returns a copy of a record, which the caller may change.
func copied(f driver.ForceRecord) driver.ForceRecord {
	f.Owners = slices.Clone(f.Owners)
	return f
}

// Force records an unlock at now that takes the key from its holders, one or more.
func (b *Book) Force(now int64, f *driver.ForceRequest, from []Holder) driver.ForceRecord {
	from = slices.SortedStableFunc(slices.Values(from), func(a, b Holder) int { return cmp.Compare(a.Fence, b.Fence) })
	made := driver.ForceRecord{ID: f.ID, By: f.By, Reason: f.Reason, At: now / 1000, Holders: len(from)}
	for i, h := range from {
		if i < driver.MaxForcedOwners {
			made.Owners = append(made.Owners, driver.ForcedOwner{Owner: h.Owner, Fence: h.Fence})
		}
	}
	if b.outdated(now) {
		b.records = nil
	}
	b.records = append(b.records, made)
	b.records = slices.Clone(b.records[max(0, len(b.records)-driver.MaxForceRecords):])
	b.revoke(now, from)
	return copied(made)
}

func (b *Book) revoke(now int64, from []Holder) {
	b.leases = slices.DeleteFunc(b.leases, func(l lease) bool { return l.until <= now })
	for _, h := range from {
		b.leases = append(b.leases, lease{h.Owner, h.Fence, h.Until})
	}
	b.leases = slices.Clone(b.leases[max(0, len(b.leases)-MaxLeases):])
}

// Why returns lock.ErrForced if the lease was taken from its owner and its time is not over at now,
// and otherwise if that is not known. It is not known for an owner without a fence.
func (b *Book) Why(now int64, h *driver.LeaseRef, otherwise error) error {
	for _, l := range b.leases {
		if l.owner == h.Owner && l.fence == h.Fence && now < l.until {
			return driver.ErrForced
		}
	}
	return otherwise
}

// Expires returns the time after which the book can be deleted: its records are kept for longer than any
// lease lasts. If its latest record cannot be read, it is never deleted.
func (b *Book) Expires() int64 {
	if len(b.records) == 0 {
		return 0
	}
	latest := &b.records[len(b.records)-1]
	if latest.Unreadable != "" {
		return math.MaxInt64
	}
	return latest.At*1000 + driver.ForceRecordsKept.Microseconds()
}

// outdated reports whether the time of all records is over at now.
func (b *Book) outdated(now int64) bool {
	n := len(b.records)
	if n == 0 || b.records[n-1].Unreadable != "" {
		return false
	}
	return now-b.records[n-1].At*1000 >= driver.ForceRecordsKept.Microseconds()
}
