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
		go l.sendEndings(full, firstRetry)
	case 1:
		time.AfterFunc(gather, func() { l.sendEndings(e.take(), firstRetry) })
	}
}

func (e *endings) take() batch {
	e.mu.Lock()
	defer e.mu.Unlock()
	all := e.queue
	e.queue = batch{}
	return all
}

// sendEndings sends a batch on this goroutine, and again after a pause what is in
// doubt and has not run out of time. The answers, or doubt about all when the
// time of the request is over, are taken here or elsewhere.
func (l *Locker) sendEndings(b batch, wait time.Duration) {
	ctx, stop := context.WithTimeout(context.Background(), endTimeout)
	defer stop()
	first := context.AfterFunc(ctx, func() {
		doubt := inDoubt(len(b.endings), func(a *Ended, err error) { a.Err = err })
		l.endingsAnswered(b, doubt(ctx.Err()), wait)
	})
	answers := l.numbered.ReleaseRuns(ctx, b.endings)
	if first() {
		l.endingsAnswered(b, answers, wait)
	}
}

// endingsAnswered tells the answers, and sends again after a pause what is in doubt.
func (l *Locker) endingsAnswered(b batch, answers []Ended, wait time.Duration) {
	var again batch
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
	if len(again.endings) > 0 {
		time.AfterFunc(wait, func() { l.sendEndings(again, min(2*wait, maxRetry)) })
	}
}
