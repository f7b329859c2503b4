package claims

import "slices"

// A localQueue holds the claims that wait for a free slot, in the order of their arrival. A waiting
// claim is not examined before its turn, however often the node wakes: each method costs O(1)
// amortized.
type localQueue struct {
	claims []*Pending // claims that left the queue are in another state
	left   int        // number of claims that left and are still in the slice
}

// count returns the number of waiting claims.
func (q *localQueue) count() int { return len(q.claims) - q.left }

func (q *localQueue) push(p *Pending) {
	p.state = stateQueued
	q.claims = append(q.claims, p)
}

// pop removes and returns the first claim; nil if none waits.
func (q *localQueue) pop() *Pending {
	for len(q.claims) > 0 {
		p := q.claims[0]
		q.claims[0] = nil
		q.claims = q.claims[1:]
		if p.state == stateQueued {
			p.state = stateHandled
			q.tidy()
			return p
		}
		q.left--
	}
	return nil
}

// leave removes a waiting claim for good: it must not be pushed again.
func (q *localQueue) leave(p *Pending) {
	p.state = stateOver
	q.left++
	q.tidy()
}

// tidy drops the claims that left once they are more than half of the slice.
func (q *localQueue) tidy() {
	if q.left > len(q.claims)/2 {
		q.claims, q.left = slices.DeleteFunc(q.claims, func(p *Pending) bool { return p.state != stateQueued }), 0
	}
}

// all removes and returns every waiting claim.
func (q *localQueue) all() (waiting []*Pending) {
	for p := q.pop(); p != nil; p = q.pop() {
		waiting = append(waiting, p)
	}
	*q = localQueue{}
	return waiting
}
