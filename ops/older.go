package ops

import (
	"slices"
	"time"

	"github.com/cronce/cronce/lock/series"
)

// mostOlder is how many of the exceptions of a job that are older than its lines are kept.
const mostOlder = 20

// older are the exceptions of a job that are older than its lines in memory. A job is not judged by them: the ticks
// between them are not known.
type older struct {
	runs     []Run // the newest first
	excepted excepted
	since    time.Time // from when on all exceptions are in memory; zero: all there ever were
	whole    bool      // the whole journal was read, and no line was missed since
}

// wholeNext reports whether the next reading of a job's journal must be a whole one. The first reading has the newest lines alone, so
// that a plane that starts, and a command, soon have something to show. The second one finds the exceptions that are older. From then
// on an exception is kept when its lines leave the memory.
func wholeNext(before *Job) bool { return before != nil && before.read != 0 && !before.older.whole }

// newestOf returns a journal with its newest n lines alone.
func newestOf(j series.Journal, n int) series.Journal {
	if n < len(j.Lines) {
		j.Lines, j.Truncated = slices.Clone(j.Lines[len(j.Lines)-n:]), true
	}
	j.Exceptions, j.ExceptionsSince = nil, 0
	return j
}

// olderOf returns the exceptions in a job's whole journal that are older than its lines in memory, at most n.
func olderOf(namespace string, j *Job, whole *series.Journal, n int) older {
	o := j.olderIn(Runs(namespace, whole, &j.Series), SearchedExceptions(whole), n)
	o.whole = true
	return o
}

// olderAfter returns the exceptions that are older than a job's lines in memory, at most n, of those that were in memory at the reading
// before; nil: there was none. If lines between the two readings were never read, exceptions may be missing up to then, until the whole
// journal is read again.
func olderAfter(before, j *Job, n int) older {
	since := Searched(&j.Journal)
	if before == nil {
		return older{since: since}
	}
	whole := firstAt(j.Journal.Lines) <= lastAt(before.Journal.Lines)
	if whole {
		since = before.older.since
	}
	var runs []Run
	if !before.excepted.first.IsZero() || len(before.older.runs) > 0 {
		runs = slices.Concat(before.Runs, before.older.runs)
	}
	o := j.olderIn(runs, since, n)
	o.whole = whole && before.older.whole
	return o
}

// lastAt returns when the last of the lines that can be read was written.
func lastAt(lines []series.Line) int64 {
	for i := range slices.Backward(lines) {
		if lines[i].At != 0 {
			return lines[i].At
		}
	}
	return 0
}

// olderIn returns the exceptions among runs that are older than the job's runs, at most n. Since is when they begin to be complete.
func (j *Job) olderIn(runs []Run, since time.Time, n int) older {
	if all := Searched(&j.Journal); all.Before(since) {
		since = all
	}
	o := older{since: since}
	for i := range runs {
		if r := &runs[i]; r.State != Running && r.State != Waiting && r.exception() && !j.has(r) {
			o.runs = append(o.runs, *r)
		}
	}
	slices.SortFunc(o.runs, Newer)
	if len(o.runs) > n {
		o.runs = slices.Clone(o.runs[:n])
		o.since = o.runs[n-1].Recorded.Time()
	}
	o.excepted = j.exceptedIn(o.runs)
	return o
}

// has reports whether the job's runs have the tick of a run, or a range that has grown over it.
func (j *Job) has(r *Run) bool {
	return slices.ContainsFunc(j.Runs, func(of Run) bool {
		return of.Tick == r.Tick || of.Between != "" && !r.Manual && of.From < r.Tick && r.Tick < of.Tick
	})
}

// SearchedExceptions returns the instant from which on every exception of the jobs is in memory. It is not later than
// [Snapshot.Searched]. Zero: each that was ever recorded is.
func (s *Snapshot) SearchedExceptions() (from time.Time) {
	for _, j := range s.Jobs {
		if j.older.since.After(from) {
			from = j.older.since
		}
	}
	return from
}

// older returns how many exceptions are kept that are older than the lines of their jobs.
func (s *Snapshot) older() (n int) {
	for _, j := range s.Jobs {
		n += len(j.older.runs)
	}
	return n
}
