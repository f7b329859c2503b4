package lock

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// ErrForgotten is the cause of a lease's ended context when the store does not
// know the lease any more though its time is not over: the store lost its data, or
// the last of it in a failover, its clock jumped, or somebody removed the lock. It
// wraps ErrLost. Somebody else may have been granted the key already, with a
// higher fence.
var ErrForgotten = fmt.Errorf("%w before its time: the store forgot it, or its clock jumped", ErrLost)

// A Trouble is what a Locker noticed about its store while it held leases: what was
// promised may have been broken then, for other keys too.
type Trouble struct {
	// Key is the key of a lease that the store has forgotten; empty: it is about
	// a clock.
	Key   string
	Fence int64
	// Server is the one whose clock jumped, and Step how far: forward, then its
	// leases ended early, or back, then they last longer.
	Server string
	Step   time.Duration
}

func (t Trouble) String() string {
	if t.Key != "" {
		return fmt.Sprintf("the store has forgotten the lease on %q with the fence %d", t.Key, t.Fence)
	}
	return fmt.Sprintf("the clock of the store %s jumped by %v", t.Server, t.Step)
}

// Notice lets f be told of each trouble, from then on; nil: nobody is told. It is
// called by a goroutine of the Locker's, after the contexts of the leases that are
// lost have ended, and must not block. Clocks are looked at with the renewals of
// plain leases, where the store is [Clocked]: while none is held nobody looks.
func (l *Locker) Notice(f func(Trouble)) { l.troubles.told.Store(&f) }

// troubles tells of troubles, and finds those of clocks.
type troubles struct {
	told atomic.Pointer[func(Trouble)]

	mu     sync.Mutex // held while somebody looks
	looked time.Time
	clocks map[string]offset // by server
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
		(*f)(of)
	}
}

// look compares the clocks of the store with ours, unless that was done lately.
func (t *troubles) look(ctx context.Context, d Driver, start time.Time) {
	clocked, can := d.(Clocked)
	if f := t.told.Load(); !can || f == nil || *f == nil || !t.mu.TryLock() {
		return
	}
	defer t.mu.Unlock()
	if time.Since(t.looked) < clockLooks {
		return
	}
	t.looked = time.Now()
	readings, err := clocked.Now(ctx)
	if err != nil {
		return // the next renewal looks again
	}
	for _, r := range readings {
		if step := t.step(r, start); step != 0 {
			t.tell(Trouble{Server: r.Server, Step: step})
		}
	}
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
