package lock

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"time"
)

// A Driver is a store of plain leases: at most one owner per key (more only where
// all of them say so, see [Sharer]), a deadline on the store's clock, and a fence
// that grows with every grant. It is the small
// part that each store implements; renewal, trust and waiting are written once,
// in [Locker].
//
// Every method asks the store once and is idempotent for its owner: asked again
// after a lost reply, it gives the same answer. An error that is not one of this
// package's answers ([HeldError], [ErrLost]) is doubt: the store may or may not
// have done what was asked. A method returns when ctx ends.
//
// What a store can do beyond plain leases it declares by also implementing
// [Waiter], [Sharer], [Several], [Inspector], [Forcer], [Adopter], [Numbered], [Peeker],
// [Journaled], [Clocked], [Membership], [Replicated], [Fitness], [Namespaced],
// [Sharded] or [Explainer].
// All methods may be called concurrently.
type Driver interface {
	// Acquire asks for the key once. It returns a *HeldError if another owner has
	// it, or if others wait for it.
	Acquire(ctx context.Context, a Acquisition) (Grant, error)
	// Renew moves the deadline to now + TTL. It returns ErrLost, and changes
	// nothing, once the lease is not alive under this owner and fence; where the store
	// knows that it was taken, an error that wraps ErrLost and says so: see Forcer and Adopter.
	Renew(ctx context.Context, h Holding) (Grant, error)
	// Release frees the key. It returns ErrLost, and changes nothing, if another
	// owner has it. If the key is free it returns nil where the store knows that this
	// owner freed it, or h.Fence is 0, and ErrForgotten where it does not: what an
	// owner asks that repeats an unanswered release may be either. Of a lease that was
	// taken, whoever has the key now, it returns what Renew returns, unless h.Fence is 0.
	Release(ctx context.Context, h Holding) error
}

// An Acquisition is a request for a plain lease.
type Acquisition struct {
	Key   string
	Owner string        // fresh for each attempt to get a lease
	TTL   time.Duration // at least MinTTL
	Fence int64         // the highest fence of this key the asker has seen; 0 if none
	Barge bool          // overtake those who wait; an owner that waits does not barge
	Limit int           // how many may hold the key at once, this owner included; above 1: see Sharer

	Replicas int // how many replicas must have the grant, or it is undone and a *ReplicasError; 0: not asked for

	Refused func(*HeldError) // see Waiter; not used by others

	noted *noted // what a Locker returns if it cannot wait for the driver any more
}

// NoteRefusal notes each answer, and each doubt, of a driver that waits; and it calls
// a.Refused if err is the first refusal, a *HeldError. It is for drivers, in Wait.
func (a *Acquisition) NoteRefusal(err error) {
	a.noted.note(err)
	if a.Refused == nil {
		return
	}
	if held, is := errors.AsType[*HeldError](err); is {
		a.Refused(held)
		a.Refused = nil
	}
}

// NoLimit is the limit of a reader, who minds nobody that minds nobody either.
const NoLimit = math.MaxInt32

// A Holding names a plain lease that was granted.
type Holding struct {
	Key   string
	Owner string
	Fence int64         // 0 in a release: whatever this owner was granted
	TTL   time.Duration // what a renewal asks for; not used by a release
	Limit int           // that of the acquisition: where to look first; a wrong one changes no answer

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
	// last answer or doubt: a *HeldError tells that the key was held to the end.
	// Any other error is an *ArgumentError: nothing was sent.
	//
	// If a.Refused is not nil, Wait calls it once, from any goroutine, with the first
	// answer that the key is held, before it waits on. It returns at once.
	Wait(ctx context.Context, a Acquisition) (Grant, error)
}

// A Sharer is a Driver in which owners can hold a key together. Each acquisition
// has a limit: how many may hold the key at once, its owner included. The limits
// 0 and 1 are a mutex's, or a writer's; k is that of a semaphore with k permits,
// and [NoLimit] a reader's. One rule serves all of them, also mixed: an owner is
// granted the key if the holders that are alive, and it, are no more than the
// smallest limit among them.
//
// Each holder has its own deadline and its own fence, greater than in every
// earlier grant of the key, and renews and releases for itself. A release is
// ErrLost for an owner that does not hold the key while others do. Who waits is
// still served first come, first served: an owner that fits is granted only once
// nobody waits before it, so a writer that waits makes later readers wait, and
// readers that wait next to each other go in together.
//
// A Driver that is no Sharer is never asked for a limit above 1 by a [Locker].
type Sharer interface {
	Driver
	// Holders tells who holds a key, the earliest grant first, and changes
	// nothing. Those for whom the key is only kept until they take it come last,
	// without a fence.
	Holders(ctx context.Context, key string) ([]Holder, error)
}

// A Holder is one owner that holds a key.
type Holder struct {
	Owner string
	Fence int64         // of the grant; 0 if the key is only kept for this owner
	Left  time.Duration // until its deadline
	Limit int           // of its acquisition, 1 or more
	Note  string        // of its lease, from Locker.Holders; a Driver leaves it in Owner
}

// Several is a Driver that takes several keys in one step.
type Several interface {
	// AcquireSeveral asks for all keys once and is granted all of them or none:
	// each grant stands in the place of its acquisition. All have one owner and
	// no key comes twice. A *HeldError names a key that another owner has, or that
	// others wait for; none is held by the owner then. ErrUnsupported: these keys
	// do not live together, nothing was sent. Any other error is doubt about all.
	AcquireSeveral(ctx context.Context, as []Acquisition) ([]Grant, error)
	// ReleaseSeveral frees keys that live together; the answer to each, as Release
	// gives it, stands in its place.
	ReleaseSeveral(ctx context.Context, hs []Holding) []error
}

// A Standing is what a store tells of a key. It is old when it arrives: it is for
// people and for measuring, and decides nothing.
type Standing struct {
	Owner   string        // who has the key, of several the one with the earliest grant; empty: it is free
	Fence   int64         // of the grant; 0 if the key is free or only kept for its next owner
	Left    time.Duration // until the deadline
	Waiting int           // how many places there are in the queue; one per process and key
}

// Inspector is a Driver that tells who has a key.
type Inspector interface {
	// Inspect looks at a key and changes nothing.
	Inspect(ctx context.Context, key string) (Standing, error)
}

// A Reading is one look at a server's clock.
type Reading struct {
	Server   string    // which server answered
	Process  string    // which process of it: another after a restart or a failover; empty: the store does not tell
	Time     time.Time // its clock
	Sent     time.Time // our clock before the request, with its monotonic part
	Received time.Time // our clock after the answer
}

// Clocked is a Driver whose clock can be read.
type Clocked interface {
	// Now reads the clock of each server that judges leases: one, or in a
	// cluster one per master.
	Now(ctx context.Context) ([]Reading, error)
}

// A Pulse is the answer to a beat.
type Pulse struct {
	Nodes    []string  // nodes seen within their time to live, sorted, the asker included
	Readings []Reading // the clock that came with the answer
}

// Membership is a Driver that keeps a list of nodes. The list only spreads work:
// nothing that is promised depends on it.
type Membership interface {
	// Beat records that node lives for ttl more, and returns the nodes that live: at
	// most MaxNodes, those whose time ends first, and the asker in any case.
	Beat(ctx context.Context, node string, ttl time.Duration) (Pulse, error)
	// Leave takes node off the list of those that live, and records when it left.
	Leave(ctx context.Context, node string) error
	// Members reads the list and changes nothing.
	Members(ctx context.Context) (Roll, error)
}

// The bounds of a list of nodes. What is beyond them, or cannot be a node, a store
// leaves out, and drops: a list that was tampered with costs no more than one that
// was not.
const (
	MaxNodes = 1000           // that live, in one answer
	MaxGone  = 200            // that left or fell silent, in one answer: the latest
	GoneFor  = 24 * time.Hour // how long those are remembered
)

// A Roll is a list of nodes as a store has it.
type Roll struct {
	Now     int64    // the store's clock, Unix ms
	Members []Member // by name
}

// A Member is a node that lives, or did lately.
type Member struct {
	Node  string
	Until int64 // it lives, or lived, until then unless it beats again: Unix ms on the store's clock; 0 once it left
	Left  int64 // when it left, Unix ms; 0: it did not
}

// LatestMembers is for stores: of the members it returns, by name, at most MaxNodes
// that live at ms, those whose time ends first, and the MaxGone latest of the others
// that left or fell silent within GoneFor before it.
func LatestMembers(all []Member, ms int64) []Member {
	slices.SortFunc(all, func(a, b Member) int {
		return cmp.Or(cmp.Compare(a.rank(ms), b.rank(ms)), cmp.Compare(a.Node, b.Node))
	})
	living, gone := 0, 0
	kept := slices.DeleteFunc(all, func(m Member) bool {
		if m.Alive(ms) {
			living++
			return living > MaxNodes || m.Until > ms+MaxTTL.Milliseconds()
		}
		gone++
		return gone > MaxGone || max(m.Until, m.Left) <= ms-GoneFor.Milliseconds()
	})
	slices.SortFunc(kept, func(a, b Member) int { return cmp.Compare(a.Node, b.Node) })
	return kept
}

// rank is the time to the end of a member that lives at ms, or since the end of
// another; or to it, if the clock was put back since.
func (m *Member) rank(ms int64) int64 {
	if m.Alive(ms) {
		return m.Until - ms
	}
	since := ms - max(m.Until, m.Left)
	return max(since, -since)
}

// Alive reports whether a member lives at ms.
func (m *Member) Alive(ms int64) bool { return m.Left == 0 && ms < m.Until }
