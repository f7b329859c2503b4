package ops

import (
	"fmt"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/spec"
	"github.com/cronce/cronce/scheduler/verify"
)

// SecondProbe is how long after the first probe overdue ticks are probed again: see [NodeList.MayDecide].
const SecondProbe = 3 * time.Second

// An OverdueTick is an overdue tick, or several, of a job, for people and machines.
type OverdueTick struct {
	Job string `json:"job"`
	verify.Overdue
	AgeMs int64  `json:"age_ms"` // since its deadline
	Cause string `json:"cause"`
	Held  bool   `json:"-"` // a live node has the job, and does not decide its ticks
}

// Age returns the time since the deadline.
func (l *OverdueTick) Age() time.Duration { return time.Duration(l.AgeMs) * time.Millisecond }

// Stands describes the state of the tick, without the cause.
func (l *OverdueTick) Stands() string {
	switch l.State {
	case "open":
		return fmt.Sprintf("was granted to %s with fence %d, its lease is over, and no node has settled it or taken it over", l.Node, l.Fence)
	case "waiting":
		if spec.Manual(l.Tick.UnixMilli()) {
			return "waits, and no node has started or settled it"
		}
		return "waits, and no run is alive that it waits for"
	case "unstarted":
		return fmt.Sprintf("was granted to %s and never started, and no node has taken it", l.Node)
	case "interrupted":
		return fmt.Sprintf("was given back by %s, and no node has taken it", l.Node)
	}
	return "was due and has no verdict"
}

func (l *OverdueTick) String() string {
	tick := l.Tick.Format("2006-01-02T15:04:05.000Z07:00")
	if l.Ticks > 1 {
		tick = fmt.Sprintf("%s, and %d more up to %s,", tick, l.Ticks-1, l.Last.Format("2006-01-02T15:04:05.000Z07:00"))
	}
	return fmt.Sprintf("%s: OVERDUE %s %s; its time was over %v ago; %s", l.Job, tick, l.Stands(), l.Age().Round(time.Second), l.Cause)
}

// Judge checks the journal of a job together with its state, which must have been read after the
// journal. It returns the report, and the overdue ticks, each with its cause. If the state has
// no mark, because the store lost it, the job is judged by its journal and specs alone. The state must not
// be nil, and its Err must be nil. A job
// that was just removed from its nodes has no overdue ticks.
func Judge(journal series.Journal, state *series.Series, o verify.Options, nodes *NodeList) (verify.Report, []OverdueTick) {
	r, late, _ := judge(journal, state, o, nodes)
	return r, late
}

// judge returns the results of [Judge] and, if no tick is overdue and there is no fault, until when that
// stays so if nothing changes, in Unix milliseconds; 0: not known.
func judge(journal series.Journal, state *series.Series, o verify.Options, nodes *NodeList) (r verify.Report, late []OverdueTick, quiet int64) {
	o.State, o.Alive, o.Removed = state, nodes.Known(), nodes.Removed(&journal, state)
	if state.Mark == 0 {
		r = lostState(journal, o)
	} else {
		j := verify.NewJudge(journal, o)
		if r = j.Report(); len(r.Late)+len(r.Faults) == 0 {
			quiet = j.QuietUntil()
		}
	}
	for _, l := range r.Late {
		late = append(late, OverdueTick{Job: r.Job, Overdue: l, AgeMs: state.Now - l.Since.UnixMilli(), Cause: nodes.cause(&r, state), Held: nodes.has(&r)})
	}
	return r, late, quiet
}

// lostState judges a job whose state is lost, by its journal and specs.
func lostState(journal series.Journal, o verify.Options) verify.Report {
	r := verify.Report{Job: journal.Key}
	if len(journal.Lines)+len(journal.Revisions) > 0 {
		o.Now, o.State = time.UnixMilli(o.State.Now), nil
		r = verify.Job(journal, o)
	}
	r.Faults = append(r.Faults, "it is listed among the jobs, and has no state: the store lost it, or it was deleted")
	return r
}
