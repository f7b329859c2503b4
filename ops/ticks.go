package ops

import (
	"iter"
	"slices"
	"time"

	"github.com/cronce/cronce/scheduler/spec"
	"github.com/cronce/cronce/scheduler/why"
)

// verdictOverdue is the verdict of a Run for ticks that no node has decided.
const verdictOverdue = "overdue"

// Listed returns the results of the job's ticks, the newest first, together with its overdue ticks.
// Several overdue ticks are one range. A run that was left, and is overdue for that reason, has the
// state Overdue.
func (j *Job) Listed() []Run {
	if len(j.Overdue) == 0 {
		return j.Runs
	}
	runs := slices.Clone(j.Runs)
	for i := range j.Overdue {
		l := &j.Overdue[i]
		if at := slices.IndexFunc(runs, func(r Run) bool { return r.Tick.Equal(l.Tick) }); at >= 0 {
			runs[at].State = Overdue
			continue
		}
		r := Run{Job: j.Name, Tick: l.Tick, State: Overdue, Verdict: verdictOverdue, Reason: l.Cause, Recorded: l.Since}
		if l.Ticks > 1 {
			r.Tick, r.From, r.Between = l.Last, l.Tick.Add(-time.Millisecond), verdictOverdue
		}
		runs = append(runs, r)
	}
	slices.SortStableFunc(runs, func(a, b Run) int { return b.Tick.Compare(a.Tick) })
	return runs
}

// scheduleOf returns the schedule that named the ticks of a range; nil: it is not known.
func (j *Job) scheduleOf(r *Run) *spec.Schedule {
	last := why.LastUsed(j.Journal.Revisions)
	if r.revision == "" || last == nil || last.Revision == r.revision {
		return j.Schedule
	}
	for i := range j.Journal.Revisions {
		if use := j.Journal.Revisions[i : i+1]; use[0].Revision == r.revision {
			return why.InForce(use)
		}
	}
	return nil
}

// CountIn returns the number of the ticks of a run from an instant on, or limit if there are more. It is
// more than one for a range only.
func (j *Job) CountIn(r *Run, from time.Time, limit int) int {
	n := 0
	if !r.Tick.Before(from) {
		n++
	}
	if s := j.between(r); s != nil {
		n += s.Count(max(r.From.UnixMilli(), from.UnixMilli()-1), r.Tick.UnixMilli()-1, limit)
	}
	return min(n, limit)
}

// TicksIn yields the ticks of a run from an instant on, with their states, the oldest first. Of the ticks
// of a range it yields the first of each step; zero: each tick.
func (j *Job) TicksIn(r *Run, from time.Time, step time.Duration) iter.Seq2[time.Time, State] {
	return func(yield func(time.Time, State) bool) {
		last := r.Tick.UnixMilli()
		if s := j.between(r); s != nil {
			state := r.between()
			for ms := s.NextMilli(max(r.From.UnixMilli(), from.UnixMilli()-1)); ms != 0 && ms < last; ms = s.NextMilli(ms + max(0, step.Milliseconds()-1)) {
				if !yield(utc(ms), state) {
					return
				}
			}
		}
		if !r.Tick.Before(from) {
			yield(r.Tick, r.State)
		}
	}
}

// between returns the schedule of the ticks of a range before its last one; nil: it is no range, or
// they are not known.
func (j *Job) between(r *Run) *spec.Schedule {
	if r.Between == "" {
		return nil
	}
	return j.scheduleOf(r)
}
