package lock

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"
)

// A Forcer is a Driver in which an operator can free a key that others hold, and that
// keeps a record of it.
type Forcer interface {
	// Force takes the key from all that hold it under one of the fences that f is for, in
	// one step with the record that it returns. The fences of the key go on growing, and
	// those that wait for it are served. A key that is only kept for the next of its queue
	// stays kept, and so do leases with other fences. Force returns ErrFree, and changes
	// nothing, if no owner holds the key under such a fence. Asked again with an ID that
	// is among the key's records it changes nothing and returns that record. Any other
	// error is doubt, or an *ArgumentError.
	//
	// A lease that was taken is lost: its renewal and its release are answered with
	// ErrForced, for at least as long as the lease had left.
	Force(ctx context.Context, f Forcing) (Forced, error)
	// Forcings returns the records of a key, the oldest first, and changes nothing: the
	// latest MaxForcings, each for ForcingsKept after the latest of them.
	Forcings(ctx context.Context, key string) ([]Forced, error)
}

// The bounds of what is kept of forced unlocks.
const (
	MaxForcings      = 8                   // records of one key
	MaxForcingOwners = 8                   // owners that one record names
	MaxReason        = 200                 // bytes of a reason
	ForcingsKept     = 90 * 24 * time.Hour // after the latest of a key
)

// A Forcing is a request to free a key by force.
type Forcing struct {
	Key    string
	ID     string // of this request, fresh for each: asked again it changes nothing more; 1 to 200 bytes, as an owner
	By     string // the person who asks, or the program; 1 to 200 bytes, as an owner
	Reason string // 1 to MaxReason bytes of printable UTF-8
	// From and To are the first and the last of the fences that it is for: a lease that
	// was granted with another is left alone. So a Forcing whose To is the highest fence
	// that was seen frees no owner that was granted the key later, however late it
	// arrives. To 0: whichever owners hold the key then; From is 0 too.
	From, To int64
}

// Includes reports whether it is for a lease with this fence.
func (f *Forcing) Includes(fence int64) bool { return f.To == 0 || f.From <= fence && fence <= f.To }

// A Forced is the record of a key that was freed by force.
type Forced struct {
	ID, By, Reason string
	At             int64         // on the store's clock, Unix ms
	Holders        int           // how many held the key
	Owners         []ForcedOwner // of these the first MaxForcingOwners, the earliest grant first
	Unreadable     string        // what is stored, if it is no record, cut; all else is zero then
}

// A ForcedOwner is an owner that a key was taken from.
type ForcedOwner struct {
	Owner string
	Fence int64  // of its grant
	Note  string // of its lease, from a Locker; a Driver leaves it in Owner
}

// ErrFree is the answer to a forced unlock of a key that no owner holds, or none with a
// fence that it is for.
var ErrFree = errors.New("lock: no owner holds the key")

// ErrForced is the cause of a lease's ended context when the key was freed by force. It
// wraps ErrLost. Another owner may have been granted the key already, with a higher fence.
var ErrForced = fmt.Errorf("%w: the key was freed by force", ErrLost)

// CheckForcing refuses a forced unlock that no store could answer.
func CheckForcing(f *Forcing) error {
	if err := first(CheckKey(f.Key), CheckName("ID", f.ID), CheckName("by", f.By)); err != nil {
		return err
	}
	if f.Reason == "" || len(f.Reason) > MaxReason || !prints(f.Reason) {
		return refuse("reason", quote(f.Reason), fmt.Sprintf("1 to %d bytes of printable UTF-8", MaxReason))
	}
	if f.From < 0 || f.From > f.To || f.To > MaxNumber {
		return refuse("fences", fmt.Sprintf("%d to %d", f.From, f.To), fmt.Sprintf("0 to %d, the first not above the last", int64(MaxNumber)))
	}
	return nil
}

// Force frees a key that others hold, whatever they do with it: it is for an operator
// that knows that the holder is gone, or stuck. A holder that lives learns of it with its
// next renewal, up to a third of its TTL later, and works on until then, beside the next
// owner: only a guarded resource refuses it, by the fence. A holder with a fixed lease, or
// one that ends before its next renewal, learns of it with its release, which returns
// ErrForced.
//
// The store keeps a record: see [Locker.Forcings]. If f.ID is empty Force makes one. After
// doubt it asks again, with the same ID, until ctx ends or for 3 seconds, and returns the
// doubt then, within 100 ms of the end of ctx: the key was freed, or not, or will be when the request arrives late. So
// read [Locker.Holders] first and let f.To be their highest fence: then an owner that is
// granted the key later keeps it. ErrFree: no owner holds the key, or none with a fence
// that f is for, and no record is kept. ErrUnsupported: the store is no [Forcer].
func (l *Locker) Force(ctx context.Context, f Forcing) (Forced, error) {
	forcer, ok := l.driver.(Forcer)
	if !ok {
		return Forced{}, fmt.Errorf("lock: free %q by force: %w", f.Key, ErrUnsupported)
	}
	if f.ID == "" {
		f.ID = rand.Text()
	}
	if err := CheckForcing(&f); err != nil {
		return Forced{}, err
	}
	doubt := named(ctx, fmt.Sprintf("free %q by force", f.Key))
	return inTime(ctx, l, doubt, func(latest *noted) (made Forced, err error) {
		err = insist(ctx, tryTime(MaxTTL), func(bound context.Context) (err error) {
			made, err = forcer.Force(bound, f)
			latest.note(err)
			return err
		})
		if doubtful(err) {
			return Forced{}, doubt(err)
		}
		made.cutNotes()
		return made, err
	})
}

// Forcings returns the records of a key that was freed by force, the oldest first: at
// most the latest MaxForcings. It changes nothing, and returns within 100 ms of the end of ctx. ErrUnsupported: the store is no
// [Forcer]; any other error is doubt, or an *ArgumentError.
func (l *Locker) Forcings(ctx context.Context, key string) ([]Forced, error) {
	forcer, ok := l.driver.(Forcer)
	if !ok {
		return nil, fmt.Errorf("lock: records of %q: %w", key, ErrUnsupported)
	}
	if err := CheckKey(key); err != nil {
		return nil, err
	}
	all, err := inTime(ctx, l, named(ctx, fmt.Sprintf("records of %q", key)), func(*noted) ([]Forced, error) { return forcer.Forcings(ctx, key) })
	for i := range all {
		all[i].cutNotes()
	}
	return all, ended(ctx, err)
}

// cutNotes parts the owners from the notes of their leases.
func (f *Forced) cutNotes() {
	for i := range f.Owners {
		o := &f.Owners[i]
		o.Owner, o.Note, _ = CutNote(o.Owner)
	}
}
