package lock

import (
	"context"
	"errors"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/internal/renew"
)

// DefaultTTL is the TTL of a lease whose Options give none.
const DefaultTTL = 30 * time.Second

// A Locker acquires leases from a store and keeps them. New and Open start no goroutine, and a
// Locker holds no connection; a timer runs while leases are held, and for up to a minute after. A
// Locker is safe for concurrent use. Make one per process and store with [Open]: the zero Locker cannot be used.
type Locker struct {
	driver      driver.Driver
	shares      bool                // the store is a Sharer
	several     driver.MultiRenewer // the store, if it is one
	distributed driver.Distributed  // the store, if it is one
	owners      *renew.Owners
	floors      renew.FenceFloors
	keeper      *renew.Keeper[*Lease]
	local       localQueues
	storeEvents storeEvents
	background  background
	inline      inline
	events      observer[Event]
}

// Options are the options of one plain lease.
type Options struct {
	// TTL is how long the lease lasts after its grant or last renewal, and so the longest time that it
	// outlives a process that died: 500ms to 24h. Zero: DefaultTTL.
	TTL time.Duration
	// Fixed leases are not renewed: they end after TTL, or earlier if the store gives less (zklock
	// gives half of the session's timeout). See Lease.Deadline.
	Fixed bool
	// Limit is how many owners may hold the key at once, this lease included; the smallest limit of
	// all holders counts. 0 and 1: this lease alone, as a mutex or a writer. k: k permits, as a
	// semaphore. NoLimit: as a reader, which excludes writers only. Above 1 the store must be a
	// Sharer.
	Limit int
	// Barge overtakes owners that wait, if the key is free or its next owner has not taken it yet:
	// more throughput, without an order. Acquire barges once, and then waits in line.
	Barge bool
	// Context is the parent of the lease's context, which has its values and ends with it. Its end
	// does not release the lease. Nil: the lease's context has the values of the context that is
	// passed to Acquire, and ends only with the lease; [Locker.Do] uses the passed context itself.
	Context context.Context
	// Note describes the lease where its holders are shown: for example, its purpose or a person.
	// It is 0 to 64 bytes of printable UTF-8 without | and ;. It is neither part of the key nor
	// secret.
	Note string
	// Reenter lets a caller that holds the key already share its own lease. If the passed context
	// comes from a lease of this Locker on the key, Acquire sends no request. It returns a lease
	// that shares the time and the fence of the outer lease, and whose release frees nothing. The
	// release of the outermost lease frees the key and ends all leases inside it. Acquire returns
	// ErrLost if the outer lease is lost. Only the options Context and Limit count then: a Limit
	// below the limit of the outer lease, as when a reader wants to write, is refused with an
	// *UpgradeError. Goroutines that were started with one such context enter together: set Reenter
	// where a call stack comes back to the key, and not where work fans out. False: the caller
	// waits, even for itself.
	Reenter bool
	// Replicas is how many replicas must have a grant or a renewal before it counts, 0 to 100.
	// Fewer are doubt, and the lease ends with its trust. It needs a store that is
	// [driver.Replicated]. Zero: no replica is waited for.
	Replicas int
}

// Validate returns an *ArgumentError for the first option that no store accepts, or nil. A Locker
// does the same before it sends a request.
func (o Options) Validate() error {
	a := o.acquisition("key", "owner")
	return o.check(&a)
}

func (o *Options) acquisition(key, owner string) driver.Acquisition {
	ttl := o.TTL
	if ttl == 0 {
		ttl = DefaultTTL
	}
	return driver.Acquisition{Key: key, Owner: owner, TTL: ttl, Limit: o.Limit, Replicas: o.Replicas}
}

// check rejects options and arguments that no store accepts.
func (o *Options) check(a *driver.Acquisition) error {
	if err := driver.CheckNote(o.Note); err != nil {
		return err
	}
	return driver.CheckAcquisition(a)
}

// Owner returns a new owner: node/random.number. Each attempt to get a lease needs its own.
func (l *Locker) Owner() string { return l.owners.Next() }

// owner returns an owner for a lease with a note, which follows it after a space. Without the note
// the owner is unique already.
func (l *Locker) owner(note string) string {
	if note == "" {
		return l.owners.Next()
	}
	return l.owners.Next() + " " + note
}

// doubtful reports whether err is doubt, so that the request may be repeated.
func doubtful(err error) bool {
	if err == nil || errors.Is(err, ErrLost) || errors.Is(err, ErrUnsupported) || errors.Is(err, driver.ErrFree) {
		return false
	}
	if _, held := errors.AsType[*HeldError](err); held {
		return false
	}
	_, bad := errors.AsType[*ArgumentError](err)
	return !bad
}
