// Package why explains one tick of a job in a sentence: what became of it, or what will. It is
// pure: it reads a job's journal and state, asks no store and reads no clock.
//
// The sentence follows from what the store recorded. Where that does not reach, as before a
// truncated journal, the answer is NotKnown and never a guess.
package why

import (
	"cmp"
	"slices"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/policy"
	"github.com/cronce/cronce/scheduler/spec"
	"github.com/cronce/cronce/scheduler/verify"
)

// A Question is about a tick of a job, with what the store has of the job.
type Question struct {
	Tick    time.Time
	Journal series.Journal
	State   series.Series        // read after the journal
	Audit   []series.AuditRecord // of the job's control changes: they have the reasons of pauses. Nil: not known
	// Cause says why no node decides the job's ticks. It is part of the answer about an overdue
	// tick. Empty: not known.
	Cause string
	Alive func(node string) bool      // names the nodes that live. Nil: not known
	Seen  func(node string) time.Time // is when a node was seen last; zero: not known. Nil: of no node
}

// An Answer says what became of a tick.
type Answer struct {
	Job      string    `json:"job"`
	Tick     time.Time `json:"tick"`
	Zone     string    `json:"zone,omitempty"` // of the spec; the sentence has its times in it
	Spec     string    `json:"spec,omitempty"` // that was in force
	State    State     `json:"state"`
	Sentence string    `json:"sentence"`
	// Next is what an operator may do about it; empty: nothing.
	Next string `json:"next_step,omitempty"`
	// Evidence are the lines of the journal that the sentence follows from, as indexes.
	Evidence []int `json:"-"`
}

// A State is what became of a tick, in a word: the judgement of package verify. What a node with
// another spec passed over is missed.
type State = verify.TickState

// The states of a tick.
const (
	Ran        = verify.TickRan
	Failed     = verify.TickFailed
	Running    = verify.TickRunning
	Waiting    = verify.TickWaiting
	Skipped    = verify.TickSkipped
	Superseded = verify.TickSuperseded
	Missed     = verify.TickMissed
	Paused     = verify.TickPaused
	Lost       = verify.TickLost
	Overdue    = verify.TickOverdue
	Undecided  = verify.TickUndecided
	Future     = verify.TickFuture
	NotATick   = verify.NotATick
	NotKnown   = verify.TickNotKnown
)

// Explain answers a question. Calls may be concurrent.
func Explain(q Question) Answer {
	c := &tickCase{Question: q, ms: q.Tick.UnixMilli()}
	if q.State.Err == nil {
		judge := verify.NewJudge(q.Journal, verify.Options{State: &q.State, Alive: q.Alive})
		c.report = judge.Report()
		c.state, c.line = judge.Tick(q.Tick)
	}
	c.find()
	a := Answer{Job: q.Journal.Key, Tick: q.Tick.UTC(), State: NotKnown}
	if c.schedule != nil {
		a.Zone, a.Spec = c.schedule.Zone().String(), c.schedule.Text()
	}
	a.State, a.Sentence, a.Next = c.explain()
	slices.Sort(c.evidence)
	a.Evidence = c.evidence
	return a
}

// A tickCase is a question with what was found for it.
type tickCase struct {
	Question
	ms       int64
	own      []*series.Line // that speak of the tick, in order
	state    State          // as the job is judged
	line     *series.Line   // that decided the tick without a grant; nil: none
	report   verify.Report
	evidence []int
	schedule *spec.Schedule // in force for the tick; nil: not known
	run      *series.Run    // of the tick, not settled; nil: none
}

// find fills in what the journal and the state have of the tick.
func (c *tickCase) find() {
	for i := range c.Journal.Lines {
		l := &c.Journal.Lines[i]
		switch {
		case l.Verdict == series.VerdictUnreadable, l.Verdict == series.VerdictOpened, l.Verdict == series.VerdictControl:
			continue
		case l.To == c.ms:
			c.own = append(c.own, l)
		case l != c.line:
			continue
		}
		c.evidence = append(c.evidence, i)
	}
	for i := range c.State.Runs {
		if r := &c.State.Runs[i]; r.Number == c.ms {
			c.run = r
		}
	}
	c.schedule = c.inForce()
}

// specText is the text of the spec that a line names.
func (c *tickCase) specText(l *series.Line) string {
	for i := range c.Journal.Revisions {
		if r := &c.Journal.Revisions[i]; r.Revision == l.Revision {
			return r.Spec
		}
	}
	return l.Revision
}

// inForce returns the spec that decided the tick, or that would: the one that was used latest
// of those that were seen before it, and name it.
func (c *tickCase) inForce() *spec.Schedule {
	decided := ""
	if len(c.own) > 0 {
		decided = c.own[0].Revision
	} else if c.line != nil && c.state != verify.TickPassedOver {
		decided = c.line.Revision
	}
	var found *spec.Schedule
	best, used := -1, int64(0)
	for i := range c.Journal.Revisions {
		r := &c.Journal.Revisions[i]
		s := parse(r)
		if s == nil {
			continue
		}
		fits := 0
		for _, fit := range []bool{cmp.Or(r.Since, r.First) < c.ms, s.NextMilli(c.ms-1) == c.ms, decided != "" && r.Revision == decided} {
			fits *= 2
			if fit {
				fits++
			}
		}
		if fits > best || fits == best && r.Last >= used {
			found, best, used = s, fits, r.Last
		}
	}
	return found
}

// crontab reports whether crontabs ask for the ticks of the job, and no node does.
func (c *tickCase) crontab() bool {
	last := LastUsed(c.Journal.Revisions)
	if last == nil {
		return false
	}
	policies, _ := policy.Parse(last.Policies)
	return policies.Crontab
}

// InForce returns the spec that was used last; nil: none is recorded that can be read. It is
// the one in whose zone an operator means a local time.
func InForce(uses []series.RevisionUse) *spec.Schedule {
	if last := LastUsed(uses); last != nil {
		return parse(last)
	}
	return nil
}

// LastUsed returns the revision that was used last; nil: none is recorded.
func LastUsed(uses []series.RevisionUse) (last *series.RevisionUse) {
	for i := range uses {
		if last == nil || uses[i].Last >= last.Last {
			last = &uses[i]
		}
	}
	return last
}

func parse(r *series.RevisionUse) *spec.Schedule {
	zone, err := time.LoadLocation(r.Zone)
	if err != nil {
		return nil
	}
	s, err := spec.Parse(r.Spec, zone)
	if err != nil {
		return nil
	}
	return s
}
