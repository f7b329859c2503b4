package scheduler_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler"
)

// inFlight is longer than a request or a reply is on its way.
const inFlight = 25 * time.Second

// answered is longer than a node needs to know the fate of its claims, once it can reach the store.
const answered = 5 * time.Second

// Ends are those of runs that a node has reported to the store.
type ends struct {
	owed map[ledgerKey]time.Time // of the first request without an answer
	paid map[ledgerKey]bool      // the store has answered one
}

// sent records the answers to requests that report ends. The caller holds the mutex of the wire.
func (e *ends) sent(es []series.EndRequest, as []series.EndAnswer) {
	if e.owed == nil {
		e.owed, e.paid = map[ledgerKey]time.Time{}, map[ledgerKey]bool{}
	}
	for i := range es {
		switch k := (ledgerKey{es[i].Key, es[i].Fence}); {
		case as[i].Err == nil:
			e.paid[k] = true
			delete(e.owed, k)
		case !e.paid[k] && e.owed[k].IsZero():
			e.owed[k] = time.Now()
		}
	}
}

// indebted wants a node that has reached the store for some time to have reported each end.
func (s *simulation) indebted(n *node, enough time.Duration) {
	if n.wire.clearFor() < enough {
		return
	}
	n.wire.mu.Lock()
	defer n.wire.mu.Unlock()
	for run, since := range n.wire.ends.owed {
		if time.Since(since) > enough {
			s.t.Errorf("%s has reported the end of %v, fence %d, at %v, and not again after it had no answer", n.ID(), run.job, run.fence, since.UTC())
		}
	}
}

// departed wants a node that ended to hold nothing in the store any more, if it could reach the store for some time before, or ended although
// it had more time: it is on no list, and has no run without an excuse.
func (s *simulation) departed(n *node) {
	calm, left := n.wire.clearFor(), time.Until(n.gone.Add(n.grace))
	if s.strange != nothingStrange || s.killed(n) || calm < answered && left <= 0 {
		return
	}
	s.indebted(n, answered)
	ctx := context.Background()
	list, err := s.store.Members(ctx)
	if err != nil {
		s.t.Error(err)
	}
	if calm > time.Minute && slices.ContainsFunc(list.Members, func(m series.Member) bool { return m.Node == n.ID() && m.Alive(list.Now) }) {
		s.t.Errorf("%s has ended at %v, and is on the list of nodes", n.ID(), time.Now().UTC())
	}
	for _, j := range s.jobs {
		for _, r := range s.store.ReadSeries(ctx, []string{j.Name})[0].Runs {
			if r.State == series.RunOpen && r.Until > s.now().UnixMilli() && r.Shards == 0 && driver.NodeOf(r.Owner) == n.ID() && !s.excused(j.Name, r.Fence, calm) {
				s.t.Errorf("%s has ended at %v, and has %v of %s in the store: %+v", n.ID(), time.Now().UTC(), at(r.Number), j.Name, r)
			}
		}
	}
}

func (c *world) killed(n *node) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !n.killed.IsZero()
}

// excused reports whether a run may be in the store after its node has ended: its function goes on, or its lease was lost, or may have been
// while the node could not reach the store.
func (c *world) excused(job string, fence int64, calm time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.open[ledgerKey{job, fence}]
	return r != nil && (r.over.IsZero() || calm < answered || errors.Is(r.cause, lock.ErrLost))
}

// couldReach reports whether a node lived and could reach the store all the time.
func (s *simulation) couldReach(n *node, from, to time.Time) bool {
	if !n.well.IsZero() && !n.well.After(from) {
		return true
	}
	return slices.ContainsFunc(s.spells, func(p spell) bool { return p.n == n && !p.from.After(from) && !p.to.Before(to) })
}

// kept wants each run whose node could reach the store all the time to keep its lease until its function has returned: it is not lost, and a
// run that was cancelled or took too long keeps its lease while its function goes on.
func (s *simulation) kept() {
	if s.strange != nothingStrange {
		return
	}
	for _, j := range s.jobs {
		given, lost, replaced := s.given(j.Name), s.lostLeases(j.Name), map[int64]bool{}
		for _, r := range s.ran(j.Name) {
			switch {
			case j.Overlap == scheduler.OverlapReplace:
				replaced[r.Fence] = r.cause != nil
			case errors.Is(r.cause, scheduler.ErrCancelled), errors.Is(r.cause, scheduler.ErrTimeout):
				s.keptUntilReturn(r, j.Lease, given)
			}
		}
		for _, g := range given {
			l, is := lost[g.fence]
			if !is || replaced[g.fence] {
				continue
			}
			if n := s.nodeOf(g.owner); s.couldReach(n, g.at.Add(-inFlight), time.UnixMilli(max(l.At, l.Ended))) {
				s.t.Errorf("%s %v, fence %d, was lost at %v by %s, which could reach the store: %+v", j.Name, at(g.number), g.fence, at(l.At), n.ID(), l)
			}
		}
	}
}

// lostLeases returns the lines of a journal about leases that were lost, by their fences. The tick of an attempt that was interrupted or
// did not start may be lost later: that is no loss of a lease.
func (s *simulation) lostLeases(job string) map[int64]series.Line {
	lost, ended := map[int64]series.Line{}, map[int64]bool{}
	for _, l := range s.journal(job).Lines {
		switch {
		case l.Verdict == series.VerdictLost || l.Outcome == series.OutcomeLost:
			lost[l.Fence] = l
		case l.Outcome != "":
			ended[l.Fence] = true
		}
	}
	maps.DeleteFunc(lost, func(fence int64, _ series.Line) bool { return ended[fence] })
	return lost
}

// nodeOf returns the node that made a claim.
func (c *world) nodeOf(owner string) *node {
	return c.nodes[slices.IndexFunc(c.nodes, func(n *node) bool { return n.ID() == driver.NodeOf(owner) })]
}

// keptUntilReturn wants no run to be granted that may not overlap with another one whose function goes on.
func (s *simulation) keptUntilReturn(r *run, lease time.Duration, given []grant) {
	for _, g := range given {
		if same := g.number == r.number(); r.overlap && !same || same && g.shard != r.Shard {
			continue
		}
		if g.fence > r.Fence && g.at.After(r.contextEnd) && g.at.Before(r.over) && s.couldReach(r.node, r.contextEnd.Add(-lease), g.at) {
			s.t.Errorf("%s: %s was granted %v at %v, and %s went on until %v on %s", r.Job, g.owner, at(g.number), g.at.UTC(), r.ID, r.over.UTC(), r.node.ID())
		}
	}
}

// takenOver wants a run whose node was killed to be over, or to have another attempt, soon after its lease is over, if another node lived all
// the time, could reach the store, and had the job and a free slot. Runs of a backfill are not taken over shortly before a tick.
func (s *simulation) takenOver() {
	if s.strange != nothingStrange {
		return
	}
	for _, j := range s.jobs {
		lines := s.journal(j.Name).Lines
		for _, r := range s.ran(j.Name) {
			dead := r.node.killed
			if dead.IsZero() || dead.Before(r.began) || !r.over.IsZero() && r.over.Before(dead) || r.Shards > 0 || r.Backfill || j.Limit.Of > 0 {
				continue
			}
			by := dead.Add(j.Lease + 2*time.Second)
			if !s.couldReach(r.node, dead.Add(-inFlight), dead) {
				by = by.Add(inFlight) // a renewal may have been on its way
			}
			if by.After(s.now()) || !s.watched(&j, dead, by) {
				continue
			}
			if !slices.ContainsFunc(lines, func(l series.Line) bool {
				return l.To == r.number() && l.At >= dead.UnixMilli() && l.At <= by.UnixMilli() && l.Verdict != series.VerdictControl
			}) {
				s.t.Errorf("%s %v, attempt %d, fence %d: its node %s was killed at %v, and its lease of %v was not found over until %v", j.Name, r.Tick.UTC(), r.Attempt, r.Fence, r.node.ID(), dead.UTC(), j.Lease, by.UTC())
			}
		}
	}
}

// watched reports whether a node that has a job could reach the store and had a free slot all the time.
func (s *simulation) watched(j *scheduler.Job, from, to time.Time) bool {
	return slices.ContainsFunc(s.nodes, func(n *node) bool {
		return s.couldReach(n, from.Add(-time.Minute), to) && n.had(j.Name, from.Add(-time.Minute)) && n.had(j.Name, to) && s.hadSlot(n, from, to)
	})
}

// hadSlot reports whether a node had a free slot all the time: it had fewer runs in that time than slots.
func (s *simulation) hadSlot(n *node, from, to time.Time) bool {
	mine := 0
	for _, r := range s.ranAny() {
		if r.node == n && r.began.Before(to) && (r.over.IsZero() || r.over.After(from.Add(-time.Second))) {
			mine++
		}
	}
	return s.slots < 0 || mine < s.slots
}
