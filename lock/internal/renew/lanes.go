package renew

import (
	"cmp"
	"container/heap"
	"context"
	"time"

	"github.com/cronce/cronce/internal/wait"
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

// A Sharing is the properties that renewals must have in common to share a request, beside the TTL.
// Leases on different servers or partitions share no request, because a silent one would delay the
// others; and leases with different numbers of replicas do not, because one would wait for the
// replicas of another.
type Sharing struct {
	Server    string
	Partition int
	Replicas  int
}

// A sharing is a Sharing with the TTL: leases of different TTLs share no request, because a request
// has one deadline.
type sharing struct {
	Sharing
	ttl time.Duration
}

// A lane sends renewals of one sharing: a few requests at once, and first for the leases whose
// trust ends first. Its fields are guarded by the keeper's mutex.
//
//	due → queue → request in flight → answers
type lane[R any] struct {
	sharing
	queue    waitingLeases[R]
	counting int // requests in flight that are not late
	inFlight int
}

// limits returns how many leases a request renews, and how many requests of a lane may be in flight.
func (k *Keeper[R]) limits() (size, most int) {
	if k.cfg.Singly {
		return 1, singly
	}
	return maxRenewals, sideBySide
}

// renew queues leases that are due, and sends as many requests as it may.
func (k *Keeper[R]) renew(due []*Lease[R]) {
	with := make([]sharing, len(due))
	for i, s := range due {
		with[i] = sharing{k.cfg.Share(s.Ref), s.ttl} // calls the store, so the mutex is not held
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for i, s := range due {
		if s.index < 0 {
			continue
		}
		n := k.lanes[with[i]]
		if n == nil {
			if k.lanes == nil {
				k.lanes = make(map[sharing]*lane[R])
			}
			n = &lane[R]{sharing: with[i]}
			k.lanes[with[i]] = n
		}
		heap.Push(&n.queue, held[R]{s.trust.Load(), s})
	}
	k.send()
	k.arm()
}

// send sends requests while it may. The mutex is held.
func (k *Keeper[R]) send() {
	size, _ := k.limits()
	for k.inFlight < maxInFlight {
		n := k.next()
		if n == nil {
			return
		}
		batch := n.take(size)
		if len(batch) == 0 {
			continue
		}
		now := k.Now()
		for _, s := range batch {
			s.asked++
			// If no answer comes in half of the trust that is left, the request is presumed lost.
			s.renewAt = now + max((s.trust.Load()-now)/2, int64(2*together))
			k.fix(s)
		}
		n.counting++
		n.inFlight++
		k.inFlight++
		go k.sendOne(n, batch)
	}
}

// next returns, of the lanes that may send, the lane with the lease whose trust ends first, or nil.
// It deletes lanes that have nothing to do. The mutex is held.
func (k *Keeper[R]) next() (first *lane[R]) {
	_, most := k.limits()
	for with, n := range k.lanes {
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
func (n *lane[R]) take(size int) (batch []*Lease[R]) {
	for len(n.queue) > 0 && len(batch) < size {
		if s := heap.Pop(&n.queue).(held[R]).s; s.queued && s.index >= 0 {
			s.queued = false // it may be in the queue twice
			batch = append(batch, s)
		}
	}
	return batch
}

// sendOne sends one request, and processes its answers.
func (k *Keeper[R]) sendOne(n *lane[R], batch []*Lease[R]) {
	late := false
	overdue := time.AfterFunc(n.ttl/lateShare, func() {
		k.mu.Lock()
		defer k.mu.Unlock()
		if !late {
			late = true
			n.counting--
			k.send()
			k.arm()
		}
	})
	// When the context ends, the lease would not be trusted by the time of an answer.
	ctx, stop := context.WithTimeout(context.Background(), trust(n.ttl))
	defer stop()
	refs := make([]R, len(batch))
	for i, s := range batch {
		refs[i] = s.Ref
	}
	sent := time.Now()
	// A function that ignores its context must not delay other renewals.
	answers, err := wait.Call(ctx, 0, func(ctx context.Context) ([]Renewal, error) { return k.cfg.Renew(ctx, refs), nil })
	if err != nil {
		answers = make([]Renewal, len(batch))
		for i := range answers {
			answers[i].Err = err
		}
	}
	overdue.Stop()
	causes := make([]error, len(batch))
	k.mu.Lock()
	for i, s := range batch {
		s.asked--
		causes[i] = k.apply(s, &answers[i], sent)
	}
	if !late {
		late = true
		n.counting--
	}
	n.inFlight--
	k.inFlight--
	k.send()
	k.arm()
	k.mu.Unlock()
	for i, s := range batch {
		s.conclude(causes[i])
	}
	if k.cfg.Answered == nil {
		return
	}
	answered, stop := context.WithTimeout(context.Background(), n.ttl/3)
	defer stop()
	k.cfg.Answered(answered)
}

// waitingLeases is a heap of leases by the end of their trust when they were queued.
type waitingLeases[R any] []held[R]

func (w waitingLeases[R]) Len() int           { return len(w) }
func (w waitingLeases[R]) Less(i, j int) bool { return cmp.Less(w[i].at, w[j].at) }
func (w waitingLeases[R]) Swap(i, j int)      { w[i], w[j] = w[j], w[i] }
func (w *waitingLeases[R]) Push(x any)        { *w = append(*w, x.(held[R])) }
func (w *waitingLeases[R]) Pop() any {
	last := len(*w) - 1
	x := (*w)[last]
	(*w)[last] = held[R]{}
	*w = (*w)[:last]
	return x
}
