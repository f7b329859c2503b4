package proof

import (
	"maps"
	"slices"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler"
	"github.com/cronce/cronce/scheduler/verify"
)

// claims compares runs with grants. Each run needs a grant of its attempt and fence, and the fences of a
// job increase.
func (c *check) claims() {
	grants := c.grants()
	for i := range c.Records {
		r := &c.Records[i]
		if r.Kind != Start || c.jobs[r.Job] == nil || c.forgotten(r.At.UnixMilli()) {
			continue
		}
		l, granted := grants[grant{r.attempt(), r.Fence}]
		switch {
		case !granted:
			c.found(Unclaimed, r.Job, r.Tick, "%s ran attempt %d with fence %d, which no grant has", r.Node, r.Attempt, r.Fence)
		case r.At.UnixMilli() < l.At:
			c.found(Unclaimed, r.Job, r.Tick, "%s started %d ms before the grant", r.Node, l.At-r.At.UnixMilli())
		}
	}
	c.reruns()
}

// A grant identifies the right to one run.
type grant struct {
	attempt
	fence int64
}

// grants returns the grants in the journals.
func (c *check) grants() map[grant]series.Line {
	grants := map[grant]series.Line{}
	for job, j := range c.Journals {
		last := int64(0)
		for _, l := range j.Lines {
			if l.Verdict != series.VerdictRan {
				continue
			}
			grants[grant{attempt{job, l.To, l.Attempt}, l.Fence}] = l
			if l.Fence <= last {
				c.found(Fences, job, l.To, "granted with fence %d after %d", l.Fence, last)
			}
			last = l.Fence
		}
	}
	return grants
}

// reruns checks that a tick has a further attempt only if the job allows it, or if the journal says that
// the attempt before was given back: a drain interrupted it, or it never started.
func (c *check) reruns() {
	returned := map[attempt]bool{}
	for job, j := range c.Journals {
		for _, l := range j.Lines {
			if l.Outcome == series.OutcomeInterrupted || l.Outcome == series.OutcomeUnstarted {
				returned[attempt{job, l.To, l.Attempt}] = true
			}
		}
	}
	for i := range c.Records {
		r := &c.Records[i]
		j := c.jobs[r.Job]
		if r.Kind == Start && j != nil && r.Attempt > 1 && j.Takeover == scheduler.TakeoverLost && !returned[attempt{r.Job, r.Tick, r.Attempt - 1}] {
			c.found(Twice, r.Job, r.Tick, "attempt %d of a job whose ticks are lost with their node", r.Attempt)
		}
	}
}

// verify runs the library's own check of the journals.
func (c *check) verify() {
	for job, j := range c.Journals {
		exclusive := c.jobs[job].Overlap != scheduler.OverlapAllow
		for _, v := range verify.Job(j, verify.Options{Exclusive: exclusive}).Violations {
			c.found(Journal, job, 0, "%v", v)
		}
	}
}

// guard checks the writes that the guarded resources accepted.
func (c *check) guard() {
	highest, writer := map[string]int64{}, map[string]int{}
	for i := range c.Records {
		r := &c.Records[i]
		if r.Kind != Write || r.Refused {
			continue
		}
		switch {
		case r.Fence < highest[r.Job]:
			c.found(Guard, r.Job, r.Tick, "a write with fence %d came through after %d", r.Fence, highest[r.Job])
		case r.Fence == highest[r.Job] && r.Pid != writer[r.Job]:
			c.found(Guard, r.Job, r.Tick, "processes %d and %d wrote with fence %d", writer[r.Job], r.Pid, r.Fence)
		}
		highest[r.Job], writer[r.Job] = r.Fence, r.Pid
	}
}

// A Takeover is a run whose process was killed, and its next attempt.
type Takeover struct {
	Killed Record // the run that was under way
	Fault  Fault
	Next   Record // the next attempt; zero if there was none
}

// Takeovers returns the runs that were under way when their process was killed.
func Takeovers(e *Evidence) (ts []Takeover) {
	open := map[attempt]Record{}
	next := map[attempt]Record{}
	for _, r := range e.Records {
		switch r.Kind {
		case Start:
			open[r.attempt()], next[r.attempt()] = r, r
		case End:
			delete(open, r.attempt())
		}
	}
	for _, a := range slices.SortedFunc(maps.Keys(open), attempt.compare) {
		for _, f := range e.Faults {
			if f.Kind == Killed && f.Pid == open[a].Pid {
				ts = append(ts, Takeover{open[a], f, next[attempt{a.job, a.tick, a.attempt + 1}]})
			}
		}
	}
	return ts
}
