package chronos_test

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// A plan is the schedule of a job: from start on it begins once in each interval, at most epsilon after the target.
type plan struct {
	job     string
	start   time.Time
	count   int
	every   time.Duration
	epsilon time.Duration
	lasts   time.Duration
}

// A run has the times that one attempt wrote into the file of its host. The end is zero if the attempt was killed.
type run struct {
	job        string
	tick       time.Time
	attempt    int
	fence      int64
	node       string
	begin, end time.Time
}

// A span is a time in which faults excuse.
type span struct{ from, to time.Time }

func (s span) meets(from, to time.Time) bool { return !s.to.Before(from) && !to.Before(s.from) }

// match gives each run of one job at most one target, and each target at most one run, so that as many targets as possible are
// satisfied. It knows the begins alone, and does not trust a run about its tick.
//
// All windows are equally long: the earliest of those that are open at a begin is the first to close. Each run, in the
// order of the begins, takes that one. No other choice satisfies more: if a matching gives this target to a later run, or
// to none, and this run a target that closes later, the two can be exchanged, because the later target is still open then.
func match(p plan, begins []time.Time) (unsatisfied, extra []time.Time) {
	begins = slices.SortedFunc(slices.Values(begins), time.Time.Compare)
	next := 0
	for _, b := range begins {
		for next < p.count && b.After(p.target(next).Add(p.epsilon)) {
			unsatisfied = append(unsatisfied, p.target(next))
			next++
		}
		if next == p.count || b.Before(p.target(next)) {
			extra = append(extra, b)
			continue
		}
		next++
	}
	for ; next < p.count; next++ {
		unsatisfied = append(unsatisfied, p.target(next))
	}
	return unsatisfied, extra
}

func (p plan) target(i int) time.Time { return p.start.Add(time.Duration(i) * p.every) }

// A verdict counts how targets and runs fared, and names each violation.
type verdict struct {
	targets   int // with closed windows
	satisfied int
	shaken    int // targets whose windows meet a fault
	excused   int // shaken targets that are not satisfied
	late      int // runs that satisfy no target, during a fault
	runs      int // first attempts
	takeovers int
	twice     int

	violations []string
}

func (v *verdict) violate(format string, args ...any) {
	v.violations = append(v.violations, fmt.Sprintf(format, args...))
}

// judge compares the runs with the plans. Windows that close after closed are not judged.
func judge(plans []plan, runs []run, faults []span, closed time.Time) *verdict {
	v := &verdict{}
	byJob := map[string][]run{}
	for _, r := range runs {
		byJob[r.job] = append(byJob[r.job], r)
	}
	for _, p := range plans {
		v.one(p, v.first(byJob[p.job]), faults, closed)
		delete(byJob, p.job)
	}
	for job := range byJob {
		v.violate("%s ran, and no plan has it", job)
	}
	return v
}

// one judges the begins of a job.
func (v *verdict) one(p plan, begins []time.Time, faults []span, closed time.Time) {
	begins = slices.DeleteFunc(begins, func(b time.Time) bool { return b.Before(p.start) || b.After(closed) })
	v.runs += len(begins)
	excused := func(from, to time.Time) bool {
		return slices.ContainsFunc(faults, func(f span) bool { return f.meets(from, to) })
	}
	unsatisfied, extra := match(p, begins)
	for i := 0; i < p.count && !p.target(i).Add(p.epsilon).After(closed); i++ {
		v.targets++
		v.satisfied++
		if excused(p.target(i), p.target(i).Add(p.epsilon)) {
			v.shaken++
		}
	}
	for _, t := range unsatisfied {
		closes := t.Add(p.epsilon)
		if closes.After(closed) {
			continue
		}
		v.satisfied--
		if excused(t, closes) {
			v.excused++
			continue
		}
		v.violate("%s did not begin within %v of %s", p.job, p.epsilon, stamp(t))
	}
	for _, b := range extra {
		if excused(b.Add(-p.epsilon), b) { // a run that was late when the fault was over may need as long as one in time
			v.late++
			continue
		}
		v.violate("%s began at %s, and no target is left for this run", p.job, stamp(b))
	}
}

// first returns when each tick of one job began for the first time. A later attempt is a takeover. It has a higher number and a
// higher fence, and does not begin before the earlier one has ended.
func (v *verdict) first(runs []run) (begins []time.Time) {
	byTick := map[int64][]run{}
	for _, r := range runs {
		byTick[r.tick.UnixMilli()] = append(byTick[r.tick.UnixMilli()], r)
	}
	for _, tick := range slices.Sorted(maps.Keys(byTick)) {
		all := slices.SortedFunc(slices.Values(byTick[tick]), func(a, b run) int { return a.begin.Compare(b.begin) })
		begins = append(begins, all[0].begin)
		for i, b := range all[1:] {
			a := all[i]
			switch {
			case b.attempt <= a.attempt || b.fence <= a.fence:
				v.twice++
				v.violate("%s of %s ran twice: attempt %d with fence %d on %s, then attempt %d with fence %d on %s",
					a.job, stamp(a.tick), a.attempt, a.fence, a.node, b.attempt, b.fence, b.node)
			case a.end.After(b.begin):
				v.twice++
				v.violate("%s of %s: attempt %d on %s ended at %s, after the begin of attempt %d on %s at %s",
					a.job, stamp(a.tick), a.attempt, a.node, stamp(a.end), b.attempt, b.node, stamp(b.begin))
			default:
				v.takeovers++
			}
		}
	}
	return begins
}

func stamp(t time.Time) string { return t.UTC().Format("15:04:05.000") }
