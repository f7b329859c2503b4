package scheduler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/scheduler/internal/bounded"
	"github.com/cronce/cronce/scheduler/internal/health"
	"github.com/cronce/cronce/scheduler/internal/job"
)

// openSoon lets a job be opened soon.
func (n *Node) openSoon(j *job.Job) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.openings.askOpen(n.entries.At(int(j.No)))
	n.opener.Raise()
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
// is left is not asked for now, and comes first next time.
func (n *Node) openShard(ctx context.Context, es []*entry) {
	began := time.Now()
	for len(es) > 0 {
		if time.Since(began) >= n.cfg.StoreTimeout && ctx.Err() == nil {
			n.mu.Lock()
			n.openings.putOff(es)
			n.mu.Unlock()
			return
		}
		some := es[:min(len(es), sendMax)]
		n.open(ctx, some, 0)
		es = es[len(some):]
	}
}

// tellUnopened logs the jobs that cannot be opened, once a minute, and their
// end. It reports whether all jobs are open.
func (n *Node) tellUnopened() bool {
	now := time.Now()
	n.mu.Lock()
	n.openings.trying = 0
	count, left, told := len(n.openings.order), n.openings.left(), n.openings.told
	due := count > 0 && (told.IsZero() || now.Sub(told) >= health.Reminder)
	switch {
	case due:
		n.openings.told = now
	case !left:
		n.openings.told = time.Time{}
	}
	n.mu.Unlock()
	switch {
	case due:
		names, cause := n.unopened()
		n.events.jobsNotOpen(count, names, cause)
	case !left && !told.IsZero():
		n.events.jobsOpen()
	}
	return !left
}

// anyUnopened reports whether jobs wait for a try.
func (n *Node) anyUnopened() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.openings.left()
}

// unopened names some of the jobs that cannot be opened, each with the reason, counts the
// others, and returns the error of the first that is named.
func (n *Node) unopened() (names string, cause error) {
	n.mu.Lock()
	some, count := n.openings.some(), len(n.openings.order)
	n.mu.Unlock()
	texts := make([]string, len(some))
	for i, p := range some {
		texts[i] = fmt.Sprintf("job %q: %s", p.e.Name, n.monitor.Explain(p.err))
		cause = cmp.Or(cause, p.err)
	}
	return health.List(texts, count), cause
}

// Remarks returns what is wrong with a part of what this node does, though it is Ready:
// the jobs that the store has something under that cannot be read, how many it was not asked for yet, since it is
// slow, and those with a fence more than a day ahead. The node runs the others, and tries those again. At
// most five of each are named.
func (n *Node) Remarks() []string {
	n.mu.Lock()
	count, fresh, fenced := len(n.openings.order), len(n.openings.fresh)+n.openings.trying, len(n.fenced)
	var ahead []string
	for e := range n.fenced {
		if ahead = append(ahead, e.Name); len(ahead) == health.MostListed {
			break
		}
	}
	n.mu.Unlock()
	var remarks []string
	if count > 0 {
		names, _ := n.unopened()
		remarks = append(remarks, fmt.Sprintf("%d jobs cannot be opened: %s", count, names))
	}
	if fresh > 0 {
		remarks = append(remarks, fmt.Sprintf("%d jobs are still to be opened", fresh))
	}
	if len(ahead) > 0 {
		slices.Sort(ahead)
		remarks = append(remarks, fmt.Sprintf("%d jobs have a fence more than a day ahead of the store's clock, and nothing is granted under them: %s",
			fenced, health.List(ahead, fenced)))
	}
	return remarks
}

// open registers jobs of one shard in the store and reads what it has of them. What
// cannot be opened is tried again later.
func (n *Node) open(ctx context.Context, es []*entry, slack time.Duration) {
	os := make([]driver.OpenRequest, len(es))
	n.mu.Lock()
	now := n.clock.Ms()
	for i, e := range es {
		os[i] = driver.OpenRequest{Key: e.Name, Node: n.id, Revision: n.revisions.Of(e.Spec, now), Spec: e.Spec.Text(), Zone: e.Spec.Zone().String(), Policies: e.Rules.Recorded, Mark: e.mark}
	}
	n.mu.Unlock()
	read, err := bounded.Call(ctx, n.cfg.StoreTimeout, func(ctx context.Context) ([]driver.Series, error) {
		return n.cfg.Store.Open(ctx, os), nil
	})
	if err != nil {
		read = make([]driver.Series, len(es))
		for i := range read {
			read[i].Err = err
		}
	}
	n.mu.Lock()
	heard := false
	now, at := n.clock.Ms(), time.Now()
	for i, e := range es {
		if read[i].Err != nil {
			heard = heard || errors.Is(read[i].Err, driver.ErrUnreadable)
			err = read[i].Err
			n.openings.failed(e, err, at)
			continue
		}
		heard = true
		n.openings.done(e)
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
	n.monitor.Answered(health.Part{Shard: int(es[0].Shard), Kind: health.Openings}, err)
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

func shardOfEntry(e *entry) int { return int(e.Shard) }
func shardOfAsk(a *ask) int     { return int(a.e.Shard) }
