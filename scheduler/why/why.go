// Package why explains one tick of a job in a sentence: its verdict, or the next event if it has
// none. The package is pure: it reads a job's journal and state, and uses no store and no clock.
//
// The sentence follows from the records of the store. Where they do not suffice, for example before
// the first line of a truncated journal, the answer is NotKnown, never a guess.
package why

import (
	"cmp"
	"slices"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/spec"
	"github.com/cronce/cronce/scheduler/verify"
)

// A Question names a tick of a job, and carries the records that the store has of the job.
type Question struct {
	Tick    time.Time
	Journal series.Journal
	State   series.Series        // must be read after the journal
	Audit   []series.AuditRecord // of the job's control changes: they have the reasons of pauses. Nil: not known
	// Cause is the reason why no node decides the job's ticks, if none does. The answer about an overdue tick
	// contains it, and so does the answer about a sharded tick without an alive shard. Empty: not known.
	Cause string
	Alive func(node string) bool      // reports whether a node is alive. Nil: not known
	Seen  func(node string) time.Time // returns when a node was last seen; zero: not known. Nil: not known for any node
	// Places are the holders of the lock of the job's limit: see LimitOf and policy.Limit. They must
	// be read after the state. Nil: not known.
	Places []driver.Holder
	// Removed reports that the job was just removed from all nodes that had it, as for package verify.
	Removed bool
}

// An Answer explains a tick.
type Answer struct {
	Job      string    `json:"job"`
	Tick     time.Time `json:"tick"`
	Zone     string    `json:"zone,omitempty"` // of the spec; the times in the sentence are in this zone
	Spec     string    `json:"spec,omitempty"` // the spec in force for the tick
	State    State     `json:"state"`
	Outcome  string    `json:"outcome,omitempty"` // how the last attempt of a failed tick ended, such as cancelled or timeout
	Sentence string    `json:"sentence"`
	// Next is the next step that an operator can take; empty: none.
	Next string `json:"next_step,omitempty"`
	// Limit says how the run stands to the limit of its job. Nil: no run of the tick is alive, or the
	// job has no limit.
	Limit *Limited `json:"limit,omitempty"`
	// Evidence has the indexes of the lines from which the sentence follows, in the list of all lines
	// of the journal that Journal.All returns.
	Evidence []int `json:"-"`
}

// Word returns the state for people: of a failed tick its outcome, if that is known.
func (a Answer) Word() string { return cmp.Or(a.Outcome, string(a.State)) }

// A State is the state of a tick in a word, as judged by package verify. A tick that a node with
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

// Explain answers a question. It is safe for concurrent use. A tick before the lines of the journal is
// explained from the exceptions, if one of them is about it.
func Explain(q Question) Answer {
	a := explain(q)
	for i := range a.Evidence {
		a.Evidence[i] += len(q.Journal.Exceptions)
	}
	if a.State != NotKnown || len(q.Journal.Exceptions) == 0 {
		return a
	}
	q.Journal.Lines = q.Journal.All()
	kept := explain(q)
	switch kept.State {
	case NotKnown, NotATick, Running, Waiting: // a run that is not over is in the state, which a has
		return a
	}
	if len(kept.Evidence) == 0 {
		return a
	}
	return kept
}

func explain(q Question) Answer {
	c := &tickCase{Question: q, ms: q.Tick.UnixMilli()}
	var judge *verify.Judge
	if q.State.Err == nil {
		judge = verify.NewJudge(q.Journal, verify.Options{State: &q.State, Alive: q.Alive, Removed: q.Removed})
		c.report = judge.Report()
		c.state, c.line = judge.Tick(q.Tick)
	}
	c.find()
	a := Answer{Job: q.Journal.Key, Tick: q.Tick.UTC(), State: NotKnown}
	if c.schedule != nil {
		a.Zone, a.Spec = c.schedule.Zone().String(), c.schedule.Text()
	}
	a.State, a.Sentence, a.Next = c.explain()
	if all := c.attempts(); a.State == Failed && len(all) > 0 {
		a.Outcome = all[len(all)-1].Outcome
	}
	a.Limit = c.limited()
	a.Sentence += a.Limit.sentence(c.shardsOf() > 0)
	if judge != nil {
		a.Sentence += c.repeated(judge)
	}
	slices.Sort(c.evidence)
	a.Evidence = c.evidence
	return a
}

// A tickCase is a question with the records that were found for it.
type tickCase struct {
	Question
	ms       int64
	own      []*series.Line // the lines about the tick, in order
	state    State          // as package verify judges the job
	line     *series.Line   // the line that decided the tick without a grant; nil: none
	report   verify.Report
	evidence []int
	schedule *spec.Schedule // the spec in force for the tick; nil: not known
	cancel   *series.Line   // the line of the cancel of its run; nil: none
	run      *series.Run    // the unsettled run of the tick; nil: none
}

// find collects the records of the tick from the journal and the state.
func (c *tickCase) find() {
	for i := range c.Journal.Lines {
		l := &c.Journal.Lines[i]
		switch {
		case l.Verdict == series.VerdictOpened, l.Verdict == series.VerdictControl:
			continue
		case l.To == c.ms:
			c.own = append(c.own, l)
		case l != c.line:
			continue
		}
		c.evidence = append(c.evidence, i)
	}
	c.findCancel()
	for i := range c.State.Runs {
		if r := &c.State.Runs[i]; r.Number == c.ms {
			c.run = r
		}
	}
	c.schedule = c.inForce()
}

// specText returns the text of the spec that a line names.
func (c *tickCase) specText(l *series.Line) string {
	for i := range c.Journal.Revisions {
		if r := &c.Journal.Revisions[i]; r.Revision == l.Revision {
			return r.Spec
		}
	}
	return l.Revision
}

// inForce returns the spec that decided the tick or would decide it: of the specs that have the
// tick and were seen before it, the one used last. If the instant is no tick, a spec that has it was
// replaced before, and it is one of the others.
func (c *tickCase) inForce() *spec.Schedule {
	decided := ""
	if len(c.own) > 0 {
		decided = c.own[0].Revision
	} else if c.line != nil {
		decided = c.line.Revision
	}
	none := c.state == NotATick && c.Tick.After(c.report.Begins)
	var found *spec.Schedule
	best, used := -1, int64(0)
	for i := range c.Journal.Revisions {
		r := &c.Journal.Revisions[i]
		s := parse(r)
		if s == nil {
			continue
		}
		fits := 0
		for _, fit := range []bool{cmp.Or(r.Since, r.First) < c.ms, (s.NextMilli(c.ms-1) == c.ms) != none, r.Revision == decided} {
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

// crontab reports whether commands in crontabs claim the ticks of the job, and no node does.
func (c *tickCase) crontab() bool { return policiesOf(c.Journal.Revisions).Crontab }

// forgotten describes the loss of the state of a job whose journal or specs are left, as a sentence of its own.
func (c *tickCase) forgotten() string {
	if c.State.Mark != 0 || len(c.Journal.Lines)+len(c.Journal.Revisions) == 0 {
		return ""
	}
	return " The store has no state of the job any more: the store lost it, or it was deleted. A node that has the job opens it again, and until then no tick runs."
}

// InForce returns the spec that was used last, or nil if no valid spec is recorded. Its zone is the
// zone of an operator's local times.
func InForce(uses []series.RevisionUse) *spec.Schedule {
	if last := LastUsed(uses); last != nil {
		return parse(last)
	}
	return nil
}

// LastUsed returns the revision that was used last, or nil if none is recorded.
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
	s, _ := spec.Parse(r.Spec, zone)
	return s
}
