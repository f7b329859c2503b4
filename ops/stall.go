package ops

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/policy"
	"github.com/cronce/cronce/scheduler/spec"
	"github.com/cronce/cronce/scheduler/verify"
	"github.com/cronce/cronce/scheduler/why"
)

// Bounds by which a job is judged stuck or starved.
const (
	stallTicks   = 3               // ticks that a run blocks, or that pass without a success
	leastStuck   = time.Minute     // least age of a stuck run
	leastStarved = 5 * time.Minute // least time without a success
	usualShare   = 95              // percentage of runs that take at most the usual time
	mostBehind   = 1_000_000       // the most ticks that are counted
)

// A Pace has the limits by which a job is judged stuck or starved.
type Pace struct {
	Schedule *spec.Schedule
	Timeout  time.Duration // of a run; 0: none is recorded
	Usual    time.Duration // the longest time that 95 of 100 runs take; 0: none has ended
	Crontab  bool          // commands in crontabs claim the ticks, and no node does: no success is expected
	Since    time.Time     // since when a success is expected: the latest one, the spec's first use, or the end of a pause
	Manual   time.Time     // the latest manual run that ended ok; zero: none is known
}

// A Stall describes how a job is blocked. The zero Stall means that it is not.
type Stall struct {
	Stuck   *Run      // the oldest run that is too old and causes ticks to be skipped
	Starved time.Time // the Since of the Pace, if that is too long ago; zero: the job is not starved
}

// Stall judges a job at an instant, by the store's clock. A job is stuck if ticks are skipped
// because of a run that is older than its timeout, or older than three ticks, ten times its usual
// time and a minute. It is starved if three ticks, three times the usual time of a run, and five
// minutes have passed without a success. The runs are the newest ones, including runs that are only
// in the state of the store.
func (p *Pace) Stall(runs []Run, now time.Time) (s Stall) {
	if p.Schedule == nil {
		return s
	}
	skipped := time.Time{} // the latest tick that was skipped
	for i := range runs {
		r := &runs[i]
		switch r.State {
		case Skipped, Superseded, Waiting:
			if r.Outcome != series.OutcomeSkipped && !r.Manual && r.Tick.Time().After(skipped) {
				skipped = r.Tick.Time()
			}
		}
	}
	for i := range runs {
		r := &runs[i]
		if !r.Alive() || !skipped.After(r.Tick.Time()) || s.Stuck != nil && s.Stuck.Tick < r.Tick {
			continue
		}
		if age := now.Sub(r.Granted.Time()); age > p.most(r.Tick.Time()) || p.Timeout > 0 && age > p.Timeout+verify.DefaultGrace {
			s.Stuck = r
		}
	}
	if at := p.starves(); !at.IsZero() && now.After(at) {
		s.Starved = p.Since
	}
	return s
}

// starves returns the instant after which the job is starved unless it succeeds before; zero: there
// is none.
func (p *Pace) starves() time.Time {
	if p.Schedule == nil || p.Crontab {
		return time.Time{}
	}
	third := p.after(p.Since)
	if third.IsZero() {
		return third
	}
	at, patient := p.Since.Add(max(leastStarved, stallTicks*p.Usual)), third.Add(max(verify.DefaultGrace, p.Usual))
	if patient.After(at) {
		return patient
	}
	return at
}

// most returns the greatest age that the run of a tick may have.
func (p *Pace) most(tick time.Time) time.Duration {
	return max(leastStuck, 10*p.Usual, p.after(tick).Sub(tick)) // without a third tick that is long ago
}

// after returns the third tick after an instant; zero: there is none.
func (p *Pace) after(at time.Time) time.Time {
	ms := at.UnixMilli()
	for range stallTicks {
		if ms = p.Schedule.NextMilli(ms); ms == 0 {
			return time.Time{}
		}
	}
	return time.UnixMilli(ms).UTC()
}

// paceOf returns the pace of a job by the spec that was used last, its journal, the runs in it, and its state. For limits that
// the lines do not reach it uses before, which may be nil.
func paceOf(schedule *spec.Schedule, j *series.Journal, s *series.Series, runs []Run, before *Pace) Pace {
	p := Pace{Schedule: schedule}
	since, manual := s.Last, int64(0)
	if use := why.LastUsed(j.Revisions); use != nil {
		recorded, _ := policy.Parse(use.Policies)
		p.Timeout, p.Crontab = recorded.Timeout, recorded.Crontab
		since = max(since, use.First)
	}
	for i := range j.Lines {
		switch l := &j.Lines[i]; l.Verdict {
		case series.VerdictPaused:
			since = max(since, l.To)
		case series.VerdictRan, series.VerdictEnded:
			switch {
			case l.Outcome == series.OutcomeSkipped: // there was nothing to do: the job is not blocked
				since = max(since, l.To)
			case l.Outcome == series.OutcomeOK && spec.Manual(l.To): // a tick is in the state
				manual = max(manual, l.To)
			}
		case series.VerdictControl:
			switch series.Action(l.Reason) {
			case series.ActionResume, series.ActionLapse, series.ActionRetire:
				since = max(since, l.At)
			}
		}
	}
	p.Since, p.Manual = utc(max(since, manual)), utc(manual)
	took := durations(runs)
	if len(took) > 0 {
		p.Usual = time.Duration(percentile(took, usualShare)) * time.Millisecond
	}
	if before != nil {
		if before.Since.After(p.Since) {
			p.Since = before.Since
		}
		if before.Manual.After(p.Manual) {
			p.Manual = before.Manual
		}
		if len(took) == 0 {
			p.Usual = before.Usual
		}
	}
	return p
}

// durations returns the durations in ms of the runs that have ended, in rising order.
func durations(runs []Run) (took []int64) {
	for i := range runs {
		if r := &runs[i]; r.TookMs != nil && r.State != Waiting {
			took = append(took, *r.TookMs)
		}
	}
	slices.Sort(took)
	return took
}

// percentile returns the greatest of the given percentage of values, which are in rising order.
func percentile(values []int64, percent int) int64 { return values[(len(values)*percent-1)/100] }

// Count sets, for each run that is alive, the number of ticks since its own.
func (p *Pace) Count(runs []Run, now time.Time) {
	for i := range runs {
		if r := &runs[i]; r.Alive() && p.Schedule != nil {
			r.Behind = new(p.Schedule.Count(int64(r.Tick), now.UnixMilli(), mostBehind))
		}
	}
}

// Need returns the reason why a job requires a person; it is zero if the job does not.
func (s *Stall) Need(job string, now time.Time) (n Need) {
	switch {
	case s.Stuck != nil:
		r := s.Stuck
		began := max(r.Granted, r.Tick).Time() // a store may grant a tick early, but its run does not start early
		n = Need{State: Stuck, Job: job, Tick: r.Tick.Time(), Next: "cronce runs " + job + " --alive"}
		n.Text = fmt.Sprintf("The run of %s is alive since %s (%s) on %s, and ticks are skipped behind it",
			TickClock(r.Tick.Time(), now), Clock(began, now), Short(now.Sub(began)), cmp.Or(r.Node, "its node"))
		if r.Behind != nil {
			n.Text += fmt.Sprintf(": %s went by", plural(*r.Behind, "tick"))
		}
	case !s.Starved.IsZero():
		n = Need{State: Starved, Job: job, Next: "cronce runs " + job}
		n.Text = fmt.Sprintf("No tick has ended ok since %s (%s ago)", Clock(s.Starved, now), Short(now.Sub(s.Starved)))
	}
	return n
}

// stall judges whether the job is blocked. Before is the job as judged before; nil: it was not.
func (j *Job) stall(nodes *NodeList, before *Job) {
	var known *Pace
	if before != nil {
		known = &before.Pace
	}
	j.Pace = paceOf(j.Schedule, &j.Journal, &j.Series, j.Runs, known)
	j.Stall = j.Pace.judge(&j.Series, j.Runs)
	if j.Stall != (Stall{}) && nodes.Removed(&j.Journal, &j.Series) {
		j.Stall = Stall{}
	}
}

// StallOf judges by the whole journal and the state of a job whether it is blocked.
func StallOf(j *series.Journal, s *series.Series) *Stall {
	runs := Runs("", j, s)
	p := paceOf(why.InForce(j.Revisions), j, s, runs, nil)
	return new(p.judge(s, runs))
}

// judge counts the ticks since each run, and judges whether the job is blocked. A paused job is not
// judged.
func (p *Pace) judge(s *series.Series, runs []Run) Stall {
	now := utc(s.Now)
	p.Count(runs, now)
	if s.PausedAt(s.Now) {
		return Stall{}
	}
	return p.Stall(runs, now)
}

// unlisted returns the runs of the store, open or manual, that are in none of the lines that were read.
func unlisted(namespace string, listed map[int64]*Run, s *series.Series) (runs []*Run) {
	for i := range s.Runs {
		r := &s.Runs[i]
		if listed[r.Number] != nil || r.State != series.RunOpen && !r.Manual() {
			continue
		}
		run := newRun(namespace, s.Key, r.Number)
		run.Verdict, run.Node, run.Attempt, run.Fence = string(series.VerdictRan), driver.NodeOf(r.Owner), r.Attempt, r.Fence
		run.Granted, run.Recorded = Instant(r.Granted), Instant(r.Granted)
		if r.State == series.RunWaiting {
			run.Verdict, run.Granted = string(series.VerdictWaiting), 0
		}
		run.stands(r, s)
		runs = append(runs, run)
	}
	return runs
}
