package lock

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// ErrForgotten is the cause of a lease's ended context, and the answer to its release,
// when the store does not know the lease any more though its time is not over: the
// store lost its data, or the last of it in a failover, its clock jumped, or an operator
// deleted what it had of the lock: one that is freed by [Locker.Force] is ErrForced. It wraps ErrLost. Another owner may have been granted the key
// already, with a higher fence.
var ErrForgotten = fmt.Errorf("%w before its time: the store forgot it, or its clock jumped", ErrLost)

// A Trouble is what a Locker noticed about its store while it held leases: what was
// promised may have been broken then, for other keys too.
type Trouble struct {
	// Key is the key of a lease that the store has forgotten; empty: it is about
	// a server.
	Key   string
	Fence int64
	// Server is the one whose clock jumped, and Step how far: forward, then its
	// leases ended early, or back, then they last longer.
	Server string
	Step   time.Duration
	// Replaced: the server was restarted, or another took its place. What it had
	// neither written to disk nor replicated is gone.
	Replaced bool
}

func (t Trouble) String() string {
	switch {
	case t.Key != "":
		return fmt.Sprintf("the store has forgotten the lease on %q with the fence %d", t.Key, t.Fence)
	case t.Replaced:
		return fmt.Sprintf("the server %s was restarted or replaced: what it had neither written to disk nor replicated is gone", t.Server)
	}
	return fmt.Sprintf("the clock of the store %s jumped by %v", t.Server, t.Step)
}

// Notice lets f be told of each trouble, from then on; nil: nobody is told. It is
// called by a goroutine of the Locker's, after the contexts of the leases that are
// lost have ended, and must not block; a panic in it is contained. Clocks, and which processes answer, are looked
// at with the renewals of plain leases, where the store is [Clocked]: while none is
// held nobody looks, and what happened meanwhile is told with the next.
func (l *Locker) Notice(f func(Trouble)) { l.troubles.told.Store(&f) }

// troubles tells of troubles, and finds those of servers.
type troubles struct {
	told atomic.Pointer[func(Trouble)]

	mu      sync.Mutex // held during a look, not while its finds are reported
	looked  time.Time
	clocks  map[string]offset // by server
	servers []Reading         // what the last look saw
}

// An offset is how far a clock is ahead of ours, which takes no steps, and how far
// that may be wrong.
type offset struct{ ahead, wrong time.Duration }

const (
	clockStep  = 500 * time.Millisecond // less is drift
	clockLooks = time.Second            // how often clocks are looked at
)

func (t *troubles) tell(of Trouble) {
	if f := t.told.Load(); f != nil && *f != nil {
		contained(func() { (*f)(of) })
	}
}

// look compares the clocks of the store with ours, unless that was done lately, and
// reports what it finds.
func (t *troubles) look(ctx context.Context, d Driver, start time.Time) {
	clocked, can := d.(Clocked)
	if f := t.told.Load(); !can || f == nil || *f == nil {
		return
	}
	for _, found := range t.find(ctx, clocked, start) { // the mutex is free: the function may wait for a renewal
		t.tell(found)
	}
}

// find returns what has changed since the last look.
func (t *troubles) find(ctx context.Context, clocked Clocked, start time.Time) (all []Trouble) {
	if !t.mu.TryLock() {
		return nil
	}
	defer t.mu.Unlock()
	if time.Since(t.looked) < clockLooks {
		return nil
	}
	t.looked = time.Now()
	readings, err := clocked.Now(ctx)
	if err != nil {
		return nil // the next renewal looks again
	}
	for _, server := range replaced(t.servers, readings) {
		all = append(all, Trouble{Server: server, Replaced: true})
	}
	t.servers = slices.Concat(readings, missing(t.servers, readings))
	for _, r := range readings {
		if step := t.step(r, start); step != 0 {
			all = append(all, Trouble{Server: r.Server, Step: step})
		}
	}
	return all
}

// replaced returns the servers with a process that is new, if one is gone: one more
// master of a Cluster took nobody's place.
func replaced(before, now []Reading) (servers []string) {
	unknown := func(r Reading, among []Reading) bool {
		return r.Process != "" && !slices.ContainsFunc(among, func(o Reading) bool { return o.Process == r.Process })
	}
	gone := slices.ContainsFunc(before, func(r Reading) bool { return unknown(r, now) })
	for _, r := range now {
		if gone && unknown(r, before) {
			servers = append(servers, r.Server)
		}
	}
	return servers
}

// replacedWithin is for how long a server that does not answer is expected to be replaced.
const replacedWithin = 2 * time.Minute

// missing returns the servers that do not answer any more and were not replaced yet:
// in a failover the place of a master stays empty for a while, and the other masters
// of a Cluster answer meanwhile.
func missing(before, now []Reading) (servers []Reading) {
	fresh := 0 // servers at an address that is new
	for _, r := range now {
		if !slices.ContainsFunc(before, func(o Reading) bool { return o.Server == r.Server || o.Process == r.Process }) {
			fresh++
		}
	}
	for _, r := range before {
		answers := slices.ContainsFunc(now, func(o Reading) bool { return o.Server == r.Server || o.Process == r.Process })
		switch {
		case answers || time.Since(r.Received) >= replacedWithin:
		case fresh > 0: // its place is taken
			fresh--
		default:
			servers = append(servers, r)
		}
	}
	return servers
}

// step is how far a clock has jumped since it was read before, or 0.
func (t *troubles) step(r Reading, start time.Time) time.Duration {
	half := r.Received.Sub(r.Sent) / 2
	now := offset{ahead: r.Time.Sub(start.Round(0)) - r.Sent.Add(half).Sub(start), wrong: half}
	before, known := t.clocks[r.Server]
	if t.clocks == nil {
		t.clocks = make(map[string]offset)
	}
	t.clocks[r.Server] = now
	step := now.ahead - before.ahead
	if !known || step.Abs() < clockStep+now.wrong+before.wrong {
		return 0
	}
	return step
}
