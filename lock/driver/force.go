package driver

import (
	"context"
	"errors"
	"time"
)

// A Forcer is a Driver in which an operator can free a key that others hold. It keeps a record of
// each such change.
type Forcer interface {
	// Force takes the key from all its holders whose fence f includes, in one step with the record
	// that it returns. The fences of the key continue to grow, and owners that wait for the key are
	// served. A key that is only reserved for the next owner of its queue stays reserved, and
	// leases with other fences stay. Force returns ErrFree, and changes nothing, if no owner holds
	// the key under such a fence. A request with an ID that is among the key's records changes
	// nothing and returns that record. Any other error is doubt.
	//
	// A lease that was taken is lost: its renewal and its release are answered with ErrForced, for
	// at least as long as the lease had left.
	Force(ctx context.Context, f ForceRequest) (ForceRecord, error)
	// ForceRecords returns the records of a key, the oldest first, and changes nothing. A key has
	// the latest MaxForceRecords; all are kept for ForceRecordsKept after the latest of them.
	ForceRecords(ctx context.Context, key string) ([]ForceRecord, error)
}

// The bounds of the records of forced unlocks.
const (
	MaxForceRecords  = 8                   // records of one key
	MaxForcedOwners  = 8                   // owners that one record names
	MaxReason        = 200                 // bytes of a reason
	ForceRecordsKept = 90 * 24 * time.Hour // after the latest record of a key
)

// A ForceRequest is a request to free a key by force.
type ForceRequest struct {
	Key    string
	ID     string // of this request, new for each: a repetition with the same ID changes nothing more; 1 to 200 bytes, as an owner
	By     string // the name of the operator, or of the program; 1 to 200 bytes, as an owner
	Reason string // 1 to MaxReason bytes of printable UTF-8
	// From and To are the first and the last fence that the request includes: a lease that was
	// granted with another fence is left alone. So a request whose To is the highest fence that was
	// seen does not free an owner that was granted the key later, however late the request arrives.
	// To 0: all owners that hold the key; From is 0 too.
	From, To int64
}

// Includes reports whether the request includes leases with this fence.
func (f *ForceRequest) Includes(fence int64) bool {
	return f.To == 0 || f.From <= fence && fence <= f.To
}

// A ForceRecord is the record of a key that was freed by force.
type ForceRecord struct {
	ID, By, Reason string
	At             int64         // on the store's clock, Unix ms
	Holders        int           // how many held the key
	Owners         []ForcedOwner // the first MaxForcedOwners of them, the earliest grant first
	Unreadable     string        // the stored text, cut, if it is no record; all other fields are zero then
}

// A ForcedOwner is an owner from which a key was taken.
type ForcedOwner struct {
	Owner string
	Fence int64  // of its grant
	Note  string // of its lease, from a lock.Locker; a Driver leaves it in Owner
}

// ErrFree is the answer to a forced unlock of a key that no owner holds, or none with a fence that
// the request includes.
var ErrFree = errors.New("lock: no owner holds the key")
