package lock

import (
	"container/heap"
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"github.com/cronce/cronce/lock/driver"
)

// A renewer renews leases and ends the contexts of those that can no longer be
// trusted. One timer serves all leases; it makes no call to the store itself, so
// that no call can delay the end of trust.
type renewer struct {
	start     time.Time    // the renewer's clock counts nanoseconds from here, on the monotonic clock
	wall      func() int64 // the wall clock: nanoseconds since 1970
	renew     func([]*Lease)
	forgotten func(*Lease) // is called with a lease that the store does not know though its time is not over

	mu    sync.Mutex
	held  leases
	timer *time.Timer
	armed int64 // when the timer fires; never: not armed
}

const never = math.MaxInt64

// together is how far apart two renewals may be due to share a request.
const together = 50 * time.Millisecond

func (k *renewer) now() int64              { return int64(time.Since(k.start)) }
func (k *renewer) time(at int64) time.Time { return k.start.Add(time.Duration(at)) }

func wallClock() int64 { return time.Now().UnixNano() }

// trust is for how long a lease may be believed in, from the sending of the request that
// was answered: no longer than was asked for, whatever the store's clock did since, and
// less a margin that a timer and a cancelled function need.
func trust(left, ttl time.Duration) time.Duration {
	left = min(left, ttl)
	return left - margin(left)
}

// margin is how long before its deadline a lease of this length is not trusted any more.
func margin(span time.Duration) time.Duration { return max(minMargin, span/10) }

const minMargin = 50 * time.Millisecond

// believe extends the trust in a lease by the answer to a request, counted from the
// sending: a delay on the way must not make it longer. The renewer's mutex is held,
// or the lease is not kept yet. The wall clock may have been put back since the last
// answer: its newest reading replaces a later one, which would hide a suspension.
func (s *Lease) believe(sent time.Time, left time.Duration) {
	d := trust(left, s.ref.TTL)
	until := int64(sent.Sub(s.locker.renewer.start) + d)
	if until > s.trust.Load() {
		s.wall.Store(sent.UnixNano() + int64(d))
		s.trust.Store(until)
	}
}

// over reports whether the trust in a lease has ended at now, on the renewer's clock.
// That clock stands still while the machine is suspended; the wall clock does not.
// If that is put forward meanwhile the trust ends early, which does no harm.
func (s *Lease) over(now int64) bool {
	return now >= s.trust.Load() || s.locker.renewer.wall() >= s.wall.Load()
}

// add keeps leases that were granted by now.
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

// remove stops keeping a lease. With end it also marks it as ended and reports
// whether it was the first to do so.
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

// arm sets the timer to the next event. A timer that fires earlier than needed is left
// alone, also when no lease is held any more: it costs one pass over the heap's head, and
// stopping and starting a timer for each of many short leases costs more than the leases.
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

// longestAlarm bounds for how long the timer keeps a Locker alive that is not used any more.
const longestAlarm = time.Minute

// fire ends what cannot be trusted any more and sends what is due for renewal.
func (k *renewer) fire() {
	lost, due := k.collect()
	if len(due) > 0 { // before contexts end: that may call code of the caller that blocks
		k.renew(due)
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
			s.renewAt = now + s.again() // unless an answer comes first
			s.unheard++
			k.fix(s)
			due = append(due, s)
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

// renewed takes the answer to a renewal that was sent at the given time.
func (k *renewer) renewed(s *Lease, r renewal, sent time.Time) {
	k.mu.Lock()
	if s.index < 0 { // ended, lost or abandoned meanwhile
		k.mu.Unlock()
		return
	}
	now := k.now()
	var cause error
	switch {
	case s.over(now): // Check may have returned ErrLost already: the answer must not revive the lease
		k.drop(s)
		cause = s.lossAt(now, r.Err == nil)
	case r.Err != nil:
		s.doubt = r.Err
		s.unheard = max(0, s.unheard-1)
		s.renewAt = min(s.renewAt, now+min(s.again(), int64(maxRetry)))
		k.fix(s)
	case !r.Alive:
		k.drop(s)
		cause = r.taken()
		s.trust.Store(now)
	default:
		s.doubt, s.unheard = nil, 0
		s.believe(sent, r.Left)
		s.span = min(r.Left, s.ref.TTL)
		s.renewAt = s.due(now)
		k.fix(s)
		if r.Replaced {
			s.newer.Store(true)
			cause = driver.ErrReplaced
		}
	}
	k.arm()
	k.mu.Unlock()
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

// renew sends the renewals: plain leases each alone, numbered ones of the same TTL
// together. Leases of different TTLs share no request, because a request has one
// end. It returns before the answers are there.
func (l *Locker) renew(due []*Lease) {
	var batches map[sharing][]*Lease
	for _, s := range due {
		if s.claimer == nil {
			go l.renewPlain(s)
			continue
		}
		if batches == nil {
			batches = make(map[sharing][]*Lease)
		}
		with := sharing{s.claimer, s.ref.TTL, s.claimer.shard(s.ref.Key)}
		batches[with] = append(batches[with], s)
	}
	for with, batch := range batches {
		go with.claimer.renew(batch)
	}
}

// sharing is the key of a batch: renewals with equal values share a request.
type sharing struct {
	claimer *Claimer
	ttl     time.Duration
	shard   int
}

func (l *Locker) renewPlain(s *Lease) {
	sent := time.Now()
	h := s.holding()
	ctx, stop := worthwhile(s.ref.TTL)
	defer stop()
	r := bounded(ctx, func(ctx context.Context) renewal {
		return newRenewal(l.driver.Renew(ctx, h))
	}, func(err error) renewal { return newRenewal(driver.Grant{}, err) })
	l.renewer.renewed(s, r, sent)
	probing, stop := context.WithTimeout(context.Background(), s.ref.TTL/3)
	defer stop()
	l.storeEvents.check(probing, l.driver, l.renewer.start)
}

// worthwhile returns a context for a renewal by ttl that is sent now. It ends when
// an answer would no longer help: the lease would not be trusted by then.
func worthwhile(ttl time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), ttl-margin(ttl))
}

// renew renews leases of one TTL.
func (c *Claimer) renew(batch []*Lease) {
	refs := make([]driver.RunRef, len(batch))
	for i, s := range batch {
		refs[i] = s.ref
	}
	ctx, stop := worthwhile(batch[0].ref.TTL)
	defer stop()
	sent := time.Now()
	answers := bounded(ctx, func(ctx context.Context) []driver.RenewAnswer {
		return c.store.RenewRuns(ctx, refs)
	}, inDoubt(len(refs), func(r *driver.RenewAnswer, err error) { r.Err = err }))
	for i, s := range batch {
		c.locker.renewer.renewed(s, renewal{RenewAnswer: answers[i]}, sent)
	}
}

// due is when a lease whose request was answered now is to be renewed: a third of its
// time after that request was sent, since its trust counts from there as well.
func (s *Lease) due(now int64) int64 {
	if s.fixed {
		return never
	}
	sent := s.trust.Load() - int64(s.span-margin(s.span))
	return max(now, sent+int64(s.span/3))
}

// again is how long a renewal waits for its answer before the next one is sent beside it:
// replies may be lost or slow, and one answer before the trust ends is enough. The pause
// doubles at first, so that a silent store gets at most six renewals of one lease.
func (s *Lease) again() int64 {
	return int64(max(min(s.span/20<<min(s.unheard, 2), s.span/8), 2*together))
}

// bounded calls f and returns its answer, or doubt when ctx has ended: a driver that
// ignores its context must not delay other renewals.
func bounded[T any](ctx context.Context, f func(context.Context) T, doubt func(error) T) T {
	answer := make(chan T, 1)
	go func() { answer <- f(ctx) }()
	select {
	case a := <-answer:
		return a
	case <-ctx.Done():
		return doubt(ctx.Err())
	}
}

// inDoubt answers n requests with the same doubt.
func inDoubt[T any](n int, set func(*T, error)) func(error) []T {
	return func(err error) []T {
		all := make([]T, n)
		for i := range all {
			set(&all[i], err)
		}
		return all
	}
}

// leases is a heap by the next event. Each event is kept beside its pointer, so that
// sifting reads no lease.
type leases []held

type held struct {
	at int64
	s  *Lease
}

// event is when the lease is due next: for a renewal, or for the end of its trust.
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
