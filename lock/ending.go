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
	queue []ending
}

type ending struct {
	Ending
	then  Ender
	until time.Time // when to give up
	asked bool      // sent before, and the answer was doubt
}

const (
	gather     = 5 * time.Millisecond // how long an ending waits for others
	maxBatch   = 200                  // then it waits no longer
	minEndTime = 5 * time.Second      // how long an ending is at least sent again
	endTimeout = 2 * time.Second      // of one request
)

func (e *endings) add(l *Locker, es ...ending) {
	e.mu.Lock()
	defer e.mu.Unlock()
	first := len(e.queue) == 0
	if e.queue == nil {
		e.queue = make([]ending, 0, max(maxBatch, len(es)))
	}
	e.queue = append(e.queue, es...)
	switch {
	case len(e.queue) >= maxBatch:
		full := e.queue
		e.queue = nil
		go l.end(full)
	case first:
		time.AfterFunc(gather, func() { l.end(e.take()) })
	}
}

func (e *endings) take() []ending {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := e.queue
	e.queue = nil
	return all
}

// end sends a batch until each ending is answered or has run out of time.
func (l *Locker) end(batch []ending) {
	for wait := firstRetry; len(batch) > 0; wait = min(2*wait, maxRetry) {
		batch = l.sendEndings(batch)
		if len(batch) > 0 {
			time.Sleep(wait)
		}
	}
}

// sendEndings sends once and returns what must be sent again.
func (l *Locker) sendEndings(batch []ending) (again []ending) {
	refs := make([]Ending, len(batch))
	for i := range batch {
		refs[i] = batch[i].Ending
	}
	ctx, stop := context.WithTimeout(context.Background(), endTimeout)
	defer stop()
	answers := bounded(ctx, func(ctx context.Context) []Ended { return l.numbered.ReleaseRuns(ctx, refs) },
		inDoubt(len(refs), func(a *Ended, err error) { a.Err = err }))
	now := time.Now()
	for i, e := range batch {
		a := answers[i]
		if doubtful(a.Err) && now.Before(e.until) {
			e.asked = true
			again = append(again, e)
			continue
		}
		if a.Err == nil && !a.Ended && e.asked {
			a.Err = errAskedAgain
		}
		if e.then != nil {
			e.then.Ended(a)
		}
	}
	return again
}
