// Package driver defines the interfaces that a store of leases implements: its requests, answers
// and capabilities, and the checks of both. Programs that use locks need package lock;
// this package is for stores and for tools that read the leases of a store.
//
// A store implements [Driver]. It declares further abilities by also implementing
// capability interfaces, such as [Waiter]. A store that carries the schedule of a cluster
// also implements interfaces of package lock/series. The package lock/locktest tests all
// of them: a store that passes it can be used.
package driver

import (
	"context"
	"errors"
	"time"
)

// A Driver is a store of plain leases: at most one owner per key (more only if all of them allow
// it, see [Sharer]), a deadline on the store's clock, and a fence that grows with every grant. It
// is the small part that each store implements; renewal, trust and waiting are written once, in
// lock.Locker.
//
// Every method sends its request once and is idempotent for its owner: repeated after a lost reply,
// it returns the same answer. An error that is not one of this package's answers ([HeldError],
// [ErrLost], [ErrFree]) and no refusal ([ErrUnsupported], [ArgumentError]) is doubt: the store may or may
// not have carried out the request. A method returns when
// ctx ends. All methods may be called concurrently.
//
// A driver does not validate its requests: a lock.Locker or a [Front] has done so. It refuses only
// a request that its own server cannot keep.
//
// A store declares further abilities by also implementing [Waiter], [Sharer], [MultiAcquirer],
// [MultiRenewer], [Distributed], [Inspector], [Forcer], [Clocked], [Replicated], [StoreChecker],
// [Namespaced], [Prompt], [Explainer] or [Refuser].
type Driver interface {
	// Acquire requests the key once. It returns a *HeldError if another owner has it, or if others
	// wait for it.
	Acquire(ctx context.Context, a Acquisition) (Grant, error)
	// Renew moves the deadline to now + TTL. It returns ErrLost, and changes nothing, once the
	// lease is not alive under this owner and fence. If the store knows that the lease was taken,
	// the error wraps ErrLost and says so: see Forcer.
	Renew(ctx context.Context, h LeaseRef) (Grant, error)
	// Release frees the key. It returns ErrLost, and changes nothing, if another owner has the key. If
	// the store knows that this owner freed the key by an earlier request, it may return nil instead.
	//
	// If the key is free, Release returns nil if the store knows that this owner freed it, or if
	// h.Fence is 0; otherwise it returns ErrForgotten, which may also be the answer to the
	// repetition of an unanswered release.
	//
	// If the lease was taken, Release returns the same error as Renew, whichever owner has the key
	// now, unless h.Fence is 0.
	Release(ctx context.Context, h LeaseRef) error
}

// An Acquisition is a request for a plain lease.
type Acquisition struct {
	Key   string
	Owner string        // new for each attempt to get a lease
	TTL   time.Duration // at least MinTTL
	Fence int64         // the highest fence of this key that the caller has seen; 0 if none
	Barge bool          // overtake the owners that wait; an owner that waits does not barge
	Limit int           // how many may hold the key at once, this owner included; above 1: see Sharer

	Replicas int // how many replicas must have the grant; with fewer it is undone, and a *ReplicasError is returned; 0: none

	// A Waiter calls both functions through NoteRefusal; other drivers do not use them. Nil: not
	// called.
	Refused  func(*HeldError) // gets the first answer that the key is held
	Answered func(error)      // gets each such answer and each doubt
}

// NoteRefusal passes an answer that is no grant, or a doubt, to a.Answered, and the first
// *HeldError also to a.Refused. Drivers call it in Wait.
func (a *Acquisition) NoteRefusal(err error) {
	if a.Answered != nil {
		a.Answered(err)
	}
	if a.Refused == nil {
		return
	}
	if held, is := errors.AsType[*HeldError](err); is {
		a.Refused(held)
		a.Refused = nil
	}
}

// A LeaseRef identifies a plain lease that was granted.
type LeaseRef struct {
	Key   string
	Owner string
	Fence int64         // 0 in a release: any fence that this owner was granted
	TTL   time.Duration // of a renewal; not used by a release
	Limit int           // the limit of the acquisition, which says where the store reads first; a wrong one changes no answer

	Replicas int // how many replicas must have a renewal; with fewer a *ReplicasError is returned; 0: none
}

// A Grant is the answer that a lease was granted or renewed.
type Grant struct {
	Fence int64         // greater than in every earlier grant of the key
	Left  time.Duration // from the store's answer to the deadline
	Asked time.Time     // when the granted request was sent; zero: when the call began
}

// A Waiter is a Driver in which owners can queue for a key.
type Waiter interface {
	// Wait takes a place in the store's queue for the key and returns when the key was granted to
	// a.Owner, whose place is then gone. Places are served first come, first served; a place whose
	// owner does not answer is passed over. When ctx ends, Wait gives up its place, and the grant
	// that it may have got, within a short time of its own. The error then wraps the error of ctx,
	// and the last answer or doubt: a *HeldError says that the key was held to the end.
	//
	// Wait calls a.NoteRefusal, from any goroutine, with each answer that the key is held and with
	// each doubt, before it waits on. NoteRefusal returns at once.
	Wait(ctx context.Context, a Acquisition) (Grant, error)
}
