package ops

import (
	"slices"
	"time"

	"github.com/cronce/cronce/lock/series"
)

// Takeover is the verdict by which runs are counted and filtered that had more than one attempt, however they ended.
const Takeover = "takeover"

// Exceptions counts the ticks from an instant on that are exceptions, by their verdicts or outcomes: see [series.Line.Exception]. A
// tick that was taken over also counts as a [Takeover]. It only counts the runs that are kept in memory.
func (s *Snapshot) Exceptions(from time.Time) map[string]int {
	counts := map[string]int{}
	for _, j := range s.Jobs {
		j.countExceptions(counts, &j.excepted, j.Runs, from)
		j.countExceptions(counts, &j.older.excepted, j.older.runs, from)
	}
	return counts
}

// excepted are the numbers of the exceptions among runs, so that ten thousand jobs are counted without a visit to their runs.
type excepted struct {
	first  Instant // no tick of them is before it; zero: there is none
	counts []verdictCount
}

// A verdictCount is the number of ticks with a verdict or an outcome.
type verdictCount struct {
	verdict string
	n       int
}

// exceptedIn counts the exceptions among runs of the job.
func (j *Job) exceptedIn(runs []Run) (e excepted) {
	var counts map[string]int
	for i := range runs {
		r := &runs[i]
		if !r.exception() {
			continue
		}
		first := r.Tick
		if r.Between != "" {
			first = r.From
		}
		if counts == nil {
			e.first, counts = first, map[string]int{}
		} else if first < e.first {
			e.first = first
		}
		j.countException(counts, r, time.Time{})
	}
	for verdict, n := range counts {
		e.counts = append(e.counts, verdictCount{verdict, n})
	}
	return e
}

// countExceptions adds the exceptions among the ticks of runs from an instant on.
func (j *Job) countExceptions(counts map[string]int, e *excepted, runs []Run, from time.Time) {
	switch {
	case e.first.IsZero():
	case e.first.Time().Before(from):
		for i := range runs {
			j.countException(counts, &runs[i], from)
		}
	default:
		for i := range e.counts {
			counts[e.counts[i].verdict] += e.counts[i].n
		}
	}
}

// countException adds the exceptions among the ticks of a run from an instant on.
func (j *Job) countException(counts map[string]int, r *Run, from time.Time) {
	if r.Tick.Time().Before(from) {
		return
	}
	if r.exceptional(r.Verdict) {
		counts[r.word()]++
	}
	if r.takenOver() {
		counts[Takeover]++
	}
	if r.exceptional(r.Between) {
		if n := j.CountIn(r, from, maxTally) - 1; n > 0 {
			counts[r.Between] += n
		}
	}
}

// word returns the outcome of a run that was granted, or else its verdict.
func (r *Run) word() string {
	if r.Verdict == string(series.VerdictRan) {
		return r.Outcome
	}
	return r.Verdict
}

// exception reports whether one of the ticks of a run is an exception.
func (r *Run) exception() bool {
	return r.takenOver() || r.exceptional(r.Verdict) || r.exceptional(r.Between)
}

// exceptional reports whether a verdict of the run is one of an exception: its own, or, for a range, the one of the ticks before the
// last. The number of its attempts does not matter.
func (r *Run) exceptional(verdict string) bool {
	l := series.Line{Verdict: series.Verdict(verdict), Reason: r.Reason, Between: series.Verdict(r.Between), To: int64(r.Tick), Outcome: r.Outcome}
	if l.From = l.To; r.Between != "" {
		l.From = int64(r.From)
	}
	return l.Exception()
}

// takenOver reports whether the run, or a shard of it, had more than one attempt.
func (r *Run) takenOver() bool { return r.Attempt > 1 || r.Shards != nil && r.Shards.Rerun > 0 }

// Latest returns the jobs with the newest verdicts, at most n, the newest first. However often a job runs, it is one of them.
func (s *Snapshot) Latest(n int) (jobs []*Job) {
	for _, j := range s.Jobs {
		last := j.Last()
		if last == nil || len(jobs) == n && newer(last, jobs[n-1].Last()) >= 0 {
			continue
		}
		place, _ := slices.BinarySearchFunc(jobs, last, func(j *Job, last *Run) int { return newer(j.Last(), last) })
		jobs = slices.Insert(jobs, place, j)
		jobs = jobs[:min(len(jobs), n)]
	}
	return jobs
}
