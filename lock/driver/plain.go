package driver

import (
	"context"
	"math"
	"time"
)

// NoLimit is the limit of a reader: it shares the key with any number of other readers.
const NoLimit = math.MaxInt32

// A Sharer is a Driver in which owners can hold a key together. Each acquisition
// has a limit: how many may hold the key at once, its owner included. The limits
// 0 and 1 are a mutex's, or a writer's; k is that of a semaphore with k permits,
// and [NoLimit] a reader's. One rule serves all of them, also mixed: an owner is
// granted the key if the holders that are alive, and it, are no more than the
// smallest limit among them.
//
// Each holder has its own deadline and its own fence, greater than in every
// earlier grant of the key, and renews and releases for itself. A release is
// ErrLost for an owner that does not hold the key while others do. Waiters are
// still served first come, first served: an owner that fits is granted only once
// no other waits before it, so a writer that waits makes later readers wait, and
// readers that wait next to each other go in together.
//
// A lock.Locker asks only a Sharer for limits above 1.
type Sharer interface {
	Driver
	// Holders returns the owners that hold a key, the earliest grant first, and changes
	// nothing. Owners for which the key is only kept until they take it come last,
	// without a fence.
	Holders(ctx context.Context, key string) ([]Holder, error)
}

// A Holder is one owner that holds a key.
type Holder struct {
	Owner string
	Fence int64         // of the grant; 0 if the key is only kept for this owner
	Left  time.Duration // until its deadline
	Limit int           // of its acquisition, 1 or more
	Note  string        // of its lease, from lock.Locker.Holders; a Driver leaves it in Owner
}

// A MultiAcquirer is a Driver that takes several keys in one step.
type MultiAcquirer interface {
	// AcquireAll asks for all keys once and is granted all of them or none:
	// each grant stands in the place of its acquisition. All have one owner and
	// no key comes twice. A *HeldError names a key that another owner has, or that
	// others wait for; none is held by the owner then. ErrUnsupported: these keys
	// do not live together, nothing was sent. Any other error is doubt about all.
	AcquireAll(ctx context.Context, as []Acquisition) ([]Grant, error)
	// ReleaseAll frees keys that live together; the answer to each, as Release
	// gives it, stands in its place.
	ReleaseAll(ctx context.Context, hs []LeaseRef) []error
}

// A MultiRenewer is a Driver that renews many leases with few requests. A lock.Locker
// renews the leases of any other driver one by one, and can keep fewer.
type MultiRenewer interface {
	// RenewAll renews leases, split as the store needs; a lock.Locker asks for up to 200.
	// The answer to each, as Renew gives it, stands in its place: one that is lost, or
	// that the store cannot read, says nothing about the others.
	RenewAll(ctx context.Context, hs []LeaseRef) []Renewal
}

// A Renewal is the answer to the renewal of one lease of several.
type Renewal struct {
	Grant
	Err error // as Renew returns it
}

// Distributed is a MultiRenewer whose leases are judged by several servers, each of which
// can be silent while the others answer. A lock.Locker sends renewals of each apart.
type Distributed interface {
	// Server names the server that judges a key. Leases of two servers may have one name,
	// while it is not known which it is.
	Server(key string) string
}

// A KeyState is what a store returns about a key. It is old when it arrives: it is for
// people and for measuring, and decides nothing.
type KeyState struct {
	Owner   string        // the owner that has the key, of several the one with the earliest grant; empty: it is free
	Fence   int64         // of the grant; 0 if the key is free or only kept for its next owner
	Left    time.Duration // until the deadline
	Waiting int           // how many places there are in the queue; one per process and key
}

// An Inspector is a Driver that reads the state of a key.
type Inspector interface {
	// Inspect reads the state of a key and changes nothing.
	Inspect(ctx context.Context, key string) (KeyState, error)
}
