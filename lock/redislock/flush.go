package redislock

import (
	"slices"
	"time"
)

// begin puts a batch in flight with these calls. It returns nil if there may be no more
// batches. The mutex is held.
func (p *pipeline) begin(calls []*call) *batch {
	if len(p.inFlight) == maxLate || p.counting() == maxInFlight {
		return nil
	}
	b := &batch{calls: calls, began: time.Now()}
	p.inFlight = append(p.inFlight, b)
	return b
}

// counting is how many batches in flight are not late. The mutex is held.
func (p *pipeline) counting() int {
	n := 0
	for _, b := range p.inFlight {
		if !b.late {
			n++
		}
	}
	return n
}

// next begins a batch of what is in the queue, up to maxBatch calls. It returns nil if
// there are none, or there may be no more batches. The mutex is held.
func (p *pipeline) next() *batch {
	n := min(len(p.queue), maxBatch)
	if n == 0 {
		return nil
	}
	b := p.begin(p.queue[:n:n])
	if b == nil {
		return nil
	}
	if p.queue = p.queue[n:]; len(p.queue) > 0 {
		p.watch()
	} else {
		p.queue = nil // its memory is the batch's
	}
	return b
}

// flush sends a batch, and what is in the queue then, until no call waits or others do so.
func (p *pipeline) flush(b *batch) {
	for b != nil {
		p.send(b)
		b = p.complete(b)
	}
}

// complete takes a batch out of flight and returns the next one, if there is one.
func (p *pipeline) complete(b *batch) *batch {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.Index(p.inFlight, b)
	p.inFlight = slices.Delete(p.inFlight, i, i+1)
	return p.next()
}

// completeAlone completes the batch of a request that its own goroutine has sent, which
// need not wait for the calls that are in the queue.
func (p *pipeline) completeAlone(b *batch) {
	if next := p.complete(b); next != nil {
		go p.flush(next)
	}
}

// watch has the queue flushed when the next batch in flight is late. It is called when
// calls begin to wait. The mutex is held.
func (p *pipeline) watch() {
	i := slices.IndexFunc(p.inFlight, func(b *batch) bool { return !b.late })
	if i < 0 {
		return // there may be no more batches: the first to complete goes on
	}
	left := p.late - time.Since(p.inFlight[i].began)
	if p.timer == nil {
		p.timer = time.AfterFunc(left, p.flushLate)
		return
	}
	p.timer.Reset(left)
}

// flushLate flushes the queue beside batches that are late.
func (p *pipeline) flushLate() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, b := range p.inFlight {
		b.late = b.late || time.Since(b.began) >= p.late
	}
	for b := p.next(); b != nil; b = p.next() {
		go p.flush(b)
	}
	if len(p.queue) > 0 {
		p.watch()
	}
}
