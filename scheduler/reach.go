package scheduler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cronce/cronce/lock"
)

// A kind is what is asked of a store. A store can answer one kind and not another: at
// maxmemory it beats and takes no claim.
type kind uint8

const (
	claiming kind = iota
	peeking
	opening
	ending
	listing // the list of nodes, which lives in the first shard
	fitness // of the store as a whole
)

var kinds = [...]string{"claims", "looks at ticks", "openings of jobs", "ends of runs", "the list of nodes", "the check of the store"}

// A part of the store fails or answers by itself.
type part struct {
	shard int
	kind  kind
}

// A failure is what a part fails with.
type failure struct {
	err   error
	since time.Time // the first of it
	last  time.Time // the latest
	well  time.Time // when it answered since; zero: not yet
	// hinted: claims were answered since the latest failure
	hinted bool
}

// reach is what this node can reach of the store. A part is down from its first failure
// until it has answered for a while without another: a store that answers every other
// request is down all the while. It is safe for concurrent use.
type reach struct {
	mu    sync.Mutex
	parts map[part]*failure
	told  time.Time // when the log had it last; zero: the store is not down for it
}

const (
	calm     = 3 * time.Second  // without a failure, before a part that answers is up again
	moot     = 30 * time.Second // after which a failure that is not repeated says nothing, if its shard answers
	reminder = time.Minute      // between two lines about the same trouble
)

// up reports whether the part that failed is up again.
func (f *failure) up(now time.Time) bool { return !f.well.IsZero() && now.Sub(f.last) >= calm }

// take notes the answer of a part, or its failure. It reports whether the list of nodes is
// worth another try before its time: claims are answered where it was not, some time ago.
func (r *reach) take(p part, err error, now time.Time) (list bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		f := r.parts[p]
		if f == nil {
			if r.parts == nil {
				r.parts = map[part]*failure{}
			}
			f = &failure{since: now}
			r.parts[p] = f
		}
		f.err, f.last, f.well, f.hinted = err, now, time.Time{}, false
		return false
	}
	for of, f := range r.parts {
		switch {
		case of.shard != p.shard || !f.well.IsZero():
		case of == p, of.kind == fitness, p.kind == claiming && of.kind != listing && of.kind != ending, now.Sub(f.last) > moot:
			f.well = now // a claim that is answered says the same of looks and openings
		case p.kind == claiming && of.kind == listing && now.Sub(f.last) >= calm && !f.hinted:
			f.hinted, list = true, true
		}
	}
	return list
}

// A fault is a part that is down, and why.
type fault struct {
	part
	err error
}

// look forgets what is up again, and returns what is to be told: what is down, first and
// then once a minute, or that all is back.
func (r *reach) look(now time.Time) (down []fault, back bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.parts, func(_ part, f *failure) bool { return f.up(now) })
	switch {
	case len(r.parts) == 0 && !r.told.IsZero():
		r.told = time.Time{}
		return nil, true
	case len(r.parts) == 0 || !r.told.IsZero() && now.Sub(r.told) < reminder:
		return nil, false
	}
	r.told = now
	return r.down(now), false
}

// down returns the parts that are down. The reach is locked.
func (r *reach) down(now time.Time) (all []fault) {
	for p, f := range r.parts {
		if !f.up(now) {
			all = append(all, fault{p, f.err})
		}
	}
	slices.SortFunc(all, func(a, b fault) int { return cmp.Or(cmp.Compare(a.shard, b.shard), cmp.Compare(a.kind, b.kind)) })
	return all
}

// now returns the parts that are down.
func (r *reach) now(now time.Time) []fault {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.down(now)
}

// name says what is down, and why, in words that name no address, user or key.
func (n *Node) name(down []fault) string {
	var names []string
	for _, f := range down {
		text := kinds[f.kind]
		if n.shards > 1 {
			text += fmt.Sprintf(" of shard %d of %d", f.shard+1, n.shards)
		}
		names = append(names, text+": "+n.explain(f.err))
	}
	return listed(names, len(names))
}

// mostListed is how many of what goes wrong are named.
const mostListed = 5

// listed joins the first of what is named, and counts what is too much of all.
func listed(names []string, all int) string {
	text := strings.Join(names[:min(len(names), mostListed)], "; ")
	if more := all - mostListed; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

// explain says why the store failed, in words that name no address, user or key.
func (n *Node) explain(err error) string {
	if e, can := n.cfg.Store.(lock.Explainer); can {
		if text := e.Explain(err); text != "" {
			return text
		}
	}
	switch {
	case errors.Is(err, lock.ErrUnreadable):
		return "what the store has of the job cannot be read"
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return "no answer in time"
	}
	return "the request failed; the log has the error"
}

// reached notes that a part of the store answered, or why it did not.
func (n *Node) reached(p part, err error) {
	now := time.Now()
	n.noted(p, err, now)
	n.regard(now)
}

// noted is reached, without the line that may be due.
func (n *Node) noted(p part, err error, now time.Time) {
	if err == nil {
		n.heard.Store(int64(now.Sub(n.born)))
	}
	if n.reach.take(p, err, now) {
		n.beater.ring()
	}
}

// endsAnswered is reached for the goroutine that sends the ends of runs: those that are to be sent again
// do not wait for the logger. Run waits for the line, unless it has returned.
func (n *Node) endsAnswered(shard int, err error) {
	now := time.Now()
	n.noted(part{shard, ending}, err, now)
	write := n.regarding(now)
	if write == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.over {
		go write()
		return
	}
	n.wg.Go(write)
}

// regard logs what cannot be reached, once a minute, and when all is back.
func (n *Node) regard(now time.Time) {
	if write := n.regarding(now); write != nil {
		write()
	}
}

// regarding returns what writes the line that regard is to log now; nil: there is none.
func (n *Node) regarding(now time.Time) (write func()) {
	switch down, back := n.reach.look(now); {
	case back:
		return n.events.storeBack
	case len(down) > 0:
		return func() { n.events.storeUnreachable(down[0].err, n.name(down)) }
	}
	return nil
}

// silence is how long the store has not answered.
func (n *Node) silence() time.Duration {
	return time.Since(n.born) - time.Duration(n.heard.Load())
}
