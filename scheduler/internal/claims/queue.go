package claims

import "slices"

// A localQueue holds the claims that wait for a free slot, first come, first served. A
// claim that waits is not looked at before its turn, however often the node wakes: each
// method costs O(1), spread over its calls.
type localQueue struct {
	claims []*Pending // those among them that left are not queued
	left   int        // how many of those there are
}

// count returns how many claims wait.
func (q *localQueue) count() int { return len(q.claims) - q.left }

func (q *localQueue) push(p *Pending) {
	p.queued = true
	q.claims = append(q.claims, p)
}

// pop returns the claim whose turn it is; nil if none waits.
func (q *localQueue) pop() *Pending {
	for len(q.claims) > 0 {
		p := q.claims[0]
		q.claims[0] = nil
		q.claims = q.claims[1:]
		if p.queued {
			p.queued = false
			q.tidy()
			return p
		}
		q.left--
	}
	return nil
}

// leave takes out a claim that waits, for good: it must not be pushed again.
func (q *localQueue) leave(p *Pending) {
	p.queued = false
	q.left++
	q.tidy()
}

// tidy removes the claims that left once they are more than half.
func (q *localQueue) tidy() {
	if q.left > len(q.claims)/2 {
		q.claims, q.left = slices.DeleteFunc(q.claims, func(p *Pending) bool { return !p.queued }), 0
	}
}

// all takes out every claim that waits.
func (q *localQueue) all() (waiting []*Pending) {
	for p := q.pop(); p != nil; p = q.pop() {
		waiting = append(waiting, p)
	}
	*q = localQueue{}
	return waiting
}
