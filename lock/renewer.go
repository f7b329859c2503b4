package lock

import (
	"container/heap"
	"errors"
	"math"
	"sync"
	"time"

	"github.com/cronce/cronce/lock/series"
)

// A renewer finds the leases that are due for renewal, and ends the contexts of those that can no
// longer be trusted. One timer serves all leases. The renewer itself sends no request to the store,
// so that no request can delay the end of trust. Lanes send the renewals.
type renewer struct {
	start     time.Time    // the renewer's clock counts nanoseconds from here, on the monotonic clock
	wall      func() int64 // the wall clock: nanoseconds since 1970
	renew     func([]*Lease)
	forgotten func(*Lease) // called with a lease that the store does not know though its time is not over

	mu       sync.Mutex
	held     leases
	timer    *time.Timer
	armed    int64             // when the timer fires; never: not armed
	lanes    map[sharing]*lane // with leases that are due, or requests in flight
	inFlight int               // requests of all lanes
}

const never = math.MaxInt64

// together is how far apart two renewals may be due and still share a request.
const together = 50 * time.Millisecond

func (k *renewer) now() int64              { return int64(time.Since(k.start)) }
func (k *renewer) time(at int64) time.Time { return k.start.Add(time.Duration(at)) }

func wallClock() int64 { return time.Now().UnixNano() }

// trust returns for how long a lease can be trusted, counted from the sending of the answered
// request. It is no longer than the requested TTL, however the store's clock moved since, less a
// margin that a timer and a cancelled function need.
func trust(left, ttl time.Duration) time.Duration {
	left = min(left, ttl)
	return left - margin(left)
}

// margin returns how long before its deadline a lease of this length is no longer trusted.
func margin(span time.Duration) time.Duration { return max(minMargin, span/10) }

const minMargin = 50 * time.Millisecond

// believe extends the trust in a lease after an answer, counted from the sending of the request: a
// delay on the way must not extend it. The renewer's mutex is held, or the lease is not kept yet.
// The wall clock may have been put back since the last answer: its newest reading replaces a later
// one, which would hide a suspension.
func (s *Lease) believe(sent time.Time, left time.Duration) {
	d := trust(left, s.ref.TTL)
	until := int64(sent.Sub(s.locker.renewer.start) + d)
	if until > s.trust.Load() {
		s.wall.Store(sent.UnixNano() + int64(d))
		s.trust.Store(until)
	}
}

// over reports whether the trust in a lease has ended at now, on the renewer's clock. That clock
// stops while the machine is suspended; the wall clock does not. If the wall clock is put forward
// meanwhile, the trust ends early, which does no harm.
func (s *Lease) over(now int64) bool {
	return now >= s.trust.Load() || s.locker.renewer.wall() >= s.wall.Load()
}

// add keeps leases that were granted by now, a time on the renewer's clock.
func (k *renewer) add(now int64, ls ...*Lease) {
	if len(ls) == 0 {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, s := range ls {
		s.renewAt = never
		if !s.fixed {
			s.renewAt = s.due(now)
		}
		s.index = len(k.held)
		k.held = append(k.held, held{s.event(), s})
		heap.Fix(&k.held, s.index)
	}
	k.arm()
}

// remove stops keeping a lease. With end it also marks the lease as ended, and reports whether it
// was the first to do so.
func (k *renewer) remove(s *Lease, end bool) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if s.index >= 0 {
		k.drop(s)
		k.arm()
	}
	if !end {
		return true
	}
	return !s.ended.Swap(true)
}

// arm sets the timer to the next event. It does not change a timer that fires earlier than needed,
// even if no lease is held any more: firing costs one look at the head of the heap, and stopping
// and starting a timer for each of many short leases costs more than the leases.
func (k *renewer) arm() {
	if len(k.held) == 0 {
		return
	}
	next := k.held[0].at
	if k.timer != nil && next >= k.armed {
		return
	}
	now := k.now()
	k.armed = min(next, now+int64(longestAlarm))
	wait := time.Duration(k.armed - now)
	if k.timer == nil {
		k.timer = time.AfterFunc(wait, k.fire)
		return
	}
	k.timer.Reset(wait)
}

// longestAlarm bounds how long the timer keeps alive a Locker that is no longer used.
const longestAlarm = time.Minute

// fire ends leases that can no longer be trusted, and sends renewals that are due.
func (k *renewer) fire() {
	lost, due := k.collect()
	if len(due) > 0 { // before contexts end, which may call blocking code of the caller
		go k.renew(due)
	}
	for _, s := range lost {
		s.lose(s.loss())
	}
}

func (k *renewer) collect() (lost, due []*Lease) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.now()
	k.armed = never
	for len(k.held) > 0 {
		s := k.held[0].s
		switch {
		case s.over(now):
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
func (k *renewer) drop(s *Lease) {
	i, last := s.index, len(k.held)-1
	k.held.Swap(i, last)
	k.held[last] = held{}
	k.held = k.held[:last]
	s.index = -1
	if i < last {
		heap.Fix(&k.held, i)
	}
}

// fix moves a lease to the place of its next event in the heap. The mutex is held.
func (k *renewer) fix(s *Lease) {
	k.held[s.index].at = s.event()
	heap.Fix(&k.held, s.index)
}

// renewed processes the answer to a renewal that was sent at the given time.
func (k *renewer) renewed(s *Lease, r renewal, sent time.Time) {
	k.mu.Lock()
	cause := k.take(s, &r, sent)
	k.arm()
	k.mu.Unlock()
	k.conclude(s, cause)
}

// take is renewed without the end of the lease's context: it returns the cause of that end, or nil
// if the context does not end. The mutex is held.
func (k *renewer) take(s *Lease, r *renewal, sent time.Time) (cause error) {
	if s.index < 0 { // ended, lost or abandoned meanwhile
		return nil
	}
	now := k.now()
	switch {
	case s.over(now): // Check may have returned ErrLost already: the answer must not revive the lease
		k.drop(s)
		cause = s.lossAt(now, r.Err == nil)
	case r.Err != nil:
		s.doubt = r.Err
		s.renewAt = min(s.renewAt, now+s.pause())
		k.fix(s)
	case !r.Alive:
		k.drop(s)
		cause = r.taken()
		s.trust.Store(now)
	default:
		s.doubt, s.queued = nil, false
		s.believe(sent, r.Left)
		s.span = min(r.Left, s.ref.TTL)
		s.renewAt = s.due(now)
		k.fix(s)
		if r.Replaced {
			s.newer.Store(true)
			cause = series.ErrReplaced
		}
	}
	return cause
}

// conclude ends the context of a lease with a cause, if there is one.
func (k *renewer) conclude(s *Lease, cause error) {
	switch {
	case cause == nil:
	case errors.Is(cause, ErrLost):
		s.lose(cause)
	default:
		s.cancel(cause)
	}
	if errors.Is(cause, ErrForgotten) {
		k.forgotten(s)
	}
}

// due returns when a lease whose request was answered now must be renewed: a third of its time
// after that request was sent, since its trust counts from there as well.
func (s *Lease) due(now int64) int64 {
	if s.fixed {
		return never
	}
	sent := s.trust.Load() - int64(s.span-margin(s.span))
	return max(now, sent+int64(s.span/3))
}

// pause returns how long after a doubt the next renewal is sent.
func (s *Lease) pause() int64 {
	return int64(max(min(s.span/20, maxRetry), 2*together))
}

// inDoubt returns a function that answers n requests with the same doubt.
func inDoubt[T any](n int, set func(*T, error)) func(error) []T {
	return func(err error) []T {
		all := make([]T, n)
		for i := range all {
			set(&all[i], err)
		}
		return all
	}
}

// leases is a heap by the next event. Each event is stored beside its pointer, so that sifting
// reads no lease.
type leases []held

type held struct {
	at int64
	s  *Lease
}

// event returns when the lease is due next: for a renewal, or for the end of its trust.
func (s *Lease) event() int64 { return min(s.renewAt, s.trust.Load()) }

func (h leases) Len() int           { return len(h) }
func (h leases) Less(i, j int) bool { return h[i].at < h[j].at }
func (h leases) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].s.index, h[j].s.index = i, j
}

// Push and Pop complete heap.Interface; leases are added and dropped in place.
func (h *leases) Push(any) {}
func (h *leases) Pop() any { return nil }
