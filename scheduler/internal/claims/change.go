package claims

import (
	"slices"
	"time"

	"github.com/cronce/cronce/scheduler/internal/job"
	"github.com/cronce/cronce/scheduler/policy"
	"github.com/cronce/cronce/scheduler/spec"
)

// A change of a job's spec is in progress while ticks from before it have no verdict. Ticks of
// former specs are settled as missed, with the reason respecified. Ticks that the new spec has too
// run if their deadline allows. The nodes need no coordination: each node with the new spec does
// the same, and the store decides each tick once. The former specs are kept until an opening returns
// none: a store that has lost decisions wants a verdict of their ticks again.
type change struct {
	former []job.Former
	claim  *Pending // the claim of the next tick to settle
	chains bool     // the chain goes on when the ticks of former specs are settled
}

// youngest is the age in milliseconds from which on a tick of a former spec is settled: a live node
// that has the former spec may be about to claim the tick, as in a rolling deploy.
const youngest = 2000

// ahead is the least time in milliseconds by which a tick of a former spec is settled before the
// first tick of the new spec, which would otherwise pass over it.
const ahead = 100

// changed applies the former specs that the store has returned with a job.
func (c *Claims) changed(e *entry, former []job.Former, now int64) {
	if old := c.changes[e]; old != nil {
		old.former = former // without any, advance forgets the change
	} else if len(former) > 0 {
		c.changes[e] = &change{former: former}
	}
	c.advance(e, now)
}

// advance claims the next undecided tick from before the change of a spec.
func (c *Claims) advance(e *entry, now int64) {
	ch := c.changes[e]
	if ch == nil || c.leaves(e) || ch.claim != nil {
		return
	}
	common := c.common(e, now)
	if c.settle(e, common, now) {
		return
	}
	switch {
	case common == 0:
		if len(ch.former) == 0 {
			delete(c.changes, e)
		}
		if ch.chains && e.chain == nil {
			ch.chains = false
			c.chain(e, e.mark, now)
		}
	case e.Rules.Backlog():
		if e.chain == nil {
			c.chain(e, e.mark, now)
		}
	case e.latest == nil:
		e.latest = &Pending{e: e, job: e.Job, tick: common, after: e.Spec.PrevMilli(common - 1)}
		c.retries.add(now, e.latest)
	}
}

// settle claims the next tick of a former spec that lies before common, the tick of both specs that
// is to run. It reports whether there is one.
func (c *Claims) settle(e *entry, common, now int64) bool {
	ch := c.changes[e]
	if ch.claim != nil {
		return true
	}
	f, tick, at := ch.next(e, common, now)
	if tick == 0 {
		return false
	}
	ch.claim = &Pending{e: e, job: e.Job, tick: tick, former: f, purpose: forVerdict}
	c.cover(ch.claim, e.mark) // a store that has lost decisions answers with a gap
	c.retries.add(max(now, at), ch.claim)
	return true
}

// next returns the next tick of a former spec to settle, together with all ticks before it, and the
// time to do so. The tick lies before common, the tick of both specs, and before any tick of the
// new spec. Of the time in which both specs were in force, only ticks past their deadline are
// settled.
func (ch *change) next(e *entry, common, now int64) (f *job.Former, tick, at int64) {
	own := e.Spec.NextMilli(max(e.mark, e.since))
	for i := range ch.former {
		f := &ch.former[i]
		last := f.Until
		if own != 0 {
			last = min(last, own-1)
		}
		if common != 0 {
			last = min(last, common-1)
		}
		if tick := f.Spec.PrevMilli(min(last, e.since)); tick > max(e.mark, f.Since) {
			if at = tick + youngest; own != 0 {
				at = min(at, own-ahead)
			}
			return f, tick, at
		}
		if tick := f.Spec.PrevMilli(last); tick > max(e.mark, f.Since) {
			if at := tick + f.Policy.Within(f.Spec.Interval(tick)).Milliseconds() + youngest; at <= now {
				return f, tick, at
			}
		}
	}
	return nil, 0, 0
}

// mostLeaps bounds the search for a tick that two specs have.
const mostLeaps = 1000

// common returns the tick from before the change that is to run because both specs have it: the
// latest one or, for a job with a backlog, the oldest of the latest policy.Backlog ones. It returns
// 0 if no such tick may still start.
func (c *Claims) common(e *entry, now int64) (tick int64) {
	ch := c.changes[e]
	if ch == nil {
		return 0
	}
	wanted := 1
	if e.Rules.Backlog() {
		wanted = policy.Backlog
	}
	at := min(e.since, e.DueLast(now))
	for range mostLeaps {
		t := e.Spec.PrevMilli(at)
		if t == 0 || t <= e.mark || !c.startable(e, t, now) {
			break
		}
		if slices.ContainsFunc(ch.former, func(f job.Former) bool { return f.Names(t) }) {
			tick = t
			if wanted--; wanted == 0 {
				break
			}
		}
		at = 0
		for i := range ch.former {
			f := &ch.former[i]
			at = max(at, f.Spec.PrevMilli(min(t-1, f.Until)))
		}
	}
	return tick
}

// startable reports whether the first attempt of a tick may start at now.
func (c *Claims) startable(e *entry, tick, now int64) bool {
	within, _ := e.Rules.StartWithin(e.Spec.Interval(tick))
	return time.Duration(now-tick)*time.Millisecond <= within
}

// missed returns the number of ticks that a claim of tick covers as missed: the ticks of its spec
// after the mark, and the ticks from before the spec was in force that a former spec has too.
func (c *Claims) missed(e *entry, own *spec.Schedule, mark, tick int64) int {
	n := own.Count(max(mark, e.since), tick-1, countLimit)
	ch := c.changes[e]
	if ch == nil {
		return n
	}
	at := min(tick-1, e.since)
	for range mostLeaps {
		t := own.PrevMilli(at)
		if t == 0 || t <= mark {
			break
		}
		if slices.ContainsFunc(ch.former, func(f job.Former) bool { return f.Names(t) }) {
			n++
		}
		at = t - 1
	}
	return n
}
