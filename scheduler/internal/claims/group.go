package claims

import (
	"slices"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/internal/rendezvous"
)

// In a large fleet, requests of each node about each tick would cost more than the ticks. So a few nodes
// of a partition, its watchers, peek at the ticks for which other nodes are first, and watch the runs.
// Each other node asks once for a group of ticks whether it is decided, which a watcher has kept in the
// store: a node that was notified of that sends no request. Without that, as if all watchers are dead, it peeks like a watcher. No node may rely on
// others to ask: the list of nodes may have many dead ones.
const (
	largeFleet   = 8      // a fleet of more nodes is large
	watchersMost = 4      // number of watchers of a partition in a large fleet
	groupSpan    = 500    // ms: ticks that become due between two multiples of it are a group
	keepAfter    = 175    // ms after the spread that follows the end of a group: by then the watchers' peeks are usually answered
	askAfter     = 325    // ms after the same
	askSpread    = 100    // ms over which the nodes are spread that ask
	askTakes     = 250    // ms that an ask, a peek and a claim may take
	askFirst     = 20     // ms by which the nodes that stand in for the watchers ask before all others
	learnEvery   = 10_000 // ms: a period in which the same nodes stand in for the watchers
	learnMost    = 4000   // jobs: with n times as many, a period is n times as long
	quietAfter   = 1500   // ms from the end of a partition's last group, after which it has no group for a moment
	seemsDead    = 1500   // ms after the end of a run's lease: by then a node without a free slot has peeked whether the lease was renewed
)

// A group has the ticks of a partition that become due within a span.
type group struct {
	series.Group
	at    int64 // when this node keeps it, or asks
	ticks []dueTick
}

// watchers returns the nodes that peek at the ticks of a partition and watch its runs.
func (c *Claims) watchers(partition uint16) *rendezvous.Nodes {
	if !c.cfg.Groups || c.nodes.Count() <= largeFleet {
		return &c.nodes
	}
	if c.watching == nil {
		c.watching = make([]*rendezvous.Nodes, max(c.cfg.Partitions, 1))
	}
	w := &c.watching[partition]
	if *w == nil {
		*w = new(c.nodes.FirstOf(watchersMost, rendezvous.Mix(uint64(partition)+1)))
	}
	return *w
}

// watches reports whether this node peeks at the ticks of a partition.
func (c *Claims) watches(partition uint16) bool { return c.watchers(partition).Has() }

// group adds a tick to its group, unless each node peeks at it or claims it.
func (c *Claims) group(t *dueTick) {
	if !c.cfg.Groups || c.cfg.Spread == 0 || c.nodes.Count() <= largeFleet || t.e.divided() {
		return
	}
	g := c.groupAt(t.groupEnd(), t.job.Partition)
	c.grouped[t.job.Partition] = g.At
	g.Count++
	g.Sum += rendezvous.Mix(t.e.Hash ^ rendezvous.Mix(uint64(t.Number)))
	g.ticks = append(g.ticks, *t)
}

// In place of the watchers a few nodes, others each time, take over runs. They ask first. If no watcher has kept the group,
// they learn of all runs of the partition: the watchers are dead or slow, or have no free slot for a run that they must take over.
// With many ticks, one of them is often undecided then, because a node that died was to claim it.
// However large the fleet is and however slow the store, few nodes read all jobs of a partition.

// standIn returns the period of a group, and whether this node stands in for the watchers of its partition in it. The more
// jobs there are, the longer it is.
func (c *Claims) standIn(g *series.Group) (period int64, stands bool) {
	period = g.At / (learnEvery * max(1, int64(c.entries.Size()/learnMost)))
	return period, c.nodes.Among(watchersMost, uint64(g.Partition), period, "")
}

// unkept is called for a group that no watcher has kept. It reports whether this node keeps it.
// Those that stand in do not, so that each of them learns of the runs: once in a period for groups that are decided, and once for others,
// since a tick that can never be decided must not hide that the watchers die later.
func (c *Claims) unkept(g *series.Group, decided bool) (keep bool) {
	period, stands := c.standIn(g)
	last := c.learned
	if !decided {
		last = c.guessed
	}
	if p := g.Partition; stands && c.free > 0 && last[p] != period {
		last[p] = period
		c.learnAround(g)
	}
	return decided && !stands
}

// learnAround requests the runs of a group's partition, and of those before it, in a ring, that have had no group for a moment: no group
// of their own shows now that their watchers are dead.
func (c *Claims) learnAround(g *series.Group) {
	for p := g.Partition; ; {
		c.effects.Learn = append(c.effects.Learn, uint16(p))
		p = (p + len(c.grouped) - 1) % len(c.grouped)
		if p == g.Partition || c.grouped[p] > g.At-quietAfter {
			return
		}
	}
}

// unable reports whether a run that seems dead waits to be taken over by this node, which has no free slot.
func (c *Claims) unable(now int64) bool {
	return c.free <= 0 && slices.ContainsFunc(c.waiting.claims, func(p *Pending) bool {
		r := run{p.e, p.tick}
		return c.probes[r].claim == p && c.queued(r) && now-c.probes[r].at >= seemsDead
	})
}

// groupEnd returns when the span ends in which a tick becomes due.
func (t *dueTick) groupEnd() int64 { return onGrid(t.e.DueAt(t.Number), groupSpan) }

// hasty reports whether the next tick of the job, which would pass over this one, is due before the group is asked
// about and a claim after that is answered, as with a long jitter. Then each node peeks at the tick itself.
func (c *Claims) hasty(t *dueTick) bool {
	next := t.e.Due()
	return next != 0 && next < t.groupEnd()+c.cfg.Spread.Milliseconds()+askAfter+askSpread+askTakes
}

// groupAt returns the group of a partition that ends at an instant.
func (c *Claims) groupAt(end int64, partition uint16) *group {
	for _, g := range c.groups {
		if g.At == end && g.Partition == int(partition) {
			return g
		}
	}
	g := &group{Group: series.Group{Partition: int(partition), At: end}, at: end + c.cfg.Spread.Milliseconds(), ticks: c.deferred.reuse()}
	if c.watches(partition) {
		g.at += keepAfter
	} else {
		g.at += askAfter
		if _, stands := c.standIn(&g.Group); !stands {
			g.at += askFirst + int64(c.nodes.Draw(0, askSpread-askFirst))
		}
	}
	c.groups = append(c.groups, g)
	return g
}

// takeGroups returns the groups that are due at now: those about which this node asks, as shares, and those
// that this node knows to be decided, if it is a watcher. A watcher peeks at ticks that it does not know to be
// decided: it may not have been one when they became due, and then has not peeked at them.
func (c *Claims) takeGroups(now int64) (ask []*Share, keep []series.Group) {
	c.groups = slices.DeleteFunc(c.groups, func(g *group) bool {
		if g.at > now {
			return false
		}
		s := &Share{Group: g.Group, at: g.at, ticks: g.ticks, whole: true}
		s.ticks = slices.DeleteFunc(s.ticks, func(t dueTick) bool {
			undecided, drop := t.e.mark < t.Number, !t.open()
			s.whole = s.whole && !(undecided && drop)
			return drop || !undecided
		})
		watches := c.watches(uint16(g.Partition))
		if watches {
			s.Group = series.Group{} // it peeks, as it must know the runs
		}
		if len(s.ticks) > 0 {
			s.list()
			ask = append(ask, s)
			return true
		}
		if s.whole && watches && !c.unable(now) {
			keep = append(keep, g.Group)
		}
		c.deferred.recycle(s)
		return true
	})
	return ask, keep
}

// nextGroup returns when the first group is due; 0: there is none.
func (c *Claims) nextGroup() (at int64) {
	for _, g := range c.groups {
		if at == 0 || g.at < at {
			at = g.at
		}
	}
	return at
}

// Decided applies the answer that all ticks of a share's group are decided. The watchers watch their runs,
// and those that a tick left alive: this node need not.
func (c *Claims) Decided(s *Share) {
	for i := range s.ticks {
		t := &s.ticks[i]
		t.e.mark = max(t.e.mark, t.Number)
		c.granted(t.e, t.After, &series.Answer{State: series.RunDone})
	}
	c.deferred.recycle(s)
}
