package ops

import (
	"slices"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/policy"
	"github.com/cronce/cronce/scheduler/spec"
	"github.com/cronce/cronce/scheduler/verify"
	"github.com/cronce/cronce/scheduler/why"
)

// A Job is the state of a job in a snapshot. It is immutable.
type Job struct {
	// The pages visit these of each job, so that they are next to each other.
	Name     string
	State    State
	Runs     []Run // the results in the lines of Journal, the newest first
	Overdue  []OverdueTick
	Schedule *spec.Schedule // the spec that was used last; nil: no valid spec is recorded
	counts   []stateCount   // of Runs by their states; nil: one is a range, or may change by the time alone
	excepted excepted       // the exceptions among Runs
	older    older          // exceptions that are older than Runs
	next     tickAfter      // of Schedule
	latest   int64          // when the newest verdict of Runs and older was recorded, in Unix milliseconds; 0: not known

	Fault    string // why State is Unknown
	Series   series.Series
	Journal  series.Journal // with the newest lines only
	Policies policy.Record
	Pace     Pace
	Stall    Stall

	suspected time.Time // since when, by this process's clock, a tick looks overdue that is probed again before it is reported; zero: none
	read      int64     // when the journal was read, by the store's clock
	judgeAt   int64     // when a tick may become overdue without a change in the store; 0: now
	dueAt     int64     // when the job must be read again, even if no step changes it; 0: now
}

// A tickAfter is the first tick after an instant, both in Unix milliseconds; 0: there is none.
type tickAfter struct{ instant, tick int64 }

// newJob judges a job by its state, which was read after its journal.
func newJob(namespace string, j series.Journal, s series.Series, nodes *NodeList, before *Job) *Job {
	job := &Job{Name: s.Key, Series: s, Journal: j, read: s.Now, Runs: Runs(namespace, &j, &s)}
	job.Schedule = why.InForce(j.Revisions)
	if use := why.LastUsed(j.Revisions); use != nil {
		job.Policies, _ = policy.Parse(use.Policies) // an unreadable policy becomes the default
	}
	if job.Schedule != nil {
		job.next = tickAfter{s.Now, job.Schedule.NextMilli(s.Now)}
	}
	job.stall(nodes, before)
	job.judge(nodes, before)
	job.dueAt = job.turns()
	job.excepted = job.exceptedIn(job.Runs)
	if len(s.Runs) == 0 && !slices.ContainsFunc(job.Runs, func(r Run) bool { return r.Between != "" }) {
		job.counts = countsOf(job.Runs)
	}
	return job
}

// unknownJob returns a job that cannot be read, with its earlier data.
func unknownJob(name string, before *Job, fault string) *Job {
	job := &Job{Name: name, Series: series.Series{Key: name}}
	if before != nil {
		*job = *before
	}
	job.State, job.Fault, job.Overdue, job.suspected, job.judgeAt, job.dueAt = Unknown, fault, nil, time.Time{}, 0, 0
	return job
}

// current reports whether the job was read in this refresh.
func (j *Job) current() bool { return j.Series.Err == nil }

// at returns the job at a later reading of its state, in which only the time has changed.
func (j *Job) at(s series.Series, nodes *NodeList) *Job {
	later := *j
	later.Series = s
	for _, r := range s.Runs {
		if r.State == series.RunOpen { // its lease was renewed or is over
			later.Runs = slices.Clone(j.Runs)
			for i := range later.Runs {
				for k := range s.Runs {
					if s.Runs[k].Number == int64(later.Runs[i].Tick) {
						later.Runs[i].stands(&s.Runs[k], &s)
					}
				}
			}
			break
		}
	}
	later.stall(nodes, j)
	if s.Now >= j.judgeAt {
		later.judge(nodes, j)
	} else {
		later.State = later.word()
	}
	later.dueAt = later.turns()
	return &later
}

// due reports whether the job must be read at ms, by the store's clock, even if no step has changed
// it since it was read.
func (j *Job) due(ms int64) bool { return !j.current() || ms >= j.dueAt }

// turns returns when the job may look different by the passing of time alone. A job with a run that
// is not settled may do so at any time: no change is recorded when a lease is renewed.
func (j *Job) turns() int64 {
	if len(j.Series.Runs) > 0 {
		return 0
	}
	at := j.judgeAt
	if j.Series.PausedAt(j.Series.Now) {
		if until := j.Series.Pause.Until; until != 0 {
			at = min(at, until+1)
		}
	} else if starved := j.Pace.starves(); starved.UnixMilli() >= j.Series.Now { // otherwise it is starved, until a step of the store
		at = min(at, starved.UnixMilli()+1)
	}
	for i := range j.Runs {
		if r := &j.Runs[i]; r.State == Lost || r.State == Missed {
			if mended := r.Recorded.Time().Add(mendedFor).UnixMilli(); mended >= j.Series.Now {
				at = min(at, mended)
			}
		}
	}
	return at
}

// judge finds overdue ticks. A tick that looks overdue for the first time while nodes are alive is
// only suspected, because the nodes may have just returned. Before is the job as judged before;
// nil: it was not.
func (j *Job) judge(nodes *NodeList, before *Job) {
	r, late, quiet := judge(j.Journal, &j.Series, verify.Options{}, nodes)
	since := time.Now()
	if before != nil && !before.suspected.IsZero() {
		since = before.suspected
	}
	j.Overdue, j.suspected, j.Fault, j.judgeAt = late, time.Time{}, "", quiet
	if len(r.Faults) > 0 {
		j.Fault = r.Faults[0]
	}
	believed := before != nil && len(before.Overdue) > 0 || time.Since(since) >= SecondProbe
	if len(late) > 0 && !believed && nodes.MayDecide() {
		j.Overdue, j.suspected = nil, since
	}
	j.State = j.word()
}

// word returns the state of the job.
func (j *Job) word() State {
	if j.Fault != "" && len(j.Overdue) == 0 {
		return Unknown
	}
	if len(j.Overdue) > 0 {
		return Overdue
	}
	if j.Series.Retired() {
		return Retired
	}
	if j.Series.PausedAt(j.Series.Now) {
		return Paused
	}
	if j.Stall.Stuck != nil {
		return Stuck
	}
	if bad := j.bad(); bad != nil {
		return bad.State
	}
	if !j.Stall.Starved.IsZero() {
		return Starved
	}
	if len(j.AliveRuns()) > 0 {
		return Running
	}
	return OK
}

// Bounds of how long a tick that was lost or missed requires a person.
const (
	mendedBy  = 3 // number of later ticks that ended ok
	mendedFor = 24 * time.Hour
)

// bad returns the tick for which the job requires a person, or nil. The next success clears a
// failure. It does not clear a lost or missed tick, whose work was not done, or was done only in
// part.
func (j *Job) bad() *Run {
	ok := 0
	for i := range j.Runs {
		switch r := &j.Runs[i]; r.State {
		case OK:
			if ok++; ok == mendedBy {
				return nil
			}
		case Failing:
			if ok == 0 && !r.Ordered() {
				return r
			}
		case Lost, Missed:
			if r.State == Missed && j.Policies.Crontab {
				continue // no crontab command claimed it
			}
			if ok == 0 || utc(j.Series.Now).Sub(r.Recorded.Time()) < mendedFor {
				return r
			}
		}
	}
	return nil
}

// Ordered reports whether the policy of the job or an operator ended a run: then its end is no failure, as in verify.
func (r *Run) Ordered() bool {
	return r.Outcome == series.OutcomeReplaced || r.Outcome == series.OutcomeCancelled
}

// Last returns the result of the newest decided tick, or nil if none is recorded.
func (j *Job) Last() *Run {
	if len(j.Runs) == 0 {
		return nil
	}
	return &j.Runs[0]
}

// LastSuccess returns the latest tick, or instant of a manual run, that ended ok; zero: none is known.
func (j *Job) LastSuccess() time.Time {
	if last := utc(j.Series.Last); last.After(j.Pace.Manual) {
		return last
	}
	return j.Pace.Manual
}

// FailingSince counts the ticks that failed, were lost or were missed since the latest one that
// ended ok, and returns the first of them. All is false if the lines in memory reach back neither
// to a tick that ended ok nor to the opening of the job: then there may be earlier ones.
func (j *Job) FailingSince() (n int, first *Run, all bool) {
	for i := range j.Runs {
		switch r := &j.Runs[i]; {
		case r.State == Failing && !r.Ordered(), r.State == Lost, r.State == Missed:
			n, first = n+1, r
		case r.State == OK:
			return n, first, true
		}
	}
	return n, first, Searched(&j.Journal).IsZero()
}

// AliveRuns returns the runs whose leases have not expired.
func (j *Job) AliveRuns() (alive []Run) {
	for i := range j.Runs {
		r := &j.Runs[i]
		if r.Alive() {
			alive = append(alive, *r)
		}
		if r.olderEnded() {
			break
		}
	}
	return alive
}

// Next returns the first tick after an instant; zero: there is none, or the spec is not known.
func (j *Job) Next(after time.Time) time.Time {
	if j.Schedule == nil {
		return time.Time{}
	}
	ms := after.UnixMilli()
	if ms >= j.next.instant && ms < j.next.tick { // a page asks each job once a second
		return utc(j.next.tick)
	}
	return utc(j.Schedule.NextMilli(ms))
}

// changed reports whether a state has changes that the job's lines cannot contain.
func (j *Job) changed(s *series.Series) bool {
	old := &j.Series
	same := func(a, b series.Run) bool {
		return a.Number == b.Number && a.State == b.State && a.Fence == b.Fence && a.Attempt == b.Attempt
	}
	return old.Mark != s.Mark || old.Fence != s.Fence || old.Last != s.Last || old.Paused != s.Paused ||
		old.Change != s.Change || !slices.EqualFunc(old.Runs, s.Runs, same)
}
