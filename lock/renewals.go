package lock

import (
	"cmp"
	"container/heap"
	"context"
	"time"

	"github.com/cronce/cronce/internal/wait"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

const (
	// maxAsked is how many renewals of one lease are in flight at once: one request and its
	// repeats. A repeat is sent when half of the trust that was left at the previous request is
	// gone, because that request is presumed lost then. So there are few repeats while the store is
	// merely slow, and the last ones follow each other soon: one answer before the trust ends is
	// enough.
	maxAsked = 6
	// maxRenewals is how many leases one request renews.
	maxRenewals = 200
	// sideBySide is how many requests of a lane are in flight at once if each renews many leases:
	// while one is on the wire, the server works on another.
	sideBySide = 2
	// singly is the same for a store that renews one lease with each request.
	singly = 16
	// maxInFlight bounds the requests in flight of all lanes, the late ones included.
	maxInFlight = 64
	// lateShare is the part of the TTL after which a request in flight no longer counts for its
	// lane: its connection may be silent, and other renewals need not wait for it.
	lateShare = 16
)

// A sharing is the properties that renewals must have in common to share a request. Leases of
// different TTLs share no request, because a request has one deadline; leases on different servers
// do not, because a silent server would delay the others; and leases with different numbers of
// replicas do not, because one would wait for the replicas of another.
type sharing struct {
	claimer  *Claimer // nil: plain leases
	ttl      time.Duration
	server   string // of plain leases
	shard    int    // of numbered leases
	replicas int
}

// A lane sends renewals of one sharing: a few requests at once, and first for the leases whose
// trust ends first. Its fields are guarded by the renewer's mutex.
//
//	due → queue → request in flight → answers
type lane struct {
	sharing
	queue    waitingLeases
	counting int // requests in flight that are not late
	inFlight int
}

// limits returns how many leases a request of the lane renews, and how many requests may be in
// flight.
func (n *lane) limits(l *Locker) (size, most int) {
	if n.claimer == nil && l.several == nil {
		return 1, singly
	}
	return maxRenewals, sideBySide
}

// renew queues leases that are due, and sends as many requests as it may.
func (l *Locker) renew(due []*Lease) {
	with := make([]sharing, len(due))
	for i, s := range due {
		with[i] = l.sharing(s) // calls the driver, so the mutex is not held
	}
	k := &l.renewer
	k.mu.Lock()
	defer k.mu.Unlock()
	for i, s := range due {
		if s.index < 0 {
			continue
		}
		n := k.lanes[with[i]]
		if n == nil {
			if k.lanes == nil {
				k.lanes = make(map[sharing]*lane)
			}
			n = &lane{sharing: with[i]}
			k.lanes[with[i]] = n
		}
		heap.Push(&n.queue, held{s.trust.Load(), s})
	}
	l.send()
	k.arm()
}

func (l *Locker) sharing(s *Lease) sharing {
	with := sharing{claimer: s.claimer, ttl: s.ref.TTL, replicas: s.ref.Replicas}
	if s.claimer != nil {
		with.shard = s.claimer.shard(s.ref.Key)
	} else if d, is := l.driver.(driver.Distributed); is {
		with.server = d.Server(s.ref.Key)
	}
	return with
}

// send sends requests while it may. The renewer's mutex is held.
func (l *Locker) send() {
	k := &l.renewer
	for k.inFlight < maxInFlight {
		n := k.next(l)
		if n == nil {
			return
		}
		size, _ := n.limits(l)
		batch := n.take(size)
		if len(batch) == 0 {
			continue
		}
		now := k.now()
		for _, s := range batch {
			s.queued = false
			s.asked++
			// If no answer comes in half of the trust that is left, the request is presumed lost.
			s.renewAt = now + max((s.trust.Load()-now)/2, int64(2*together))
			k.fix(s)
		}
		n.counting++
		n.inFlight++
		k.inFlight++
		go l.sendOne(n, batch)
	}
}

// next returns, of the lanes that may send, the lane with the lease whose trust ends first, or nil.
// It deletes lanes that have nothing to do. The mutex is held.
func (k *renewer) next(l *Locker) (first *lane) {
	for with, n := range k.lanes {
		_, most := n.limits(l)
		switch {
		case len(n.queue) == 0 && n.inFlight == 0:
			delete(k.lanes, with)
		case len(n.queue) == 0 || n.counting >= most:
		case first == nil || n.queue[0].at < first.queue[0].at:
			first = n
		}
	}
	return first
}

// take takes up to size leases off the queue. It drops leases that have ended, or that a late
// answer has renewed.
func (n *lane) take(size int) (batch []*Lease) {
	for len(n.queue) > 0 && len(batch) < size {
		if s := heap.Pop(&n.queue).(held).s; s.queued && s.index >= 0 {
			s.queued = false // it may be in the queue twice
			batch = append(batch, s)
		}
	}
	return batch
}

// sendOne sends one request, and processes its answers.
func (l *Locker) sendOne(n *lane, batch []*Lease) {
	k := &l.renewer
	late := false
	overdue := time.AfterFunc(n.ttl/lateShare, func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		if !late {
			late = true
			n.counting--
			l.send()
			k.arm()
		}
	})
	ctx, stop := worthwhile(n.ttl)
	defer stop()
	sent := time.Now()
	// A driver that ignores its context must not delay other renewals.
	answers, err := wait.Call(ctx, 0, func(ctx context.Context) ([]renewal, error) { return l.renewAll(ctx, n, batch), nil })
	if err != nil {
		answers = inDoubt(len(batch), func(r *renewal, err error) { r.Err = err })(err)
	}
	overdue.Stop()
	causes := make([]error, len(batch))
	k.mu.Lock()
	for i, s := range batch {
		s.asked--
		causes[i] = k.take(s, &answers[i], sent)
	}
	if !late {
		late = true
		n.counting--
	}
	n.inFlight--
	k.inFlight--
	l.send()
	k.arm()
	k.mu.Unlock()
	for i, s := range batch {
		k.conclude(s, causes[i])
	}
	if n.claimer != nil {
		return
	}
	probing, stop := context.WithTimeout(context.Background(), n.ttl/3)
	defer stop()
	l.storeEvents.check(probing, &l.behind, l.driver, k.start)
}

// worthwhile returns a context for a renewal by ttl that is sent now. It ends when an answer would
// no longer help, because the lease would not be trusted by then.
func worthwhile(ttl time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), ttl-margin(ttl))
}

// renewAll sends one request that renews leases of a lane.
func (l *Locker) renewAll(ctx context.Context, n *lane, batch []*Lease) []renewal {
	answers := make([]renewal, len(batch))
	switch {
	case n.claimer != nil:
		refs := make([]series.RunRef, len(batch))
		for i, s := range batch {
			refs[i] = s.ref
		}
		for i, a := range n.claimer.store.RenewRuns(ctx, refs) {
			answers[i].RenewAnswer = a
		}
	case l.several != nil:
		refs := make([]driver.LeaseRef, len(batch))
		for i, s := range batch {
			refs[i] = s.holding()
		}
		for i, a := range l.several.RenewAll(ctx, refs) {
			answers[i] = newRenewal(a.Grant, a.Err)
		}
	default:
		answers[0] = newRenewal(l.driver.Renew(ctx, batch[0].holding()))
	}
	return answers
}

// waitingLeases is a heap of leases by the end of their trust when they were queued.
type waitingLeases []held

func (w waitingLeases) Len() int           { return len(w) }
func (w waitingLeases) Less(i, j int) bool { return cmp.Less(w[i].at, w[j].at) }
func (w waitingLeases) Swap(i, j int)      { w[i], w[j] = w[j], w[i] }
func (w *waitingLeases) Push(x any)        { *w = append(*w, x.(held)) }
func (w *waitingLeases) Pop() any {
	last := len(*w) - 1
	x := (*w)[last]
	(*w)[last] = held{}
	*w = (*w)[:last]
	return x
}
