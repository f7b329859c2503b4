package scheduler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/cronce/cronce/lock"
)

// A pending is a job that could not be opened: when it is tried again, and why it
// failed.
type pending struct {
	tries int
	at    time.Time
	err   error
}

// An openBook is what is to be opened. Guarded by the node's mutex.
type openBook struct {
	fresh   []*entry           // not tried yet, or forgotten by the store
	pending map[*entry]pending // tried, and to be tried again
	told    time.Time          // when the log had those last; zero: not
}

const (
	openPause   = time.Second // before a job is tried again, doubling
	openLongest = time.Minute
	openRetries = 4 * sendMax // how many are tried again at a time
)

// askOpen lets a job be opened soon, unless it waits for another try.
func (b *openBook) askOpen(e *entry) {
	if _, waits := b.pending[e]; !waits {
		b.fresh = append(b.fresh, e)
	}
}

// take returns what is to be opened now: what was not tried yet, then what has waited
// for longest. What failed does not come before its pause is over, so that however many
// fail, the others are opened.
func (b *openBook) take(now time.Time) []*entry {
	es := b.fresh
	b.fresh = nil
	var again []*entry
	for e, p := range b.pending {
		if !p.at.After(now) {
			again = append(again, e)
		}
	}
	slices.SortFunc(again, func(x, y *entry) int {
		return cmp.Or(b.pending[x].at.Compare(b.pending[y].at), cmp.Compare(x.name, y.name))
	})
	return append(es, again[:min(len(again), openRetries)]...)
}

// failed lets a job be tried again after a pause.
func (b *openBook) failed(e *entry, err error, now time.Time) {
	if b.pending == nil {
		b.pending = map[*entry]pending{}
	}
	p := b.pending[e]
	pause := min(openPause<<min(p.tries, 10), openLongest)
	b.pending[e] = pending{p.tries + 1, now.Add(pause), err}
}

// openAll opens what is to be opened now, each shard by itself: one that does not answer
// holds up no other. It reports whether all jobs are open.
func (n *Node) openAll(ctx context.Context) bool {
	n.mu.Lock()
	es := n.openings.take(time.Now())
	n.mu.Unlock()
	var wg sync.WaitGroup
	for _, some := range apart(n.shards, es, shardOfEntry) {
		wg.Go(func() { n.openShard(ctx, some) })
	}
	wg.Wait()
	return n.tellUnopened()
}

// openShard opens jobs of one shard. When its requests have used up the time of two, what
// is left is not asked for now.
func (n *Node) openShard(ctx context.Context, es []*entry) {
	began := time.Now()
	for some := range slices.Chunk(es, sendMax) {
		if time.Since(began) >= n.cfg.StoreTimeout && ctx.Err() == nil {
			n.mu.Lock()
			for _, e := range some {
				n.openings.failed(e, context.DeadlineExceeded, time.Now())
			}
			n.mu.Unlock()
			continue
		}
		n.open(ctx, some, 0)
	}
}

// tellUnopened logs the jobs that cannot be opened, once a minute, and their
// end. It reports whether all jobs are open.
func (n *Node) tellUnopened() bool {
	now := time.Now()
	n.mu.Lock()
	count, told := len(n.openings.pending), n.openings.told
	due := count > 0 && (told.IsZero() || now.Sub(told) >= reminder)
	switch {
	case due:
		n.openings.told = now
	case count == 0:
		n.openings.told = time.Time{}
	}
	n.mu.Unlock()
	switch {
	case due:
		names, cause := n.unopened()
		n.events.jobsNotOpen(count, listed(names), cause)
	case count == 0 && !told.IsZero():
		n.events.jobsOpen()
	}
	return count == 0
}

// unopened names the jobs that cannot be opened, each with the reason, and returns the
// error of the first of them.
func (n *Node) unopened() (names []string, cause error) {
	n.mu.Lock()
	all := maps.Clone(n.openings.pending)
	n.mu.Unlock()
	for _, e := range slices.SortedFunc(maps.Keys(all), func(a, b *entry) int { return cmp.Compare(a.name, b.name) }) {
		names = append(names, fmt.Sprintf("job %q: %s", e.name, n.explain(all[e].err)))
		if cause == nil {
			cause = all[e].err
		}
	}
	return names, cause
}

// Remarks returns what is wrong with a part of what this node does, though it is Ready:
// the jobs that the store has something under that cannot be read. The node runs the
// others, and tries those again. At most five are named.
func (n *Node) Remarks() []string {
	names, _ := n.unopened()
	if len(names) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%d jobs cannot be opened: %s", len(names), listed(names))}
}

// open registers jobs of one shard in the store and reads what it has of them. What
// cannot be opened is tried again later.
func (n *Node) open(ctx context.Context, es []*entry, slack time.Duration) {
	os := make([]lock.Opening, len(es))
	n.mu.Lock()
	now := n.clock.ms()
	for i, e := range es {
		os[i] = lock.Opening{Key: e.name, Node: n.id, Revision: n.revision(e.spec, now), Spec: e.spec.Text(), Zone: e.spec.Zone().String(), Policies: e.rules.policies, Mark: e.mark}
	}
	n.mu.Unlock()
	read, err := within(ctx, n.cfg.StoreTimeout, func(ctx context.Context) ([]lock.Series, error) {
		return n.cfg.Store.Open(ctx, os), nil
	})
	if err != nil {
		read = make([]lock.Series, len(es))
		for i := range read {
			read[i].Err = err
		}
	}
	n.mu.Lock()
	heard := false
	now, at := n.clock.ms(), time.Now()
	for i, e := range es {
		if read[i].Err != nil {
			heard = heard || errors.Is(read[i].Err, lock.ErrUnreadable)
			err = read[i].Err
			n.openings.failed(e, err, at)
			continue
		}
		heard = true
		delete(n.openings.pending, e)
		if read[i].Mark < os[i].Mark {
			n.forgot(e, read[i].Mark)
		}
		n.opened(e, &read[i], now, slack)
		n.note(e, &read[i])
	}
	n.arm()
	n.unlock()
	if heard {
		err = nil
	}
	n.reached(part{int(es[0].shard), opening}, err)
}

// apart splits what goes to the store, so that each part is of one shard.
func apart[T any](shards int, all []T, shard func(T) int) (parts [][]T) {
	if len(all) == 0 {
		return nil
	}
	if shards <= 1 {
		return [][]T{all}
	}
	parts = make([][]T, shards)
	for _, one := range all {
		s := shard(one)
		parts[s] = append(parts[s], one)
	}
	return slices.DeleteFunc(parts, func(p []T) bool { return len(p) == 0 })
}

func shardOfEntry(e *entry) int { return int(e.shard) }
func shardOfAsk(a *ask) int     { return int(a.e.shard) }
