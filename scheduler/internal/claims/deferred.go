package claims

import (
	"slices"

	"github.com/cronce/cronce/lock/series"
)

// A Share has deferred ticks of one partition: ticks for which other nodes are first. Nearly all of
// them are decided by the time when this node peeks at them, so they are not claims yet. The node
// peeks at them together and claims only the undecided ones.
type Share struct {
	Peeks []series.NumberRef // the ticks to peek at
	Group series.Group       // which the store may have as decided: then no peek is needed; its Count is 0 if there is none

	at    int64
	ticks []dueTick // in the order of Peeks
	whole bool      // the other ticks of the group are known to be decided
}

// deferred holds the ticks that this node leaves to other nodes for a moment.
type deferred struct {
	shares []*Share
	open   []*Share  // the shares that add fills, by partition
	spare  []dueTick // empty, with the capacity of an answered share
}

func newDeferred(partitions int) deferred { return deferred{open: make([]*Share, max(partitions, 1))} }

// add defers a tick until at. Ticks of one partition that are added before the next close share the
// instant of the first.
func (d *deferred) add(at int64, t dueTick) {
	s := &d.open[t.job.Partition]
	if *s == nil {
		*s = &Share{at: at, ticks: d.reuse()}
		d.shares = append(d.shares, *s)
	}
	(*s).ticks = append((*s).ticks, t)
}

// close completes the shares that add fills.
func (d *deferred) close() { clear(d.open) }

// sent has, for each partition, the number of claims of this node that have no answer yet.
type sent []int

// behindOwn is the longest time, in milliseconds, that peeks at ticks of other nodes wait for the answers to this node's own claims.
// While the store is busy with these, it is as busy with the claims of the other nodes: a peek would find their ticks undecided, and
// this node would claim them as well.
const behindOwn = 250

// after returns when a peek is due that was planned for an instant.
func (s sent) after(at int64, partition uint16) int64 {
	if s != nil && s[partition] > 0 {
		return at + behindOwn
	}
	return at
}

// take returns the shares that are due at now, without the ticks that newer ones cover.
func (d *deferred) take(now int64, unanswered sent) (due []*Share) {
	d.shares = slices.DeleteFunc(d.shares, func(s *Share) bool {
		if unanswered.after(s.at, s.ticks[0].job.Partition) <= now {
			due = append(due, s)
			return true
		}
		return false
	})
	for _, s := range due {
		s.ticks = slices.DeleteFunc(s.ticks, func(t dueTick) bool { return !t.open() })
		s.list()
	}
	return due
}

// list lists the ticks to peek at.
func (s *Share) list() {
	s.Peeks = make([]series.NumberRef, 0, len(s.ticks))
	for _, t := range s.ticks {
		s.Peeks = append(s.Peeks, series.NumberRef{Key: t.job.Name, Number: t.Number})
	}
}

// reuse returns an empty list of ticks. In a large cluster a node defers nearly all ticks. If each share
// grew from empty, it would be a tenth of the memory that 50 nodes allocate for a tick.
func (d *deferred) reuse() []dueTick {
	ticks := d.spare
	d.spare = nil
	return ticks
}

// recycle keeps the list of an answered share for the next one.
func (d *deferred) recycle(s *Share) {
	clear(s.ticks)
	d.spare, s.ticks = s.ticks[:0], nil
}

// open reports whether the tick is still the latest of its job and has no claim, or is a peek at a run.
func (t *dueTick) open() bool {
	return t.runPeek || t.e.open && t.e.Last() == t.Number && t.e.latest == nil
}

// next returns the instant of the earliest share, or 0.
func (d *deferred) next(unanswered sent) (at int64) {
	for _, s := range d.shares {
		if due := unanswered.after(s.at, s.ticks[0].job.Partition); at == 0 || due < at {
			at = due
		}
	}
	return at
}

func (d *deferred) shift(step int64) {
	for _, s := range d.shares {
		s.at += step
	}
}

// Partition returns the partition of the store that the share goes to; ok is false for a share without
// ticks.
func (s *Share) Partition() (partition int, ok bool) {
	if len(s.ticks) == 0 {
		return 0, false
	}
	return int(s.ticks[0].job.Partition), true
}

// Peeked applies the answers to a share, in the order of its Peeks, and claims the ticks that are
// not known to be decided, whose answers are nil. It is called once for a share. A request that was
// given up may still read the share's Peeks afterwards. It reports whether all ticks of the share's
// group are decided, and this node is to keep that.
func (c *Claims) Peeked(s *Share, answers []*series.Answer, now int64) (keep bool) {
	decided := s.Group.Count > 0 && s.whole && !slices.Contains(answers, nil)
	for i := range s.ticks {
		t, a := &s.ticks[i], answers[i]
		switch {
		case t.runPeek:
			c.peekedAtRun(t, a, now)
		case a != nil:
			t.e.mark = max(t.e.mark, a.Mark)
			c.granted(t.e, t.After, a)
			c.watch(t.e, a, now)
		case t.open() && !c.leaves(t.e):
			c.retries.add(now, t.claim())
		}
	}
	c.deferred.recycle(s)
	return s.Group.Count > 0 && c.unkept(&s.Group, decided)
}
