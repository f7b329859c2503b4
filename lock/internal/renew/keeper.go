// Package renew renews leases, and ends the contexts of leases that can no longer be trusted. Package
// lock keeps plain leases with it, and lock/series/claimer numbered ones.
package renew

import (
	"container/heap"
	"context"
	"math"
	"sync"
	"time"
)

// A Config has the functions of the owner of a Keeper. R refers to a lease.
type Config[R any] struct {
	// Share returns the properties that a lease must have in common with others to share a request.
	// It may call the store.
	Share func(ref R) Sharing
	// Renew sends one request that renews the leases, and returns the answers in the same order.
	Renew func(ctx context.Context, refs []R) []Renewal
	// Singly: Renew renews one lease at a time.
	Singly bool
	// Lost is called after the context of a lost lease has ended; nil: nothing is called.
	Lost func(ref R, cause error)
	// Answered is called after the answers to each request were applied; nil: nothing is called. A
	// call delays no renewal. Its ctx ends before the next renewals of these leases are due.
	Answered func(ctx context.Context)
	// Wall returns the wall clock in nanoseconds since 1970; nil: the clock of time.Now.
	Wall func() int64
}

// A Keeper finds the leases that are due for renewal, and ends the contexts of those that can no
// longer be trusted. One timer serves all leases. It sends no request on the goroutine of the timer,
// so that no request can delay the end of trust: lanes send the renewals. A Keeper is safe for
// concurrent use. Make one with New.
type Keeper[R any] struct {
	cfg   Config[R]
	start time.Time // the keeper's clock counts nanoseconds from here, on the monotonic clock

	mu       sync.Mutex
	held     leases[R]
	timer    *time.Timer
	armed    int64                // when the timer fires; never: not armed
	lanes    map[sharing]*lane[R] // with leases that are due, or requests in flight
	inFlight int                  // requests of all lanes
}

// New returns a Keeper without leases. It starts nothing: a timer runs while leases are kept, and for
// up to a minute after.
func New[R any](cfg Config[R]) *Keeper[R] {
	if cfg.Wall == nil {
		cfg.Wall = func() int64 { return time.Now().UnixNano() }
	}
	return &Keeper[R]{cfg: cfg, start: time.Now()}
}

const never = math.MaxInt64

// together is how far apart two renewals may be due and still share a request.
const together = 50 * time.Millisecond

// Now returns the time on the keeper's clock.
func (k *Keeper[R]) Now() int64 { return int64(time.Since(k.start)) }

// trust returns for how long a lease of this length can be trusted, counted from the sending of the
// answered request: the length, less a margin that a timer and a cancelled function need.
func trust(span time.Duration) time.Duration { return span - max(minMargin, span/10) }

const minMargin = 50 * time.Millisecond

// Add keeps leases that were granted by now, a time on the keeper's clock.
func (k *Keeper[R]) Add(now int64, ls ...*Lease[R]) {
	if len(ls) == 0 {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, s := range ls {
		s.renewAt = s.due(now)
		s.index = len(k.held)
		k.held = append(k.held, held[R]{s.event(), s})
		heap.Fix(&k.held, s.index)
	}
	k.arm()
}

// remove stops keeping a lease. The timer stays as it is: see arm.
func (k *Keeper[R]) remove(s *Lease[R]) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if s.index >= 0 {
		k.drop(s)
	}
}

// RenewNow makes the leases that match due for renewal. If a renewal of a lease is in flight, the next
// one follows its answer: repeats are for requests that are presumed lost.
func (k *Keeper[R]) RenewNow(match func(ref R) bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	var due []*Lease[R]
	for _, h := range k.held {
		switch s := h.s; {
		case s.fixed || !match(s.Ref):
		case s.asked > 0 || s.queued:
			s.again = true
		default:
			due = append(due, s)
		}
	}
	now := k.Now()
	for _, s := range due { // the heap must not change while it is read
		s.renewAt = min(s.renewAt, now)
		k.fix(s)
	}
	k.arm()
}

// arm sets the timer to the next event. It does not change a timer that fires earlier than needed,
// even if no lease is held any more: firing costs one look at the head of the heap, and stopping
// and starting a timer for each of many short leases costs more than the leases.
func (k *Keeper[R]) arm() {
	if len(k.held) == 0 {
		return
	}
	next := k.held[0].at
	if k.timer != nil && next >= k.armed {
		return
	}
	now := k.Now()
	k.armed = min(next, now+int64(longestAlarm))
	wait := time.Duration(k.armed - now)
	if k.timer == nil {
		k.timer = time.AfterFunc(wait, k.fire)
		return
	}
	k.timer.Reset(wait)
}

// longestAlarm bounds how long the timer keeps alive a Keeper that is no longer used.
const longestAlarm = time.Minute

// fire ends leases that can no longer be trusted, and sends renewals that are due.
func (k *Keeper[R]) fire() {
	lost, due := k.collect()
	if len(due) > 0 { // before contexts end, which may call blocking code of the caller
		go k.renew(due)
	}
	for _, s := range lost {
		s.lose(s.loss())
	}
}

func (k *Keeper[R]) collect() (lost, due []*Lease[R]) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.Now()
	k.armed = never
	for len(k.held) > 0 {
		s := k.held[0].s
		switch {
		case s.Over(now):
			k.drop(s)
			lost = append(lost, s)
		case now+int64(together) >= s.renewAt:
			s.renewAt = never // until it is sent, or an answer comes
			k.fix(s)
			if !s.queued && s.asked < maxAsked {
				s.queued = true
				due = append(due, s)
			}
		default:
			k.arm()
			return lost, due
		}
	}
	return lost, due
}

// drop takes a lease out of the heap. The mutex is held.
func (k *Keeper[R]) drop(s *Lease[R]) {
	i, last := s.index, len(k.held)-1
	k.held.Swap(i, last)
	k.held[last] = held[R]{}
	k.held = k.held[:last]
	s.index = -1
	if i < last {
		heap.Fix(&k.held, i)
	}
}

// fix moves a lease to the place of its next event in the heap. The mutex is held.
func (k *Keeper[R]) fix(s *Lease[R]) {
	k.held[s.index].at = s.event()
	heap.Fix(&k.held, s.index)
}

// leases is a heap by the next event. Each event is stored beside its pointer, so that sifting
// reads no lease.
type leases[R any] []held[R]

type held[R any] struct {
	at int64
	s  *Lease[R]
}

// event returns when the lease is due next: for a renewal, or for the end of its trust.
func (s *Lease[R]) event() int64 { return min(s.renewAt, s.trust.Load()) }

func (h leases[R]) Len() int           { return len(h) }
func (h leases[R]) Less(i, j int) bool { return h[i].at < h[j].at }
func (h leases[R]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].s.index, h[j].s.index = i, j
}

// Push and Pop complete heap.Interface; leases are added and dropped in place.
func (h *leases[R]) Push(any) {}
func (h *leases[R]) Pop() any { return nil }
