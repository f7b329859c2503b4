package ops

import (
	"cmp"
	"iter"
	"slices"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/policy"
	"github.com/cronce/cronce/scheduler/spec"
	"github.com/cronce/cronce/scheduler/why"
)

// verdictOverdue is the verdict of a Run for ticks that no node has decided.
const verdictOverdue = "overdue"

// Listed returns the results of the job's ticks, the newest first, together with ticks that have none
// yet: overdue ticks, and the tick that waits for its jitter. Several overdue ticks are one range. A run
// that was left, and is overdue for that reason, has the state Overdue.
func (j *Job) Listed() []Run {
	if len(j.Overdue) == 0 && j.delayed() == nil {
		return j.Runs
	}
	runs := make([]Run, 0, len(j.Runs)+len(j.Overdue)+1)
	for r := range j.Ticks(time.Time{}) {
		runs = append(runs, *r)
	}
	slices.SortStableFunc(runs, func(a, b Run) int { return cmp.Compare(b.Tick, a.Tick) })
	return runs
}

// Ticks yields the runs that Listed returns, in no order, without the older ones if these were over before an instant. Callers must
// not change them. For a picture of a dead fleet, Listed would copy the runs of each job.
func (j *Job) Ticks(from time.Time) iter.Seq[*Run] {
	return func(yield func(*Run) bool) {
		var left []time.Time // the overdue ticks that have a run
		for i := range j.Runs {
			r := &j.Runs[i]
			last := r.olderOver(from)
			if len(j.Overdue) > 0 && !slices.ContainsFunc(left, r.Tick.Time().Equal) && slices.ContainsFunc(j.Overdue, func(l OverdueTick) bool { return r.Tick.Time().Equal(l.Tick) }) {
				left = append(left, r.Tick.Time())
				r = new(*r)
				r.State = Overdue
			}
			if !yield(r) {
				return
			}
			if last {
				break
			}
		}
		if r := j.delayed(); r != nil && !yield(r) {
			return
		}
		for i := range j.Overdue {
			if l := &j.Overdue[i]; !slices.ContainsFunc(left, l.Tick.Equal) && !yield(j.overdue(l)) {
				return
			}
		}
	}
}

// overdue returns overdue ticks that have no run.
func (j *Job) overdue(l *OverdueTick) *Run {
	r := &Run{Job: j.Name, Tick: InstantOf(l.Tick), State: Overdue, Verdict: verdictOverdue, Reason: l.Cause, Recorded: InstantOf(l.Since)}
	if l.Ticks > 1 {
		r.Tick, r.From, r.Between = InstantOf(l.Last), InstantOf(l.Tick)-1, verdictOverdue
	}
	return r
}

// delayed returns the latest tick if it waits for its jitter, or else nil.
func (j *Job) delayed() *Run {
	now := j.Series.Now
	if j.Schedule == nil || j.Policies.Jitter == 0 || j.Policies.Crontab || j.State == Unknown || j.State == Retired || j.Series.PausedAt(now) {
		return nil
	}
	tick := j.Schedule.PrevMilli(now)
	if tick == 0 || tick <= j.Series.Mark {
		return nil
	}
	due := j.Policies.DueAt(j.Name, tick, j.Schedule.NextMilli(tick))
	if due <= now {
		return nil
	}
	return &Run{Job: j.Name, Tick: Instant(tick), State: Waiting, Verdict: string(series.VerdictWaiting), Reason: "jitter, until " + Clock(utc(due), utc(now)), Recorded: Instant(tick)}
}

// jitter sets the jitter of the runs of a job, by the policies that are recorded with their revision. A
// grant that came clearly before the end of the jitter was decided under other policies: its jitter is
// not known.
func jitter(runs []*Run, j *series.Journal) {
	for i := range j.Revisions {
		use := &j.Revisions[i]
		policies, _ := policy.Parse(use.Policies)
		if policies.Jitter == 0 {
			continue
		}
		schedule := why.InForce(j.Revisions[i : i+1])
		for _, r := range runs {
			if schedule == nil || r.LateMs == nil || r.revision != use.Revision {
				continue
			}
			tick := int64(r.Tick)
			delay := policies.DueAt(r.Job, tick, schedule.NextMilli(tick)) - tick
			if delay <= *r.LateMs+earlyGrant {
				r.JitterMs = new(min(delay, *r.LateMs))
			}
		}
	}
}

// earlyGrant is how many milliseconds early a grant may come; it carries the wait.
const earlyGrant = 20

// A Use is a spec that is in force.
type Use struct {
	Schedule *spec.Schedule
	Node     string    // the node that was seen with it last
	Seen     time.Time // when that was
}

// sightedWithin is the time within which a node that is alive is seen with its spec again, even if it
// has very many jobs, and its journal is read. In a fleet of more than a hundred nodes that may take longer.
const sightedWithin = 20 * time.Minute

// InForce returns the spec that was used last, and after it each other spec with which a live node was seen
// within the last 20 minutes. There are several while nodes disagree, as in a rolling deployment. Nil: no valid
// spec is recorded.
func (j *Job) InForce(nodes *NodeList) (uses []Use) {
	last := why.LastUsed(j.Journal.Revisions)
	if last == nil || j.Schedule == nil {
		return nil
	}
	uses = []Use{{j.Schedule, last.Node, utc(last.Last)}}
	for i := range j.Journal.Revisions {
		u := &j.Journal.Revisions[i]
		if u.Node == last.Node || u.Spec == last.Spec && u.Zone == last.Zone || j.Series.Now-u.Last > sightedWithin.Milliseconds() || !slices.Contains(nodes.Names(), u.Node) {
			continue
		}
		if s := why.InForce(j.Journal.Revisions[i : i+1]); s != nil {
			uses = append(uses, Use{s, u.Node, utc(u.Last)})
		}
	}
	return uses
}

// Disagreed returns the names of the jobs on whose specs live nodes disagree: see [Job.InForce].
func (s *Snapshot) Disagreed() (jobs []string) {
	for _, j := range s.Jobs {
		if len(j.Journal.Revisions) > 1 && len(j.InForce(s.Nodes)) > 1 {
			jobs = append(jobs, j.Name)
		}
	}
	return jobs
}

// NeverRan reports whether no tick of the job was ever granted, as far as the store still has all
// of its verdicts.
func (j *Job) NeverRan() bool {
	return j.Series.Mark != 0 && j.Series.Last == 0 && Searched(&j.Journal).IsZero() &&
		!slices.ContainsFunc(j.Runs, func(r Run) bool { return !r.Granted.IsZero() })
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
	if !r.Tick.Time().Before(from) {
		n++
	}
	if s := j.between(r); s != nil {
		n += s.Count(max(int64(r.From), from.UnixMilli()-1), int64(r.Tick)-1, limit)
	}
	return min(n, limit)
}

// TicksIn yields the ticks of a run from an instant on, with their states, the oldest first. Of the ticks
// of a range it yields the first of each step; zero: each tick.
func (j *Job) TicksIn(r *Run, from time.Time, step time.Duration) iter.Seq2[time.Time, State] {
	return func(yield func(time.Time, State) bool) {
		last := int64(r.Tick)
		if s := j.between(r); s != nil {
			state := r.between()
			for ms := s.NextMilli(max(int64(r.From), from.UnixMilli()-1)); ms != 0 && ms < last; ms = s.NextMilli(ms + max(0, step.Milliseconds()-1)) {
				if !yield(utc(ms), state) {
					return
				}
			}
		}
		if !r.Tick.Time().Before(from) {
			yield(r.Tick.Time(), r.State)
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
