package redlock

import (
	"context"
	"errors"
	"iter"
	"math/bits"
	"sync"
	"time"
)

// errLate stands for the answer of a server that was not waited for.
var errLate = errors.New("not waited for")

// restAfter is how long a majority is left alone: until the rest is asked because
// one of it has not answered, and until a lease is sent to the rest. A server that has not
// answered by then is no longer waited for where less than that decides.
const restAfter = time.Millisecond

// A poll is one request to many servers. Its answers count until the caller has
// enough of them; what comes after that is late.
type poll struct {
	driver *Driver
	request
	question
	ctx  context.Context    // of what the servers are asked
	stop context.CancelFunc // ends it

	mu     sync.Mutex
	ballot ballot
	due    int // answers to come
	over   bool
	done   chan struct{} // closed when the poll is over, unless its caller left
}

// A question says which servers to ask and how much of an answer is wanted.
type question struct {
	first  servers              // asked at once
	rest   servers              // asked as well if these do not agree, or not within restAfter
	enough func(b ballot) bool  // nil: when all have answered
	late   func(*node, *answer) // gets each answer that was not waited for; nil: not called
	gives  lease                // what servers that say yes give; zero: nothing
}

// ask sends a request to several servers at once. It waits until their answers
// are enough or ctx ends, and for each no longer than the patience. The answer
// of a server that was not asked is errNotAsked; of one that was not waited for,
// errLate: its request goes on in the background for as long as the patience.
func (d *Driver) ask(ctx context.Context, patience time.Duration, r request, q question) ballot {
	p := d.begin(ctx, patience, r, q)
	if q.first == 0 {
		return p.ballot
	}
	var overdue <-chan time.Time
	if q.enough != nil {
		t := time.NewTimer(min(d.rest, patience/4))
		defer t.Stop()
		overdue = t.C
	}
	for {
		select {
		case <-overdue:
			p.hurry()
		case <-p.done:
			return p.end()
		case <-ctx.Done():
			return p.end()
		}
	}
}

// begin sends the request to the first servers.
func (d *Driver) begin(ctx context.Context, patience time.Duration, r request, q question) *poll {
	p := &poll{driver: d, request: r, question: q, ballot: d.count(make([]answer, len(d.nodes)))}
	for i := range p.ballot.answers {
		p.ballot.answers[i].err = errNotAsked
	}
	if q.first == 0 {
		return p
	}
	p.done = make(chan struct{})
	p.ctx, p.stop = context.WithTimeout(context.WithoutCancel(ctx), patience)
	d.closing.RLock()
	defer d.closing.RUnlock()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.send(q.first)
	return p
}

// hurry asks the rest, unless it was or the poll is over, and settles for less.
func (p *poll) hurry() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return
	}
	p.send(p.rest) // a request is under way, so Close waits
	p.rest = 0
	p.ballot.overdue = true
	p.settle()
}

// send sends the request to some servers. The poll is locked.
func (p *poll) send(to servers) {
	for i := range to.each() {
		p.ballot.answers[i].err = errLate
		p.due++
		p.driver.asking.Add(1)
		p.driver.workers.do(job{p, i})
	}
}

// carryOut asks one server.
func (p *poll) carryOut(i int) {
	defer p.driver.asking.Done()
	n := p.driver.nodes[i]
	a := n.ask(p.ctx, p.request)
	if p.take(i, &a) {
		return
	}
	if p.late != nil {
		p.late(n, &a)
	}
	if p.gives != (lease{}) {
		if freed := p.driver.outstanding.answered(p.gives); freed != nil && (a.err != nil || a.code == yes) {
			p.driver.follow(n, *freed)
		}
	}
}

// take counts an answer and reports whether it was in time.
func (p *poll) take(i int, a *answer) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.due--
	inTime := !p.over
	if inTime {
		p.ballot.answers[i] = *a
		if p.rest != 0 && !p.ballot.agree() {
			p.send(p.rest)
			p.rest = 0
		}
		p.settle()
	}
	if p.due == 0 {
		p.stop()
	}
	return inTime
}

// settle ends the poll if its answers are enough. The poll is locked, and not over.
func (p *poll) settle() {
	if p.due == 0 || p.enough != nil && p.enough(p.ballot) {
		p.finish()
		close(p.done)
	}
}

// end closes the poll; its answers do not change any more.
func (p *poll) end() ballot {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.finish()
	return p.ballot
}

// finish makes all answers to come late. The poll is locked.
func (p *poll) finish() {
	if !p.over && p.due > 0 && p.gives != (lease{}) {
		p.driver.outstanding.expect(p.gives, p.due)
	}
	p.over = true
}

// servers are some of the Driver's nodes: one bit for each.
type servers uint8

func (s servers) has(i int) bool { return s&(1<<i) != 0 }

func (s servers) count() int { return bits.OnesCount8(uint8(s)) }

// each are the numbers of the nodes.
func (s servers) each() iter.Seq[int] {
	return func(yield func(int) bool) {
		for ; s != 0; s &= s - 1 {
			if !yield(bits.TrailingZeros8(uint8(s))) {
				return
			}
		}
	}
}

// all are the nodes of the Driver.
func (d *Driver) all() servers { return 1<<len(d.nodes) - 1 }

// first are those that a key is asked for first: a majority, the same for all that
// ask for the key, so that they meet there and what is remembered of its fence
// agrees. One that is silent is passed over while there are enough others.
func (d *Driver) first(key string) servers {
	hash := uint32(2166136261) // FNV-1a
	for i := range len(key) {
		hash = (hash ^ uint32(key[i])) * 16777619
	}
	start := int(hash % uint32(len(d.nodes)))
	var well, silent servers
	for k := range d.nodes {
		i := (start + k) % len(d.nodes)
		if d.nodes[i].running.Load() {
			silent |= 1 << i
		} else if well |= 1 << i; well.count() == d.majority {
			return well
		}
	}
	for i := range silent.each() {
		if well |= 1 << i; well.count() == d.majority {
			break
		}
	}
	return well
}
