package runs

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/cronce/cronce/internal/wait"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/internal/health"
)

// An EndStore receives the ends of runs.
type EndStore interface {
	ReleaseRuns(ctx context.Context, es []series.EndRequest) []series.EndAnswer
}

// ends is the queue of the ends of runs. The ends of each partition are sent separately, so that a
// partition which does not answer delays no other partition. An end without an answer is kept and sent
// again until the store has answered it or its context has ended.
type ends struct {
	store    EndStore
	refuses  func(err error) bool // reports whether an error is the store's refusal of an end
	answered func(partition int, err error)
	timeout  time.Duration // of one request

	mu         sync.Mutex
	partitions map[int]*partitionEnds
}

// A partitionEnds has the ends of one partition. Ends that arrive within a few milliseconds share one
// request. Ends without an answer are sent again together, in one request at a time. So when a
// store comes back after an outage, each node has one request in flight per partition, and sends
// several in turn if many ends are left.
type partitionEnds struct {
	*ends
	no int

	mu       sync.Mutex
	fresh    []*batch  // not sent yet; each but the last is full
	departs  time.Time // when fresh is sent at the latest; zero: no timer is set for it
	requests int       // requests with fresh ends in flight
	doubt    batch     // ends that were sent and not answered
	failed   int       // repeats in a row after which no end was recorded
	most     int       // the most ends of doubt in the next request; 0: maxBatch
	repeats  bool      // a repeat is in flight, or its timer is set
}

// A batch is a batch of ends. The requests lie together, as they are sent. Fresh ends gather in full
// batches, because one slice for all would be copied again and again while many ticks start.
type batch struct {
	requests []series.EndRequest
	ends     []end
}

// An end has the addressee of the answer to a request.
type end struct {
	ctx context.Context // the end is given up when ctx ends
	to  addressee
}

// An addressee is notified of the answers to its end. Its methods must not block.
type addressee interface {
	// Ended gets the store's answer, once. It gets doubt if the end was given up.
	Ended(series.EndAnswer)
	// Refused is called each time that the store refuses the end. The end is sent again.
	Refused()
}

const (
	gather      = 5 * time.Millisecond   // how long an end waits for other ends
	holdTime    = 250 * time.Millisecond // how long it waits while starts go first
	maxBatch    = 200                    // the most ends in a request
	minBatch    = 25                     // the least limit of a request with ends in doubt
	maxRequests = 8                      // the most requests with fresh ends in flight, per partition
)

// repeatPauses are the pauses before a repeat. They stay short, because later ends wait for it.
var repeatPauses = wait.Backoff{First: 20 * time.Millisecond, Longest: 250 * time.Millisecond}

func (b *batch) add(e *series.EndRequest, to end) {
	b.requests, b.ends = append(b.requests, series.EndRequest{}), append(b.ends, to)
	b.requests[len(b.requests)-1] = *e
}

// cut removes and returns the first ends of a batch, up to most of them.
func (b *batch) cut(most int) *batch {
	n := min(len(b.requests), most)
	first := &batch{b.requests[:n:n], b.ends[:n:n]}
	*b = batch{b.requests[n:], b.ends[n:]}
	return first
}

// of returns the ends of a partition.
func (e *ends) of(partition int) *partitionEnds {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.partitions == nil {
		e.partitions = map[int]*partitionEnds{}
	}
	s := e.partitions[partition]
	if s == nil {
		s = &partitionEnds{ends: e, no: partition}
		e.partitions[partition] = s
	}
	return s
}

// add queues an end. If hold is set it waits longer for other ends, so that starts go first.
func (e *ends) add(ctx context.Context, partition int, r *series.EndRequest, to addressee, hold bool) {
	r.Error = series.ErrorText(r.Error)
	e.of(partition).add(r, end{ctx: ctx, to: to}, hold)
}

// flush sends the ends that still wait for other ends.
func (e *ends) flush() {
	e.mu.Lock()
	all := make([]*partitionEnds, 0, len(e.partitions))
	for _, s := range e.partitions {
		all = append(all, s)
	}
	e.mu.Unlock()
	for _, s := range all {
		s.depart()
	}
}

func (s *partitionEnds) add(r *series.EndRequest, to end, hold bool) {
	s.mu.Lock()
	s.addFresh(r, to)
	full := !hold && len(s.fresh[0].requests) == maxBatch
	wait := gather
	if hold {
		wait = holdTime
	}
	if at := time.Now().Add(wait); !full && (s.departs.IsZero() || at.Before(s.departs)) {
		s.departs = at
		time.AfterFunc(wait, s.depart)
	}
	s.mu.Unlock()
	if full {
		s.depart()
	}
}

// addFresh adds a fresh end. A batch behind a full one gets its room at once. The caller holds the mutex.
func (s *partitionEnds) addFresh(r *series.EndRequest, to end) {
	last := len(s.fresh) - 1
	switch {
	case last < 0:
		s.fresh = append(s.fresh, &batch{})
	case len(s.fresh[last].requests) == maxBatch:
		s.fresh = append(s.fresh, &batch{make([]series.EndRequest, 0, maxBatch), make([]end, 0, maxBatch)})
	}
	s.fresh[len(s.fresh)-1].add(r, to)
}

// depart sends the fresh ends, up to the limit of requests in flight. The rest is sent when one of
// these requests returns.
func (s *partitionEnds) depart() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.departs = time.Time{}
	for len(s.fresh) > 0 && s.requests < maxRequests {
		s.requests++
		b := s.fresh[0]
		s.fresh[0], s.fresh = nil, s.fresh[1:]
		go s.send(b, func(bool) { s.returned() })
	}
}

// returned records the return of a request with fresh ends, and sends the ends that waited for it.
func (s *partitionEnds) returned() {
	s.mu.Lock()
	waited := s.requests == maxRequests && len(s.fresh) > 0
	s.requests--
	s.mu.Unlock()
	if waited {
		s.depart()
	}
}

// send sends a batch on this goroutine, which also handles the answers. If the request times out
// before the store returns, another goroutine handles the ends as doubt. Afterwards done is called
// once; its argument reports whether the store answered any end.
func (s *partitionEnds) send(b *batch, done func(bool)) {
	ctx, stop := context.WithTimeout(b.ends[0].ctx, s.timeout)
	defer stop()
	first := context.AfterFunc(ctx, func() {
		doubt := make([]series.EndAnswer, len(b.requests))
		for i := range doubt {
			doubt[i].Err = ctx.Err()
		}
		done(s.distribute(b, doubt))
	})
	answers := s.store.ReleaseRuns(ctx, b.requests)
	if first() {
		done(s.distribute(b, answers))
	}
}

// distribute passes the answers on, and keeps the ends in doubt to be sent again. It reports whether the
// store answered any end.
func (s *partitionEnds) distribute(b *batch, answers []series.EndAnswer) bool {
	var again batch
	var failed error
	reached := false
	for i := range answers {
		a, e := answers[i], &b.ends[i]
		reached = reached || health.Reached(a.Err)
		if doubtful(a.Err) && e.ctx.Err() == nil {
			failed = a.Err
			if s.refuses(a.Err) {
				e.to.Refused()
			}
			again.add(&b.requests[i], *e)
			continue
		}
		e.to.Ended(a)
	}
	if reached {
		failed = nil
	}
	if reached || failed != nil {
		s.answered(s.no, failed)
	}
	s.keep(again)
	return len(again.requests) < len(answers)
}

// doubtful reports whether the store may have recorded an end or not, so that it is sent again.
func doubtful(err error) bool {
	_, bad := errors.AsType[*driver.ArgumentError](err)
	return err != nil && !bad && !errors.Is(err, driver.ErrUnsupported)
}

// keep adds ends in doubt.
func (s *partitionEnds) keep(again batch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.doubt.requests = append(s.doubt.requests, again.requests...)
	s.doubt.ends = append(s.doubt.ends, again.ends...)
	s.repeat()
}

// repeat schedules the next request with ends in doubt, unless one is scheduled. The caller holds
// the mutex.
func (s *partitionEnds) repeat() {
	switch {
	case s.repeats:
		return
	case len(s.doubt.requests) == 0:
		s.failed = 0
		return
	}
	s.repeats = true
	s.failed++
	time.AfterFunc(repeatPauses.After(s.failed), func() {
		s.mu.Lock()
		b := s.doubt.cut(cmp.Or(s.most, maxBatch))
		s.mu.Unlock()
		s.send(b, func(progress bool) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.repeats = false
			s.adapt(progress)
			s.repeat()
		})
	})
}

// adapt sets the number of ends in doubt that are sent next. After an outage a store may be too
// slow to answer all of them within the timeout of one request, and a repeat of the same size would
// never be answered in time. The caller holds the mutex.
func (s *partitionEnds) adapt(progress bool) {
	most := cmp.Or(s.most, maxBatch)
	if !progress {
		s.most = max(most/2, minBatch)
		return
	}
	s.most, s.failed = min(2*most, maxBatch), 0
}
