package lock

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/cronce/cronce/lock/driver"
)

// Force frees a key that others hold. It is for an operator that knows that the holder is gone, or
// stuck. The lease of a live holder ends with its next renewal, up to a third of its TTL later.
// Until then the holder works on beside the next owner, and only a guarded resource rejects it, by
// the fence. A fixed lease, and one that ends before its next renewal, returns ErrForced from its
// release.
//
// The store keeps a record: see [Locker.ForceRecords]. If f.ID is empty, Force makes one. After
// doubt Force repeats the request with the same ID until ctx ends, but for no longer than 3
// seconds. It then returns the doubt, within 100 ms of the end of ctx: the key was freed, or not,
// or will be when the request arrives late. So read [Locker.Holders] first and let f.To be their
// highest fence: an owner that is granted the key later then keeps it.
//
// Force returns [driver.ErrFree], and makes no record, if no owner holds the key, or none with a fence that
// f includes. It returns ErrUnsupported if the store is no [driver.Forcer].
func (l *Locker) Force(ctx context.Context, f driver.ForceRequest) (driver.ForceRecord, error) {
	forcer, ok := l.driver.(driver.Forcer)
	if !ok {
		return driver.ForceRecord{}, fmt.Errorf("lock: free %q by force: %w", f.Key, ErrUnsupported)
	}
	if f.ID == "" {
		f.ID = rand.Text()
	}
	if err := driver.CheckForce(&f); err != nil {
		return driver.ForceRecord{}, err
	}
	doubt := named(ctx, fmt.Sprintf("free %q by force", f.Key))
	return inTime(ctx, l, doubt, func(latest *noted) (made driver.ForceRecord, err error) {
		err = retry(ctx, tryTime(driver.MaxTTL), func(bound context.Context) (err error) {
			made, err = forcer.Force(bound, f)
			latest.note(err)
			return err
		})
		if doubtful(err) {
			return driver.ForceRecord{}, doubt(err)
		}
		cutNotes(&made)
		return made, err
	})
}

// ForceRecords returns the records of a key that was freed by force, the oldest first: at most the
// latest driver.MaxForceRecords. It changes nothing, and returns within 100 ms of the end of ctx.
// It returns ErrUnsupported if the store is no [driver.Forcer]; any other error is doubt, or an
// *ArgumentError.
func (l *Locker) ForceRecords(ctx context.Context, key string) ([]driver.ForceRecord, error) {
	forcer, ok := l.driver.(driver.Forcer)
	if !ok {
		return nil, fmt.Errorf("lock: records of %q: %w", key, ErrUnsupported)
	}
	if err := driver.CheckKey(key); err != nil {
		return nil, err
	}
	all, err := inTime(ctx, l, named(ctx, fmt.Sprintf("records of %q", key)), func(*noted) ([]driver.ForceRecord, error) { return forcer.ForceRecords(ctx, key) })
	for i := range all {
		cutNotes(&all[i])
	}
	return all, contextError(ctx, err)
}

// cutNotes separates the owners from the notes of their leases.
func cutNotes(f *driver.ForceRecord) {
	for i := range f.Owners {
		o := &f.Owners[i]
		o.Owner, o.Note, _ = driver.CutNote(o.Owner)
	}
}
