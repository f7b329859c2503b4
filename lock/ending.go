package lock

import (
	"context"
	"sync"
	"time"
)

// endings gathers the endings of a few milliseconds, so that runs which end
// together share one request.
type endings struct {
	mu    sync.Mutex
	queue batch
}

// A batch of endings. What the store is told of them lies together, as it is sent.
type batch struct {
	endings []Ending
	tells   []telling
}

// A telling is what is to be done with the answer to an ending.
type telling struct {
	then  Ender
	until time.Time // when to give up
	asked bool      // sent before, and the answer was doubt
}

func (b *batch) add(e Ending, t telling) {
	b.endings, b.tells = append(b.endings, e), append(b.tells, t)
}

const (
	gather     = 5 * time.Millisecond // how long an ending waits for others
	maxBatch   = 200                  // then it waits no longer
	minEndTime = 5 * time.Second      // how long an ending is at least sent again
	endTimeout = 2 * time.Second      // of one request
)

func (e *endings) add(l *Locker, end Ending, t telling) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.queue.add(end, t)
	switch len(e.queue.endings) {
	case maxBatch:
		full := e.queue
		e.queue = batch{make([]Ending, 0, maxBatch), make([]telling, 0, maxBatch)} // more will come
		go l.end(full)
	case 1:
		time.AfterFunc(gather, func() { l.end(e.take()) })
	}
}

func (e *endings) take() batch {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := e.queue
	e.queue = batch{}
	return all
}

// end sends a batch until each ending is answered or has run out of time.
func (l *Locker) end(b batch) {
	for wait := firstRetry; len(b.endings) > 0; wait = min(2*wait, maxRetry) {
		b = l.sendEndings(b)
		if len(b.endings) > 0 {
			time.Sleep(wait)
		}
	}
}

// sendEndings sends once and returns what must be sent again.
func (l *Locker) sendEndings(b batch) (again batch) {
	ctx, stop := context.WithTimeout(context.Background(), endTimeout)
	defer stop()
	answers := bounded(ctx, func(ctx context.Context) []Ended { return l.numbered.ReleaseRuns(ctx, b.endings) },
		inDoubt(len(b.endings), func(a *Ended, err error) { a.Err = err }))
	now := time.Now()
	for i := range answers {
		a, t := answers[i], &b.tells[i]
		if doubtful(a.Err) && now.Before(t.until) {
			t.asked = true
			again.add(b.endings[i], *t)
			continue
		}
		if a.Err == nil && !a.Ended && t.asked {
			a.Err = errAskedAgain
		}
		if t.then != nil {
			t.then.Ended(a)
		}
	}
	return again
}
