package lock

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

// endings sends the endings of runs, those of each shard separately: a shard that does not
// answer delays the endings of no other.
type endings struct {
	timeout  time.Duration    // of one request; 0: endTimeout
	answered func(int, error) // gets each request's answer; may be nil

	mu     sync.Mutex
	shards map[int]*shardEndings
}

// of returns the endings of a shard.
func (e *endings) of(shard int) *shardEndings {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.shards == nil {
		e.shards = map[int]*shardEndings{}
	}
	s := e.shards[shard]
	if s == nil {
		s = &shardEndings{shard: shard}
		e.shards[shard] = s
	}
	return s
}

// shardEndings sends the endings of runs of one shard, and keeps each until the store has
// answered it. Those of a few milliseconds share one request. What had no answer is
// repeated together, with one request at a time: when a store comes back after an outage,
// each Locker asks it once for each shard, and one time after the other if much is left.
type shardEndings struct {
	shard int

	mu       sync.Mutex
	fresh    batch         // not sent yet
	delayed  bool          // fresh waits for a request to return, not for others to join it
	requests int           // with fresh endings, on their way
	doubt    batch         // sent and not answered
	pause    time.Duration // before doubt is sent next
	most     int           // of doubt that is sent next with one request; 0: maxBatch
	repeats  bool          // a repeat is on its way, or its timer runs
}

// A batch of endings. The requests lie together, as they are sent.
type batch struct {
	requests []series.EndRequest
	endings  []ending
}

// An ending is what is to be done with the answer to its request.
type ending struct {
	ctx   context.Context // the ending is given up when it ends
	then  EndHandler
	asked bool // sent before, and the answer was doubt
}

func (b *batch) add(e series.EndRequest, t ending) {
	b.requests, b.endings = append(b.requests, e), append(b.endings, t)
}

const (
	gather      = 5 * time.Millisecond // how long an ending waits for others
	maxBatch    = 200                  // then it waits no longer
	minBatch    = 25                   // of those in doubt, at least, share a request
	maxRequests = 8                    // with fresh endings, at once
	endTimeout  = 2 * time.Second
	maxEndPause = 250 * time.Millisecond // between two repeats: what comes after waits for them
)

func (e *shardEndings) add(c *Claimer, end series.EndRequest, t ending) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.fresh.add(end, t)
	switch n := len(e.fresh.requests); {
	case n == maxBatch && !e.delayed:
		if b := e.depart(); b != nil {
			e.fresh = batch{make([]series.EndRequest, 0, maxBatch), make([]ending, 0, maxBatch)} // more will come
			go e.sendFresh(c, b)
		}
	case n == 1:
		time.AfterFunc(gather, func() { e.sendFresh(c, e.due()) })
	}
}

// due returns the fresh endings if a request may be sent, else nil.
func (e *shardEndings) due() *batch {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.depart()
}

// depart is due while the mutex is held.
func (e *shardEndings) depart() *batch {
	if len(e.fresh.requests) == 0 {
		return nil
	}
	if e.delayed = e.requests == maxRequests; e.delayed {
		return nil
	}
	e.requests++
	b := e.fresh
	e.fresh = batch{}
	return &b
}

// sendFresh sends endings for the first time, and those that were delayed meanwhile.
func (e *shardEndings) sendFresh(c *Claimer, b *batch) {
	if b != nil {
		e.send(c, b, func(bool) {
			if next := e.returned(); next != nil {
				go e.sendFresh(c, next)
			}
		})
	}
}

// returned counts a request with fresh endings as done, and returns the endings that may
// be sent now because of that.
func (e *shardEndings) returned() *batch {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.requests--
	if !e.delayed {
		return nil
	}
	return e.depart()
}

// send sends a batch on this goroutine. The answers are handled here, or, when the time of
// the request is over before the driver returns, as doubt on another goroutine. After that
// done is called once, with whether any was an answer.
func (e *shardEndings) send(c *Claimer, b *batch, done func(bool)) {
	limit := c.endings.timeout
	if limit == 0 {
		limit = endTimeout
	}
	ctx, stop := context.WithTimeout(b.endings[0].ctx, limit)
	defer stop()
	first := context.AfterFunc(ctx, func() {
		doubt := inDoubt(len(b.requests), func(a *series.EndAnswer, err error) { a.Err = err })
		done(e.answered(c, b, doubt(ctx.Err())))
	})
	answers := c.store.ReleaseRuns(ctx, b.requests)
	if first() {
		done(e.answered(c, b, answers))
	}
}

// answered passes the answers on, and keeps the endings in doubt to be sent again. It
// reports whether any was an answer.
func (e *shardEndings) answered(c *Claimer, b *batch, answers []series.EndAnswer) bool {
	var again batch
	var failed error
	reached := false // the store answered; the data of one run may be unreadable all the same
	for i := range answers {
		a, t := answers[i], &b.endings[i]
		reached = reached || !doubtful(a.Err) || errors.Is(a.Err, driver.ErrUnreadable)
		if doubtful(a.Err) && t.ctx.Err() == nil {
			failed = a.Err
			if t.then != nil && c.refuses(a.Err) {
				t.then.Refused()
			}
			t.asked = true
			again.add(b.requests[i], *t)
			continue
		}
		if a.Err == nil && !a.Ended && t.asked {
			a.Err = errAskedAgain
		}
		if t.then != nil {
			t.then.Ended(a)
		}
	}
	if reached {
		failed = nil
	}
	if c.endings.answered != nil && (reached || failed != nil) {
		c.endings.answered(e.shard, failed)
	}
	e.keep(c, again)
	return len(again.requests) < len(answers)
}

// keep takes endings in doubt.
func (e *shardEndings) keep(c *Claimer, again batch) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.doubt.requests = append(e.doubt.requests, again.requests...)
	e.doubt.endings = append(e.doubt.endings, again.endings...)
	e.repeat(c)
}

// repeat schedules the next request with endings in doubt, unless there is one. The mutex
// is held.
func (e *shardEndings) repeat(c *Claimer) {
	switch {
	case e.repeats:
		return
	case len(e.doubt.requests) == 0:
		e.pause = 0
		return
	}
	e.repeats = true
	e.pause = min(max(2*e.pause, firstRetry), maxEndPause)
	time.AfterFunc(e.pause, func() {
		b := e.some()
		e.send(c, b, func(progress bool) {
			e.mu.Lock()
			defer e.mu.Unlock()
			e.repeats = false
			e.adapt(progress)
			e.repeat(c)
		})
	})
}

// some takes those of the endings in doubt that wait for longest.
func (e *shardEndings) some() *batch {
	e.mu.Lock()
	defer e.mu.Unlock()
	n := min(len(e.doubt.requests), cmp.Or(e.most, maxBatch))
	b := &batch{e.doubt.requests[:n:n], e.doubt.endings[:n:n]}
	e.doubt = batch{e.doubt.requests[n:], e.doubt.endings[n:]}
	return b
}

// adapt sets how many of the endings in doubt are sent next. After an outage a store may be
// too slow to answer all of them in the time of one request. Repeated at the same size,
// that request would never be answered in time. The mutex is held.
func (e *shardEndings) adapt(progress bool) {
	most := cmp.Or(e.most, maxBatch)
	if !progress {
		e.most = max(most/2, minBatch)
		return
	}
	e.most, e.pause = min(2*most, maxBatch), 0
}
