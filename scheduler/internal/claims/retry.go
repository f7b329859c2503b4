package claims

import "container/heap"

// A retryQueue holds claims by the instant at which they are to be sent.
type retryQueue struct {
	at    instants
	all   map[int64][]*Pending
	count int
}

func (q *retryQueue) add(at int64, ps ...*Pending) {
	if len(ps) == 0 {
		return
	}
	if q.all == nil {
		q.all = map[int64][]*Pending{}
	}
	old := q.all[at]
	if old == nil {
		heap.Push(&q.at, at)
	}
	for _, p := range ps {
		p.state = stateTimed
	}
	q.all[at] = append(old, ps...)
	q.count += len(ps)
}

// take returns the claims that are due at now.
func (q *retryQueue) take(now int64) (due []*Pending) {
	defer func() {
		for _, p := range due {
			p.state = stateHandled
		}
	}()
	for len(q.at) > 0 && q.at[0] <= now {
		at := heap.Pop(&q.at).(int64)
		if len(due) == 0 {
			due = q.all[at] // usually these are all
		} else {
			due = append(due, q.all[at]...)
		}
		q.count -= len(q.all[at])
		delete(q.all, at)
	}
	return due
}

// next returns the instant of the earliest claim, or 0.
func (q *retryQueue) next() int64 {
	if len(q.at) == 0 {
		return 0
	}
	return q.at[0]
}

// shifted returns the queue with all instants moved by step.
func (q *retryQueue) shifted(step int64) (s retryQueue) {
	for at, ps := range q.all {
		s.add(at+step, ps...)
	}
	return s
}

// instants is a heap of instants.
type instants []int64

func (h instants) Len() int           { return len(h) }
func (h instants) Less(i, j int) bool { return h[i] < h[j] }
func (h instants) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *instants) Push(x any)        { *h = append(*h, x.(int64)) }
func (h *instants) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}

// Grids, in milliseconds, that gather claims into one request.
const (
	probeGrid = 250 // probes of runs of other nodes
	retryGrid = 50  // repeats after doubt
)

func onGrid(at, grid int64) int64 { return (at + grid - 1) / grid * grid }
