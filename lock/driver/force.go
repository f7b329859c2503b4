package driver

import (
	"context"
	"errors"
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
	// error is doubt.
	//
	// A lease that was taken is lost: its renewal and its release are answered with
	// ErrForced, for at least as long as the lease had left.
	Force(ctx context.Context, f ForceRequest) (ForceRecord, error)
	// ForceRecords returns the records of a key, the oldest first, and changes nothing: the
	// latest MaxForceRecords, each for ForceRecordsKept after the latest of them.
	ForceRecords(ctx context.Context, key string) ([]ForceRecord, error)
}

// The bounds of what is kept of forced unlocks.
const (
	MaxForceRecords  = 8                   // records of one key
	MaxForcedOwners  = 8                   // owners that one record names
	MaxReason        = 200                 // bytes of a reason
	ForceRecordsKept = 90 * 24 * time.Hour // after the latest of a key
)

// A ForceRequest is a request to free a key by force.
type ForceRequest struct {
	Key    string
	ID     string // of this request, fresh for each: asked again it changes nothing more; 1 to 200 bytes, as an owner
	By     string // the name of the operator, or of the program; 1 to 200 bytes, as an owner
	Reason string // 1 to MaxReason bytes of printable UTF-8
	// From and To are the first and the last of the fences that it is for: a lease that
	// was granted with another is left alone. So a request whose To is the highest fence
	// that was seen frees no owner that was granted the key later, however late it
	// arrives. To 0: whichever owners hold the key then; From is 0 too.
	From, To int64
}

// Includes reports whether it is for a lease with this fence.
func (f *ForceRequest) Includes(fence int64) bool {
	return f.To == 0 || f.From <= fence && fence <= f.To
}

// A ForceRecord is the record of a key that was freed by force.
type ForceRecord struct {
	ID, By, Reason string
	At             int64         // on the store's clock, Unix ms
	Holders        int           // how many held the key
	Owners         []ForcedOwner // of these the first MaxForcedOwners, the earliest grant first
	Unreadable     string        // what is stored, if it is no record, cut; all else is zero then
}

// A ForcedOwner is an owner that a key was taken from.
type ForcedOwner struct {
	Owner string
	Fence int64  // of its grant
	Note  string // of its lease, from a lock.Locker; a Driver leaves it in Owner
}

// ErrFree is the answer to a forced unlock of a key that no owner holds, or none with a
// fence that it is for.
var ErrFree = errors.New("lock: no owner holds the key")
