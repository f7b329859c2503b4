package proof

import (
	"slices"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler"
)

// ledger checks each run alone and against the run before: no run happened twice, early, or at an instant
// outside the spec, and fences increased.
func (c *check) ledger() {
	c.recordedTwice()
	starts := map[attempt]int{}
	highest := map[string]int64{}
	for i := range c.Records {
		r := &c.Records[i]
		j := c.jobs[r.Job]
		if r.Kind != Start || j == nil {
			continue
		}
		c.punctual(r, j)
		if r.Try > 1 {
			continue
		}
		if starts[r.attempt()]++; starts[r.attempt()] == 2 {
			c.found(Twice, r.Job, r.Tick, "attempt %d ran again on %s", r.Attempt, r.Node)
		}
		if j.Overlap != scheduler.OverlapAllow && r.Fence <= highest[r.Job] && !c.was(r.Pid, Paused) {
			c.found(Fences, r.Job, r.Tick, "%s started with fence %d after %d", r.Node, r.Fence, highest[r.Job])
		}
		highest[r.Job] = max(highest[r.Job], r.Fence)
	}
}

// recordedTwice checks that no record arrived twice. Otherwise the counts of records mean nothing.
func (c *check) recordedTwice() {
	seen := map[[2]int64]bool{}
	for _, r := range c.Records {
		id := [2]int64{int64(r.Pid), r.Seq}
		if seen[id] && r.Seq != 0 {
			c.found(Logs, r.Job, r.Tick, "the ledger has this record twice")
		}
		seen[id] = true
	}
}

func (c *check) punctual(r *Record, j *Job) {
	if r.At.Before(r.Instant()) {
		c.found(Early, r.Job, r.Tick, "%s started %v early", r.Node, r.Instant().Sub(r.At))
	}
	named := func(j Job) bool { return j.Name == r.Job && r.Tick%j.Every.Milliseconds() == 0 }
	requested := c.Requested != nil && c.Requested(r)
	if !requested && !named(*j) && !slices.ContainsFunc(c.Also, named) {
		c.found(Strange, r.Job, r.Tick, "%s ran an instant outside its spec", r.Node)
	}
}

// A span is one run of a job, from its start to its end.
type span struct {
	start Record
	end   time.Time
	sure  bool // the cause of the end is known
}

// spans pairs the starts of a job's runs with their ends. A run ends at the latest when its process
// is killed.
func (c *check) spans(job string) (spans []span) {
	open := map[attempt]int{}
	for i := range c.Records {
		r := &c.Records[i]
		if r.Job != job {
			continue
		}
		switch at, known := open[r.attempt()]; {
		case r.Kind == Start && r.Try == 1:
			open[r.attempt()] = len(spans)
			spans = append(spans, span{start: *r, end: c.death(r)})
		case r.Kind == End && known:
			spans[at].end, spans[at].sure = r.At, true
		}
	}
	return spans
}

// death returns the time at which the process of a run was killed, or a time after the scenario. A
// record that arrived right after the signal was sent before the process died.
func (c *check) death(r *Record) time.Time {
	for _, f := range c.Faults {
		if f.Pid == r.Pid && f.Kind == Killed {
			return later(f.From, r.At)
		}
	}
	return c.To.Add(365 * 24 * time.Hour)
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// overlaps reports runs of one job at the same time if its policy forbids that. Only a process that was
// stopped is excused, because it could not notice the end of its lease; guard checks its writes.
func (c *check) overlaps(j *Job) {
	if j.Overlap == scheduler.OverlapAllow || j.Deaf {
		return
	}
	var last span
	for _, s := range c.spans(j.Name) {
		if s.start.At.Before(last.end) && !c.was(last.start.Pid, Paused) && !c.was(s.start.Pid, Paused) {
			c.found(Overlaps, j.Name, s.start.Tick, "%s started attempt %d %v before the end of %s on %s",
				s.start.Node, s.start.Attempt, last.end.Sub(s.start.At), stamp(last.start.Tick), last.start.Node)
		}
		if s.end.After(last.end) {
			last = s
		}
	}
}

// account requires that every due tick has a verdict (invariant I4) and that the scenario explains the
// verdict (I6).
func (c *check) account(j *Job) {
	ran := map[int64]bool{}
	for i := range c.Records {
		if r := &c.Records[i]; r.Kind == Start && r.Job == j.Name {
			ran[r.Tick] = true
		}
	}
	due := c.due(j)
	all := fates(c.Journals[j.Name], due)
	for _, t := range due {
		c.judge(j, t, all[t], ran[t])
	}
}

// judge compares the verdict of one tick with its run.
func (c *check) judge(j *Job, t int64, f *fate, ran bool) {
	switch {
	case f.verdict == "" && !ran && c.forgotten(t) && c.starved(j, t):
	case f.verdict == "" && !ran:
		c.found(Silent, j.Name, t, "no run, and no verdict")
	case f.verdict == "" && !c.forgotten(t):
		c.found(Unrecorded, j.Name, t, "it ran, but has no verdict")
	case f.verdict == "":
	case f.verdict == series.VerdictRan && !ran:
		c.found(Unstarted, j.Name, t, "granted to %s, outcome %q, but it never ran", f.grant.Node, f.outcome)
	case f.verdict == series.VerdictRan && f.outcome == "":
		c.found(Unended, j.Name, t, "ran on %s, and no record has its end", f.grant.Node)
	case f.verdict != series.VerdictRan && !c.explained(j, t, f):
		c.found(Forbidden, j.Name, t, "%s (%s)", f.verdict, f.reason)
	}
}

// explained reports whether a tick may have a verdict other than ran: because of the faults of the
// scenario, or because the machine was too busy for the nodes and the job's policies do not
// compensate that.
func (c *check) explained(j *Job, tick int64, f *fate) bool {
	if c.Allowed != nil && c.Allowed(j, tick, f.verdict, f.reason) {
		return true
	}
	late := f.verdict == series.VerdictMissed
	long := f.verdict == series.VerdictSkipped && f.reason == series.ReasonOverlap
	return late && c.starved(j, tick) || long && c.slow(j, tick) || c.capped(j, tick, f) || f.verdict == series.VerdictLost && c.unrenewed(j, tick)
}

// unrenewed reports whether a run may have lost its lease because the machine or the store was too
// busy for its renewals. A renewal is due every third of the lease, and the lease is trusted for
// nine tenths of it, so more than half of the lease must have passed without a reply.
func (c *check) unrenewed(j *Job, tick int64) bool {
	from := time.UnixMilli(tick)
	return j.Lease > 0 && c.Starved(from, from.Add(2*j.Every+j.Lease)) >= j.Lease/2
}

// starved reports whether the machine was too busy for a tick, and the policies of its job do not
// compensate that.
func (c *check) starved(j *Job, tick int64) bool {
	return j.Misfire != scheduler.MisfireAll && c.slow(j, tick)
}

// slow reports whether the machine was busy around a tick. Then the run before may have lasted
// until the tick, so that the tick was skipped, under any misfire policy.
func (c *check) slow(j *Job, tick int64) bool {
	from := time.UnixMilli(tick)
	return c.Starved(from, from.Add(2*j.Every)) >= j.Every/10
}

// forgotten reports whether the store has lost its data about a tick.
func (c *check) forgotten(tick int64) bool { return tick < c.Since.UnixMilli() }
