package ops

import (
	"cmp"
	"container/heap"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/spec"
)

// Verdicts are the verdicts and outcomes by which runs can be filtered.
var Verdicts = []string{"ran", "ok", "failed", "panic", "timeout", "lost", "replaced", "cancelled", "interrupted", "unstarted", "skipped", "waiting", "superseded", "missed", "paused", Takeover}

// RunStates are the states by which runs can be filtered; alive is a run whose lease has not
// expired.
var RunStates = []string{"alive", string(OK), string(Running), string(Failing), string(Lost), string(Missed), string(Paused), string(Skipped), string(Superseded), string(Waiting), string(Unknown)}

// A RunFilter selects runs. The zero filter selects all.
type RunFilter struct {
	Verdict string // one of Verdicts
	State   string // one of RunStates
	Node    string // the beginning of its id
	From    time.Time
	To      time.Time // of ticks; zero: no bound. A range is selected if one of its ticks may be inside
}

// Lets reports whether the filter selects a run.
func (f *RunFilter) Lets(r *Run) bool {
	first := r.Tick
	if r.Between != "" {
		first = r.From + 1
	}
	return (f.Verdict == "" || r.Verdict == f.Verdict || r.Outcome == f.Verdict || r.Between == f.Verdict || f.Verdict == Takeover && r.takenOver()) &&
		(f.State == "" || string(r.State) == f.State || f.State == "alive" && r.Alive() || r.Between != "" && string(r.between()) == f.State) &&
		strings.HasPrefix(r.Node, f.Node) && !r.Tick.Time().Before(f.From) && (f.To.IsZero() || !first.Time().After(f.To))
}

// Newer orders runs: the latest recorded first.
func Newer(a, b Run) int { return newer(&a, &b) }

func newer(a, b *Run) int {
	if c := cmp.Compare(b.Recorded, a.Recorded); c != 0 {
		return c
	}
	return cmp.Compare(b.ID, a.ID)
}

// Recent returns the newest verdicts of all jobs that let accepts, at most n, the newest first. It
// only searches the lines and the exceptions that are kept in memory: see [Snapshot.Searched] and
// [Snapshot.SearchedExceptions].
func (s *Snapshot) Recent(n int, let func(*Run) bool) []Run {
	var newest oldestFirst
	for _, j := range s.Jobs {
		if n > 0 && len(newest) == n && j.latest != 0 && j.latest < int64(newest[0].Recorded) {
			continue
		}
		for i := range j.Runs {
			r := &j.Runs[i]
			newest.add(r, n, let)
			if len(newest) == n && (n < 1 || r.olderOver(newest[0].Recorded.Time())) {
				break
			}
		}
		for i := range j.older.runs {
			newest.add(&j.older.runs[i], n, let)
		}
	}
	all := make([]Run, len(newest))
	for i := range slices.Backward(all) {
		all[i] = *heap.Pop(&newest).(*Run)
	}
	return all
}

// recorded returns when the newest verdict of the job in memory was recorded, in Unix milliseconds.
func (j *Job) recorded() (latest int64) {
	for _, runs := range [][]Run{j.Runs, j.older.runs} {
		for i := range runs {
			latest = max(latest, int64(runs[i].Recorded))
		}
	}
	return latest
}

// oldestFirst is a heap of runs, so that a list of the newest runs costs no copy of the others.
type oldestFirst []*Run

// add keeps a run if it is among the newest n of those that let accepts.
func (h *oldestFirst) add(r *Run, n int, let func(*Run) bool) {
	switch {
	case n < 1 || len(*h) == n && newer((*h)[0], r) < 0 || let != nil && !let(r):
	case len(*h) < n:
		heap.Push(h, r)
	default:
		(*h)[0] = r
		heap.Fix(h, 0)
	}
}

func (h oldestFirst) Len() int           { return len(h) }
func (h oldestFirst) Less(i, j int) bool { return newer(h[i], h[j]) > 0 }
func (h oldestFirst) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *oldestFirst) Push(r any)        { *h = append(*h, r.(*Run)) }
func (h *oldestFirst) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// Searched returns the instant from which on every verdict of the jobs is in memory: older lines of
// some jobs may not be. Zero: everything ever recorded is.
func (s *Snapshot) Searched() (from time.Time) {
	for _, j := range s.Jobs {
		if at := Searched(&j.Journal); at.After(from) {
			from = at
		}
	}
	return from
}

// Searched returns the instant from which on a journal has every verdict. Zero: from the opening of
// the job on.
func Searched(j *series.Journal) time.Time {
	if len(j.Lines) == 0 || len(j.Exceptions) == 0 && j.Lines[0].Verdict == series.VerdictOpened {
		return time.Time{}
	}
	return utc(firstAt(j.Lines))
}

// firstAt returns when the first of the lines that can be read was written.
func firstAt(lines []series.Line) int64 {
	for i := range lines {
		if lines[i].At != 0 {
			return lines[i].At
		}
	}
	return 0
}

// SearchedExceptions returns the instant from which on a journal, read as a whole, has every exception:
// see [series.Line.Exception]. It is not later than [Searched]. Zero: as for Searched.
func SearchedExceptions(j *series.Journal) time.Time {
	all := Searched(j)
	switch {
	case all.IsZero():
		return all
	case j.ExceptionsSince != 0:
		return utc(j.ExceptionsSince)
	case len(j.Revisions) == 0:
		return all
	}
	return utc(min(j.Revisions[0].First, firstAt(j.All())))
}

// A stateCount is the number of runs in a state.
type stateCount struct {
	state State
	n     int
}

// countsOf counts runs by their states.
func countsOf(runs []Run) (counts []stateCount) {
	of := map[State]int{}
	Tally(of, runs, nil, time.Time{})
	for state, n := range of {
		counts = append(counts, stateCount{state, n})
	}
	return counts
}

// Tally adds, to counts by their states, the ticks of the job's runs from an instant on.
func (j *Job) Tally(counts map[State]int, from time.Time) {
	if j.counts == nil {
		Tally(counts, j.Runs, j.Schedule, from)
		return
	}
	for i := range j.counts {
		counts[j.counts[i].state] += j.counts[i].n
	}
	for i := range slices.Backward(j.Runs) {
		r := &j.Runs[i]
		if !r.Tick.Time().Before(from) {
			break
		}
		if counts[r.State]--; counts[r.State] == 0 {
			delete(counts, r.State)
		}
	}
}

// Tally adds, to counts by their states, the ticks of runs from an instant on. The schedule counts the
// ticks of a range. Nil: a range counts as one tick.
func Tally(counts map[State]int, runs []Run, schedule *spec.Schedule, from time.Time) {
	for i := range runs {
		r := &runs[i]
		if r.Tick.Time().Before(from) {
			continue
		}
		counts[r.State]++
		if r.Between != "" && schedule != nil {
			after := max(int64(r.From), from.UnixMilli()-1)
			if n := schedule.Count(after, int64(r.Tick)-1, maxTally); n > 0 {
				counts[r.between()] += n
			}
		}
	}
}

const maxTally = 1_000_000 // ticks of one range
