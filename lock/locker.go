package lock

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/cronce/cronce/lock/driver"
)

// DefaultTTL is the time to live of a lease when none is given.
const DefaultTTL = 30 * time.Second

// A Locker takes leases from a store and keeps them. It starts no goroutine of
// its own and holds no connection; a timer runs while leases are held, and for up
// to a minute after. It is safe for concurrent use. Make one per process and store
// with [Open].
type Locker struct {
	driver      driver.Driver
	shares      bool                // the store is a Sharer
	several     driver.MultiRenewer // the store, if it is one
	owners      string              // what the owners begin with: the node, and random bits
	asked       atomic.Uint64       // numbers the owners
	plain       floors              // of plain keys
	renewer     renewer
	local       localQueues
	storeEvents storeEvents
	behind      behind
	inline      inline
	events      observer[Event]
}

// Options are the options of one plain lease.
type Options struct {
	// TTL is how long the lease outlives a process that died. Zero: DefaultTTL.
	TTL time.Duration
	// Fixed leases are not renewed: they end after TTL, or earlier where the store
	// gives less (zklock: after half of the session's timeout). See Lease.Deadline.
	Fixed bool
	// Limit is how many may hold the key at once, this lease included; what counts
	// is the smallest limit of all that hold it. 0 and 1: this lease alone, as a
	// mutex or a writer. k: k permits, as a semaphore. NoLimit: as a reader, which
	// keeps out writers only. Above 1 the store must be a Sharer.
	Limit int
	// Barge overtakes those that wait, as far as a key is free or its next owner
	// has not taken it yet: more throughput, for no order. Acquire barges once,
	// and waits in line after that.
	Barge bool
	// Context is what the lease's context comes from: its values, and an end beside
	// that of the lease. The lease itself is held on. Nil: the values of the context
	// that the lease is asked for with, and no other end; [Locker.Do] takes that
	// context itself.
	Context context.Context
	// Note is what the lease says of itself where its holders are shown: of what purpose
	// or person it is. 0 to 64 bytes of printable UTF-8 without | and ;. It is
	// neither part of the key nor secret.
	Note string
	// Reenter lets a caller that holds the key already take part in its lease: with a
	// context that came from a lease on the key, of this Locker, Acquire sends no request
	// and returns a lease that shares the outer one's time and fence, and whose
	// release frees nothing. The key is free with the release of the outermost, which
	// ends all inside it. ErrLost: that lease is lost. Of the other options Context and
	// Limit count then: a Limit below that of the outer lease, as a reader that would
	// write, is refused with an *UpgradeError. Goroutines that were started with one
	// such context enter together: set it where a call stack comes back to the key, and
	// not where work fans out. False: the caller waits, for itself too.
	Reenter bool
	// Replicas is how many replicas must have a grant or a renewal before it
	// counts, 0 to 100. Fewer are doubt, and the lease ends with its trust.
	// It needs a store that is [driver.Replicated]; zero: none are waited for.
	Replicas int
}

// Validate returns an *ArgumentError for the first option that no store takes, or nil. A
// Locker does the same before it sends a request.
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

// check refuses what no store could answer.
func (o *Options) check(a *driver.Acquisition) error {
	if err := driver.CheckNote(o.Note); err != nil {
		return err
	}
	return driver.CheckAcquisition(a)
}

// Owner returns a fresh owner: node/random.number. Each attempt to get a lease
// needs its own.
func (l *Locker) Owner() string {
	room := make([]byte, 0, 128)
	return string(strconv.AppendUint(append(room, l.owners...), l.asked.Add(1), 36))
}

// owner is Owner for a lease with a note, which stands behind a space. The owner is
// its own without it.
func (l *Locker) owner(note string) string {
	if note == "" {
		return l.Owner()
	}
	return l.Owner() + " " + note
}

// doubtful reports whether err is doubt and the question may be asked again.
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
