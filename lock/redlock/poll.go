package redlock

import (
	"context"
	"errors"
	"sync"
	"time"
)

// errLate stands for the answer of a server that was not waited for.
var errLate = errors.New("not waited for")

// A poll is one request to many servers. Its answers count until the caller has
// enough of them; what comes after that is late.
type poll struct {
	stop context.CancelFunc // ends what the servers are asked with

	mu     sync.Mutex
	ballot ballot
	due    int // answers to come
	over   bool
	done   chan struct{} // closed when the poll is over, unless its caller left
}

// A question says whom to ask and how much of an answer is wanted. The zero
// value asks all servers and waits for all of them.
type question struct {
	which  func(i int) bool     // nil: all
	enough func(b ballot) bool  // nil: when all have answered
	late   func(*node, *answer) // told of each answer that nobody waited for; nil: nobody
}

// ask sends a request to several servers at once. It waits until their answers
// are enough or ctx ends, and for each no longer than the patience. The answer
// of a server that was not asked is errNotAsked; of one that was not waited for,
// errLate: its request goes on in the background for as long as the patience.
func (d *Driver) ask(ctx context.Context, patience time.Duration, r request, q question) ballot {
	base, stop := context.WithTimeout(context.WithoutCancel(ctx), patience)
	p := &poll{stop: stop, ballot: d.count(make([]answer, len(d.nodes))), done: make(chan struct{})}
	for i := range d.nodes {
		p.ballot.answers[i].err = errNotAsked
		if q.which == nil || q.which(i) {
			p.ballot.answers[i].err = errLate
			p.due++
		}
	}
	if p.due == 0 {
		stop()
		return p.ballot
	}
	d.closing.RLock()
	for i, n := range d.nodes {
		if q.which != nil && !q.which(i) {
			continue
		}
		d.asking.Go(func() {
			a := n.ask(base, r)
			if !p.take(i, &a, q.enough) && q.late != nil {
				q.late(n, &a)
			}
		})
	}
	d.closing.RUnlock()
	select {
	case <-p.done:
	case <-ctx.Done():
	}
	return p.end()
}

// take counts an answer and reports whether it was in time.
func (p *poll) take(i int, a *answer, enough func(ballot) bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.due--; p.due == 0 {
		p.stop()
	}
	if p.over {
		return false
	}
	p.ballot.answers[i] = *a
	if p.due == 0 || enough != nil && enough(p.ballot) {
		p.over = true
		close(p.done)
	}
	return true
}

// end closes the poll; its answers do not change any more.
func (p *poll) end() ballot {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over = true
	return p.ballot
}
