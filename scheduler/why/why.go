// Package why explains one tick of a job in a sentence: what became of it, or what will. It is
// pure: it reads a job's journal and state, asks no store and reads no clock.
//
// The sentence follows from what the store recorded. Where that does not reach, as before a
// truncated journal, the answer is NotKnown and never a guess.
package why

import (
	"slices"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/scheduler/spec"
	"github.com/cronce/cronce/scheduler/verify"
)

// A Question is about a tick of a job, with what the store has of the job.
type Question struct {
	Tick    time.Time
	Journal driver.Journal
	State   driver.Series        // read after the journal
	Audit   []driver.AuditRecord // of the job's control changes: they have the reasons of pauses. Nil: not known
	// Cause says why no node decides the job's ticks. It is part of the answer about an overdue
	// tick. Empty: not known.
	Cause string
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

// A State is what became of a tick, in a word.
type State string

// The states of a tick.
const (
	Ran        State = "ran"        // its last attempt has ended ok
	Failed     State = "failed"     // its last attempt has ended otherwise
	Running    State = "running"    // an attempt is alive
	Waiting    State = "waiting"    // for the end of an earlier run, or for a node after a drain
	Skipped    State = "skipped"    // an earlier run was alive
	Superseded State = "superseded" // it waited, and a later tick took its place
	Missed     State = "missed"     // it could not start in time, or fell into an interruption
	Paused     State = "paused"
	Lost       State = "lost"      // its node died, and no other node runs it
	Overdue    State = "overdue"   // no node has decided it in time, or its node died and no node has seen to it yet
	Undecided  State = "undecided" // it is due, and its time is not over
	Future     State = "future"
	NotATick   State = "not a tick"
	NotKnown   State = "not known"
)

// Explain answers a question. Calls may be concurrent.
func Explain(q Question) Answer {
	c := &tickCase{Question: q, ms: q.Tick.UnixMilli()}
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
	own      []*driver.Line // that speak of the tick, in order
	cover    *driver.Line   // the line whose range has the tick; nil: none
	over     *driver.Line   // of another spec, which passed the tick and does not name it; nil: none
	unread   bool           // a line of the journal cannot be read
	evidence []int
	schedule *spec.Schedule // in force for the tick; nil: not known
	run      *driver.Run    // of the tick, not settled; nil: none
}

// find fills in what the journal and the state have of the tick.
func (c *tickCase) find() {
	for i := range c.Journal.Lines {
		l := &c.Journal.Lines[i]
		switch {
		case l.Verdict == driver.VerdictUnreadable:
			c.unread = true
			continue
		case l.Verdict == driver.VerdictOpened, l.Verdict == driver.VerdictControl:
			continue
		case l.To == c.ms:
			c.own = append(c.own, l)
		case l.From < c.ms && c.ms < l.To && c.another(l):
			c.over = l
		case l.From < c.ms && c.ms < l.To && l.Between != "":
			c.cover = l
		default:
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

// another reports whether a line that passed the tick was written by a node whose spec has no
// such tick.
func (c *tickCase) another(l *driver.Line) bool {
	s := c.spec(l)
	return s != nil && s.NextMilli(c.ms-1) != c.ms
}

// spec returns the spec that a line names; nil: none that can be read.
func (c *tickCase) spec(l *driver.Line) *spec.Schedule {
	for i := range c.Journal.Revisions {
		if r := &c.Journal.Revisions[i]; r.Revision == l.Revision {
			return parse(r)
		}
	}
	return nil
}

// inForce returns the spec that decided the tick, or that would: the one that was used latest
// of those that were seen before it.
func (c *tickCase) inForce() *spec.Schedule {
	decided := ""
	if len(c.own) > 0 {
		decided = c.own[0].Revision
	} else if c.cover != nil {
		decided = c.cover.Revision
	}
	var found *driver.RevisionUse
	for i := range c.Journal.Revisions {
		r := &c.Journal.Revisions[i]
		switch {
		case decided != "" && r.Revision == decided:
			return parse(r)
		case found == nil, r.First < c.ms && r.Last >= found.Last:
			found = r
		}
	}
	if found == nil {
		return nil
	}
	return parse(found)
}

// InForce returns the spec that was used last; nil: none is recorded that can be read. It is
// the one in whose zone an operator means a local time.
func InForce(uses []driver.RevisionUse) *spec.Schedule {
	if last := LastUsed(uses); last != nil {
		return parse(last)
	}
	return nil
}

// LastUsed returns the revision that was used last; nil: none is recorded.
func LastUsed(uses []driver.RevisionUse) (last *driver.RevisionUse) {
	for i := range uses {
		if last == nil || uses[i].Last >= last.Last {
			last = &uses[i]
		}
	}
	return last
}

func parse(r *driver.RevisionUse) *spec.Schedule {
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

// late returns what of the job is overdue at the tick, judged as verify judges it.
func (c *tickCase) late() *verify.Overdue {
	r := verify.Job(c.Journal, verify.Options{State: &c.State, Now: time.UnixMilli(c.State.Now)})
	for i := range r.Late {
		o := &r.Late[i]
		last := o.Last
		if last.IsZero() {
			last = o.Tick
		}
		if !c.Tick.Before(o.Tick) && !c.Tick.After(last) {
			return o
		}
	}
	return nil
}
