package driver

import (
	"context"
	"math"
	"time"
)

// NoLimit is the limit of a reader: it shares the key with any number of other readers.
const NoLimit = math.MaxInt32

// A Sharer is a Driver in which owners can hold a key together. Each acquisition has a limit: how
// many owners may hold the key at once, its own included. The limits 0 and 1 make a mutex, or a
// writer; k makes a semaphore with k permits, and [NoLimit] a reader. One rule serves all of them,
// also mixed: an owner is granted the key if the live holders, and this owner, are no more than the
// smallest limit among them.
//
// Each holder has its own deadline and its own fence, greater than in every earlier grant of the
// key, and renews and releases for itself. While others hold the key, a release by an owner that
// does not hold it returns ErrLost. Waiters are still served first come, first served: an owner that fits
// is granted only if no other waits before it. So a writer that waits makes later readers wait, and
// adjacent readers in the queue are granted together.
//
// A lock.Locker sends limits above 1 only to a Sharer.
type Sharer interface {
	Driver
	// Holders returns the owners that hold a key, the earliest grant first, and changes nothing.
	// Owners for which the key is only reserved until they take it come last, without a fence.
	Holders(ctx context.Context, key string) ([]Holder, error)
}

// A Holder is one owner that holds a key.
type Holder struct {
	Owner string
	Fence int64         // of the grant; 0 if the key is only reserved for this owner
	Left  time.Duration // until its deadline
	Limit int           // of its acquisition, 1 or more
	Note  string        // of its lease, from lock.Locker.Holders; a Driver leaves it in Owner
}

// A MultiAcquirer is a Driver that takes several keys in one step.
type MultiAcquirer interface {
	// AcquireAll requests all keys once and is granted all of them or none, with the grants in the
	// order of the acquisitions. All acquisitions have one owner, and no key comes twice. A
	// *HeldError names a key that another owner has, or that others wait for; this owner then holds
	// none. ErrUnsupported: the store cannot take these keys in one step, and nothing was sent. Any
	// other error is doubt about all keys.
	AcquireAll(ctx context.Context, as []Acquisition) ([]Grant, error)
	// ReleaseAll frees keys that the store can take in one step, and returns the results, each as of
	// Release, in the order of hs.
	ReleaseAll(ctx context.Context, hs []LeaseRef) []error
}

// A MultiRenewer is a Driver that renews many leases with few requests. A lock.Locker renews the
// leases of any other driver one by one, and can keep fewer.
type MultiRenewer interface {
	// RenewAll renews leases, split as the store needs; a lock.Locker passes up to 200. It returns
	// the results, each as of Renew, in the order of hs: a lease that is lost, or that the store
	// cannot read, does not affect the others.
	RenewAll(ctx context.Context, hs []LeaseRef) []Renewal
}

// A Renewal is the result for one lease of RenewAll.
type Renewal struct {
	Grant
	Err error // as Renew returns it
}

// Distributed is a MultiRenewer whose leases are judged by several servers. Each server can be
// silent while the others answer, so a lock.Locker sends separate renewals to each.
type Distributed interface {
	// Server names the server that judges a key. While the server is not known, leases of two
	// servers may have the same name.
	Server(key string) string
}

// A KeyState is the state of a key in a store. It may be out of date when it arrives: use it to
// show and to measure, never to decide.
type KeyState struct {
	Owner   string        // the owner that has the key, of several the one with the earliest grant; empty: it is free
	Fence   int64         // of the grant; 0 if the key is free or only reserved for its next owner
	Left    time.Duration // until the deadline
	Waiting int           // places in the queue; one per process and key
}

// An Inspector is a Driver that reads the state of a key.
type Inspector interface {
	// Inspect reads the state of a key and changes nothing.
	Inspect(ctx context.Context, key string) (KeyState, error)
}
