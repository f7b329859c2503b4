package scheduler

import (
	"container/heap"
	"time"

	"github.com/cronce/cronce/lock/driver"
)

// An ask is a claim that this node wants an answer to. It lives until the store
// has answered it: an ask in doubt is asked again by the same owner, since the
// lost answer may have been a grant.
type ask struct {
	e       *entry
	tick    int64
	after   int64  // the tick before it, or the mark of a gap it covers
	between int    // how many ticks it covers as missed
	from    int64  // the fence of the run to take over; 0: a fresh tick
	look    bool   // at a run that somebody else has
	owner   string // one for the life of the ask: whatever it was granted, it hears of
	tries   int
	seen    int64 // the mark that this node knew when it sent it last
	latest  int64 // the latest instant at which the request sent last may be granted
	until   int64 // the same of those that were not answered; 0: all were, or are void
	doubt   bool  // sent, and not answered yet
	failed  bool  // its latest request that is over was not answered
	freed   bool  // a run ended since it was sent: what it is held by may be gone
	held    bool  // answered so: a run is in the way
	stale   bool  // a newer tick took its place: only ask whether it was granted
	backlog bool  // one of the missed ticks that MisfireAll runs in order
	slot    bool  // has a place among the concurrent runs
	queued  bool  // waits for one
	settle  bool  // its deadline is over: it needs none to be recorded as missed
}

// claim is the ask as the store wants it.
func (n *Node) claim(a *ask, now int64) driver.Claim {
	r := a.e.Rules
	deadline, late := r.StartWithin(a.e.Interval(a.tick))
	c := driver.Claim{
		Key: a.e.Name, Owner: a.owner, Number: a.tick, After: a.after, Between: a.between, From: a.from,
		TTL: r.Lease, Deadline: deadline, Late: late, Attempts: r.Attempts, Rerun: r.Rerun,
		Window: r.Window, Overlap: r.Overlap, Backlog: a.backlog,
		Latest: now + n.cfg.StoreTimeout.Milliseconds(), Revision: n.revisions.Of(a.e.Spec, now), Replicas: r.Replicas,
	}
	if a.stale || n.draining.Load() {
		c.Latest = past // only an owner that was granted gets more than a no
	}
	a.latest, a.seen = c.Latest, a.e.mark
	return c
}

// past is an instant, in Unix milliseconds, until which nothing is granted now.
const past = 1

// An agenda holds asks by the instant at which they are to be sent.
type agenda struct {
	at    times
	asks  map[int64][]*ask
	count int
}

func (g *agenda) add(at int64, as ...*ask) {
	if len(as) == 0 {
		return
	}
	if g.asks == nil {
		g.asks = map[int64][]*ask{}
	}
	old := g.asks[at]
	if old == nil {
		heap.Push(&g.at, at)
	}
	g.asks[at] = append(old, as...)
	g.count += len(as)
}

// take returns the asks that are due at ms.
func (g *agenda) take(ms int64) (all []*ask) {
	for len(g.at) > 0 && g.at[0] <= ms {
		at := heap.Pop(&g.at).(int64)
		if len(all) == 0 {
			all = g.asks[at] // most often that is all
		} else {
			all = append(all, g.asks[at]...)
		}
		g.count -= len(g.asks[at])
		delete(g.asks, at)
	}
	return all
}

// unsure reports whether an ask may have been granted, or may be yet, by a request
// that was not answered.
func (a *ask) unsure() bool { return a.doubt || a.until != 0 }

// hopeless reports whether a lease that an ask may hold is over by now: whoever
// finds the run settles it.
func (a *ask) hopeless(ms int64) bool {
	return a.until != 0 && ms > a.until+a.e.Rules.Lease.Milliseconds()
}

// doubts returns an agenda with the asks alone that may hold a lease.
func (g *agenda) doubts() (d agenda) {
	for at, as := range g.asks {
		for _, a := range as {
			if a.unsure() {
				d.add(at, a)
			}
		}
	}
	return d
}

// shifted returns the agenda with all instants moved.
func (g *agenda) shifted(step int64) (s agenda) {
	for at, as := range g.asks {
		s.add(at+step, as...)
	}
	return s
}

// next returns the instant of the earliest ask, or 0.
func (g *agenda) next() int64 {
	if len(g.at) == 0 {
		return 0
	}
	return g.at[0]
}

type times []int64

func (h times) Len() int           { return len(h) }
func (h times) Less(i, j int) bool { return h[i] < h[j] }
func (h times) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *times) Push(x any)        { *h = append(*h, x.(int64)) }
func (h *times) Pop() any {
	old := *h
	x := old[len(old)-1]
	*h = old[:len(old)-1]
	return x
}

// The grids on which asks are gathered, in milliseconds.
const (
	lookGrid  = 250 // looks at runs of others
	retryGrid = 50  // repeats after doubt
)

func onGrid(at, grid int64) int64 { return (at + grid - 1) / grid * grid }

// pause grows with each request.
func (a *ask) pause(longest time.Duration) int64 {
	return min(50<<min(a.tries, 7), longest.Milliseconds())
}
