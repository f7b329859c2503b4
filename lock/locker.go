package lock

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

// DefaultTTL is the time to live of a lease when none is given.
const DefaultTTL = 30 * time.Second

// A Locker takes leases from a store and keeps them. It starts no goroutine of
// its own and holds no connection; a timer runs while leases are held, and for up
// to a minute after. It is safe for concurrent use. Make one per process and store
// with [Open].
type Locker struct {
	driver   Driver
	numbered Numbered      // nil if the store has no series
	shares   bool          // the store is a Sharer
	owners   string        // what the owners begin with: the node, and random bits
	asked    atomic.Uint64 // numbers the owners
	runs     floors        // of series
	plain    floors        // of plain keys: a store may count the fences of the two apart
	keeper   keeper
	endings  endings
	turns    turns
	troubles troubles
	workers  workers
	behind   behind
	events   events
}

// Options are the options of one plain lease.
type Options struct {
	// TTL is how long the lease outlives a process that died. Zero: DefaultTTL.
	TTL time.Duration
	// Fixed leases are not renewed: they end after TTL, or earlier where the store
	// gives less (zklock: after half of the session's timeout). See Lease.Deadline.
	Fixed bool
	// Limit is how many may hold the key at once, this lease included; what counts
	// is the smallest limit of all who hold it. 0 and 1: nobody beside this one, as
	// a mutex or a writer. k: k permits, as a semaphore. NoLimit: as a reader, who
	// keeps out writers only. Above 1 the store must be a Sharer.
	Limit int
	// Barge overtakes those who wait, as far as a key is free or its next owner
	// has not taken it yet: more throughput, for no order. Acquire barges once,
	// and waits in line after that.
	Barge bool
	// Context is what the lease's context comes from: its values, and an end beside
	// that of the lease. The lease itself is held on. Nil: the values of the context
	// that the lease is asked for with, and no other end; [Locker.Do] takes that
	// context itself.
	Context context.Context
	// Note is what the lease says of itself where its holders are shown: of what purpose
	// or person it is. 0 to MaxNote bytes of printable UTF-8 without | and ;. It is
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
	// counts, 0 to MaxReplicas. Fewer are doubt, and the lease ends with its trust.
	// It needs a store that is [Replicated]; zero: none are waited for.
	Replicas int
}

// New returns a Locker on a store, without a request: whether the store, its settings
// and the client can keep what is promised is not checked, as [Open] does. It is for
// tests, and for those that have asked the store themselves. Node names this process in the store, for those
// that read the holder of a key; empty means a random name. Lockers that share a name
// exclude each other all the same: every Locker adds random bits of its own.
func New(d Driver, node string) *Locker {
	if node == "" {
		node = uuid.NewString()
	}
	l := &Locker{driver: d, owners: node + "/" + rand.Text()[:randomText] + "."}
	l.numbered, _ = d.(Numbered)
	_, l.shares = d.(Sharer)
	l.keeper.start, l.keeper.wall, l.keeper.renew = time.Now(), wallClock, l.renew
	l.keeper.forgot = func(s *Lease) { l.troubles.tell(Trouble{Key: s.ref.Key, Fence: s.ref.Fence}) }
	return l
}

// randomText is how much of a random text in base32 holds 65 bits.
const randomText = 13

// Owner returns a fresh owner: node/random.number. Each attempt to get a lease
// needs its own.
func (l *Locker) Owner() string {
	room := make([]byte, 0, 128)
	return string(strconv.AppendUint(append(room, l.owners...), l.asked.Add(1), 36))
}

// Claim asks for numbers, all in one batch, once. Granted answers have a Lease
// that is renewed until it is ended; the answer to each claim stands in its
// place. The leases' contexts carry ctx's values and do not end with ctx. A lease
// whose answer took too long has ended already: end it as NeverStarted.
func (l *Locker) Claim(ctx context.Context, cs []Claim) []Answer {
	answered := make(chan []Answer, 1)
	go l.ClaimThen(ctx, cs, func(as []Answer) { answered <- as })
	return <-answered
}

// shard is the one that a series lives in.
func (l *Locker) shard(key string) int {
	if sharded, is := l.driver.(Sharded); is {
		return sharded.Shard(key)
	}
	return 0
}

// ClaimThen is Claim on the caller's goroutine, for a caller that need not wait
// itself: then is called once, here when the driver has answered, or elsewhere
// with doubt if ctx ends first. ClaimThen returns when the driver does, which
// after doubt may be never.
func (l *Locker) ClaimThen(ctx context.Context, cs []Claim, then func([]Answer)) {
	doubt := inDoubt(len(cs), func(a *Answer, err error) { a.Err = err })
	if err := l.prepare(cs); err != nil {
		then(doubt(err))
		return
	}
	sent := time.Now()
	first := context.AfterFunc(ctx, func() { then(doubt(ctx.Err())) })
	answers := l.numbered.Claim(ctx, cs)
	if first() {
		l.lease(context.WithoutCancel(ctx), cs, answers, sent)
		then(answers)
	}
}

// prepare completes claims, or refuses what the store cannot answer.
func (l *Locker) prepare(cs []Claim) error {
	if l.numbered == nil {
		return ErrUnsupported
	}
	l.runs.raise(cs)
	most := 0
	for i := range cs {
		most = max(most, cs[i].Replicas)
	}
	return l.checkReplicas(most)
}

// lease makes the leases of what was granted, some at a time, and keeps them.
func (l *Locker) lease(base context.Context, cs []Claim, answers []Answer, sent time.Time) {
	leases := make([]*Lease, 0, len(answers))
	var room []Lease
	for i := range answers {
		a := &answers[i]
		if a.Kind != Granted {
			continue
		}
		if err := CheckFence(a.Fence, a.Now*1000+999); err != nil {
			*a = Answer{Err: fmt.Errorf("lock: claim %q: %w", cs[i].Key, err)}
			continue
		}
		if len(room) == 0 {
			room = make([]Lease, min(leaseRoom, len(answers)-i))
		}
		a.Lease, room = &room[0], room[1:]
		l.granted(a.Lease, base, &cs[i], a, sent)
		leases = append(leases, a.Lease)
	}
	l.keeper.add(l.keeper.now(), leases...)
}

// leaseRoom is how many leases are allocated together. One that is held for long
// keeps as many.
const leaseRoom = 16

func (l *Locker) granted(s *Lease, base context.Context, c *Claim, a *Answer, sent time.Time) {
	l.runs.saw(c.Key, a.Fence)
	s.locker, s.index = l, -1
	s.ref = RunRef{Key: c.Key, Number: c.Number, Owner: c.Owner, Fence: a.Fence, TTL: c.TTL, Replicas: c.Replicas}
	s.life.base, s.ctx = base, &s.life
	s.believe(sent, a.Left)
	s.span = min(a.Left, c.TTL)
}

// checkReplicas refuses to ask a store for replicas that it cannot wait for.
func (l *Locker) checkReplicas(n int) error {
	if _, can := l.driver.(Replicated); can {
		return nil
	}
	return CheckNoReplicas(n)
}

// doubtful reports whether err is doubt and the question may be asked again.
func doubtful(err error) bool {
	if err == nil || errors.Is(err, ErrLost) || errors.Is(err, ErrUnsupported) || errors.Is(err, ErrFree) {
		return false
	}
	if _, held := errors.AsType[*HeldError](err); held {
		return false
	}
	_, bad := errors.AsType[*ArgumentError](err)
	return !bad
}

// sleep reports whether d passed before ctx ended.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
