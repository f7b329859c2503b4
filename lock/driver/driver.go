// Package driver defines what a store of leases implements: requests, answers,
// capabilities, and the checks of both. Programs that use locks need package lock;
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

// A Driver is a store of plain leases: at most one owner per key (more only where
// all of them allow it, see [Sharer]), a deadline on the store's clock, and a fence
// that grows with every grant. It is the small part that each store implements;
// renewal, trust and waiting are written once, in lock.Locker.
//
// Every method asks the store once and is idempotent for its owner: repeated after a
// lost reply, it returns the same answer. An error that is not one of this package's
// answers ([HeldError], [ErrLost]) is doubt: the store may or may not have done what
// was asked. A method returns when ctx ends. All methods may be called concurrently.
//
// A driver trusts its requests: a lock.Locker or a [Front] has validated them. It refuses
// only a request that its own server cannot keep.
//
// A store declares further abilities by also implementing [Waiter], [Sharer],
// [MultiAcquirer], [MultiRenewer], [Distributed], [Inspector], [Forcer], [Clocked], [Replicated],
// [StoreChecker], [Namespaced], [Prompt], [Explainer] or [Refuser].
type Driver interface {
	// Acquire asks for the key once. It returns a *HeldError if another owner has
	// it, or if others wait for it.
	Acquire(ctx context.Context, a Acquisition) (Grant, error)
	// Renew moves the deadline to now + TTL. It returns ErrLost, and changes
	// nothing, once the lease is not alive under this owner and fence; where the store
	// knows that it was taken, an error that wraps ErrLost and says so: see Forcer.
	Renew(ctx context.Context, h LeaseRef) (Grant, error)
	// Release frees the key. It returns ErrLost, and changes nothing, if another
	// owner has it. If the key is free it returns nil where the store knows that this
	// owner freed it, or h.Fence is 0, and ErrForgotten where it does not: what an
	// owner asks that repeats an unanswered release may be either. Of a lease that was
	// taken, whichever owner has the key now, it returns what Renew returns, unless h.Fence is 0.
	Release(ctx context.Context, h LeaseRef) error
}

// An Acquisition is a request for a plain lease.
type Acquisition struct {
	Key   string
	Owner string        // fresh for each attempt to get a lease
	TTL   time.Duration // at least MinTTL
	Fence int64         // the highest fence of this key the asker has seen; 0 if none
	Barge bool          // overtake the owners that wait; an owner that waits does not barge
	Limit int           // how many may hold the key at once, this owner included; above 1: see Sharer

	Replicas int // how many replicas must have the grant, or it is undone and a *ReplicasError; 0: not asked for

	// A Waiter calls both through NoteRefusal; other drivers do not use them. Nil: not called.
	Refused  func(*HeldError) // gets the first answer that the key is held
	Answered func(error)      // gets each such answer and each doubt
}

// NoteRefusal passes an answer that is no grant, or a doubt, to a.Answered, and the first
// *HeldError also to a.Refused. It is for drivers, in Wait.
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

// A LeaseRef names a plain lease that was granted.
type LeaseRef struct {
	Key   string
	Owner string
	Fence int64         // 0 in a release: whatever this owner was granted
	TTL   time.Duration // what a renewal asks for; not used by a release
	Limit int           // that of the acquisition: where the store reads first; a wrong one changes no answer

	Replicas int // how many replicas must have a renewal, or it is a *ReplicasError; 0: not asked for
}

// A Grant is the store's yes.
type Grant struct {
	Fence int64         // greater than in every earlier grant of the key
	Left  time.Duration // from the store's answer to the deadline
	Asked time.Time     // when the request that was granted was sent; zero: when the call began
}

// A Waiter is a Driver in which owners can queue for a key.
type Waiter interface {
	// Wait takes a place in the store's queue for the key and returns when the
	// key was granted to a.Owner, whose place is then gone. Places are served
	// first come, first served; one whose owner does not answer is passed over.
	// When ctx ends Wait gives its place up, and what it may have been granted,
	// within a short time of its own. Then the error wraps that of ctx, and the
	// last answer or doubt: a *HeldError says that the key was held to the end.
	//
	// Wait calls a.NoteRefusal, from any goroutine, with each answer that the key is held
	// and each doubt, before it waits on. It returns at once.
	Wait(ctx context.Context, a Acquisition) (Grant, error)
}
