package redlock

import (
	"context"
	"errors"
	"time"
)

// errNotAsked is the answer of a server to which no request was sent, and errLate the answer of a
// server that had not answered when the caller had enough answers.
var (
	errNotAsked = errors.New("no request sent")
	errLate     = errors.New("no answer in time")
)

// agreeWithin is how long other servers are awaited once a majority has answered yes with different
// fences. One more answer may complete a majority for one fence, which saves a round trip; a silent
// server must not cost more than this saves.
const agreeWithin = time.Millisecond

// A question names the servers that get a request, and the answers that suffice.
type question struct {
	to     []int               // indexes of Driver.nodes
	enough func(b ballot) bool // nil: all servers must have answered
	late   func(*node, answer) // called with each answer that came too late; nil: not called
	gives  lease               // the lease that a yes gives; zero: none
}

// A numbered is an answer with the index of its server.
type numbered struct {
	node int
	answer
}

// sendAll sends a request to several servers at once. It returns when their answers are enough, ctx
// ends, or the patience is over. A server that has not answered by then has errLate in the ballot;
// its answer is awaited in the background.
func (d *Driver) sendAll(ctx context.Context, patience time.Duration, r request, q question) ballot {
	b := d.emptyBallot()
	if len(q.to) == 0 {
		return b
	}
	bounded, stop := context.WithTimeout(context.WithoutCancel(ctx), patience)
	d.begin()
	answers := make(chan numbered, len(q.to))
	for _, i := range q.to {
		b.answers[i].err = errLate
		go func() { answers <- numbered{i, d.nodes[i].call(bounded, r)} }()
	}
	due := d.collect(ctx, min(d.agree, patience/4), answers, b, q)
	if due == 0 {
		stop()
		d.asking.Done()
		return b
	}
	// This must come before the caller can release the lease: the release follows these answers.
	for _, i := range q.to {
		if q.gives != (lease{}) && errors.Is(b.answers[i].err, errLate) {
			d.nodes[i].expect(q.gives)
		}
	}
	go func() {
		defer d.asking.Done()
		defer stop()
		for range due {
			d.takeLate(<-answers, q)
		}
	}()
	return b
}

// begin records that requests are running. Close waits for them, and begin waits for Close: a
// WaitGroup must not grow from zero during its Wait.
func (d *Driver) begin() {
	d.closing.RLock()
	defer d.closing.RUnlock()
	d.asking.Add(1)
}

// collect collects answers until they are enough, and returns how many are still to come.
func (d *Driver) collect(ctx context.Context, agree time.Duration, answers <-chan numbered, b ballot, q question) (due int) {
	var disagree <-chan time.Time
	for due = len(q.to); due > 0; {
		select {
		case got := <-answers:
			b.answers[got.node] = got.answer
			due--
		case <-disagree:
			return due
		case <-ctx.Done():
			return due
		}
		switch {
		case q.enough == nil:
		case q.enough(b):
			return due
		case disagree == nil && b.count(yes) >= b.majority:
			disagree = time.After(agree)
		}
	}
	return due
}

// takeLate handles an answer that came after the caller had enough answers.
func (d *Driver) takeLate(got numbered, q question) {
	n := d.nodes[got.node]
	if q.late != nil {
		q.late(n, got.answer)
	}
	if q.gives != (lease{}) {
		n.answered(q.gives)
	}
}
