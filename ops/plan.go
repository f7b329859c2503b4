package ops

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
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

// An Only selects the ticks of a backfill by their verdicts. No backfill has ticks that are not decided,
// or whose runs have not ended.
type Only string

// The selections. The first two leave out a tick whose work an earlier backfill has done.
const (
	NeverRan Only = "never-ran" // missed, lost, paused, skipped, superseded, or passed over by a node with another spec
	NotOK    Only = "failed"    // also those that ran and did not end ok
	AllTicks Only = "all"       // also those that ended ok, and those whose verdicts are not known any more
)

// Onlys are the selections, the default first.
var Onlys = []Only{NeverRan, NotOK, AllTicks}

// MostRoom is the longest room that a backfill may have.
const MostRoom = 24 * time.Hour

const (
	mostExamined  = 100_000     // ticks of one interval that are judged
	mostIntervals = 10_000      // intervals that are compared with the room
	usualRoom     = time.Second // if no run has ended and no timeout is recorded
	leastRoom     = 100 * time.Millisecond
)

// A Backfill names the ticks of a job that are to be repeated.
type Backfill struct {
	From, To time.Time     // of ticks, both included
	Only     Only          // empty: NeverRan
	Room     time.Duration // how long a run may take: none starts so shortly before the next tick of the spec. 0: from the journal
	Digest   string        // of the plan that the caller has seen; empty: only the plan is wanted
	Usual    time.Duration // the room of that plan, if Room is 0; 0: from the journal of now, which may have the end of another run
}

// whilePaused is the word in a scope for a run or a backfill that starts in a pause.
const whilePaused = "while paused"

// scope returns the backfill in words that a repeated request has in common with the first one.
func (b *Backfill) scope(anyway bool) string {
	text := fmt.Sprintf("%s to %s, %s", b.From.UTC().Format(time.RFC3339Nano), b.To.UTC().Format(time.RFC3339Nano), cmp.Or(b.Only, NeverRan))
	if b.Room != 0 {
		text += ", room " + b.Room.String()
	}
	if anyway {
		text += ", " + whilePaused
	}
	return text
}

// Check returns an *ArgumentError for an interval, a selection or a room that no backfill can have.
func (b *Backfill) Check() error {
	switch {
	case b.From.UnixMilli() <= 0: // the zero time too
		return driver.Refuse("from", b.From.Format(time.RFC3339), "after 1970-01-01T00:00:00Z")
	case b.To.Before(b.From):
		return driver.Refuse("to", b.To.Format(time.RFC3339), "not before from, "+b.From.Format(time.RFC3339))
	case b.Only != "" && !slices.Contains(Onlys, b.Only):
		return driver.Refuse("only", driver.Quote(string(b.Only)), fmt.Sprintf("one of %q", Onlys))
	case b.Usual < 0 || b.Usual > MostRoom:
		return driver.Refuse("usual", b.Usual.String(), fmt.Sprintf("at most %v", MostRoom))
	case b.Room < 0 || b.Room > MostRoom || b.Room%time.Millisecond != 0:
		return driver.Refuse("room", b.Room.String(), fmt.Sprintf("1ms to %v in whole milliseconds, or 0 for the usual time of a run", MostRoom))
	}
	return nil
}

// A Plan has the ticks that a backfill would repeat now.
type Plan struct {
	From       time.Time     `json:"from"`
	To         time.Time     `json:"to"`
	Only       Only          `json:"only"`
	Ticks      []PlannedTick `json:"ticks"` // the oldest first
	Count      int           `json:"count"`
	RoomMs     int64         `json:"room_ms"`
	EstimateMs *int64        `json:"estimate_ms,omitempty"` // if each run takes the median of the journal; waits between the runs come on top. Nil: no run has ended
	MostMs     *int64        `json:"most_ms,omitempty"`     // if each takes as long as the 95th percentile
	Done       int           `json:"done"`                  // the number of ticks left out, because an earlier backfill has done their work
	Unknown    int           `json:"unknown"`               // the number of ticks in the interval whose verdicts are not known any more
	Begins     time.Time     `json:"begins"`                // the journal has the verdict of each later tick; of earlier ones it keeps those that went wrong
	Complete   bool          `json:"complete"`              // the journal goes back to the opening of the job
	Warnings   []string      `json:"warnings"`              // sentences without their periods
	Digest     string        `json:"digest"`                // of the ticks and the room: the request carries it
}

// A PlannedTick is a tick with its verdict of then.
type PlannedTick struct {
	Tick    time.Time        `json:"tick"`
	Verdict verify.TickState `json:"verdict"`
}

// numbers returns the ticks as the store has them.
func (p *Plan) numbers() []int64 {
	all := make([]int64, len(p.Ticks))
	for i := range p.Ticks {
		all[i] = p.Ticks[i].Tick.UnixMilli()
	}
	return all
}

// A planner makes the plan of one job from its records.
type planner struct {
	journal  *series.Journal
	state    *series.Series
	judge    *verify.Judge // by the lines
	kept     *verify.Judge // with the exceptions, for ticks before the lines; nil: there are none
	inForce  *spec.Schedule
	policies policy.Record
}

func newPlanner(j *series.Journal, s *series.Series) *planner {
	p := &planner{journal: j, state: s, judge: verify.NewJudge(*j, verify.Options{State: s}), inForce: why.InForce(j.Revisions)}
	if last := why.LastUsed(j.Revisions); last != nil {
		p.policies, _ = policy.Parse(last.Policies)
	}
	if len(j.Exceptions) > 0 {
		whole := *j
		whole.Lines = j.All()
		p.kept = verify.NewJudge(whole, verify.Options{State: s})
	}
	return p
}

// plan returns the plan of a backfill. It reports false if the interval has more ticks than it judges:
// the plan then has their number up to that bound, and nothing else.
func (p *planner) plan(b *Backfill) (plan Plan, ok bool) {
	report := p.judge.Report()
	plan = Plan{From: b.From.UTC(), To: b.To.UTC(), Only: cmp.Or(b.Only, NeverRan), Ticks: []PlannedTick{}, Begins: report.Begins, Complete: report.Complete, Warnings: []string{}}
	ticks := p.named(b)
	if plan.Count = len(ticks); plan.Count > mostExamined {
		return plan, false
	}
	done, old := p.done(), 0
	for _, ms := range ticks {
		state, ran, kept := p.verdict(ms)
		switch {
		case state == verify.TickNotKnown && !p.names(ms):
			continue // a tick of an earlier spec, which may not have been in force then
		case state == verify.TickNotKnown:
			plan.Unknown++
		}
		if !plan.Only.takes(state, ran) {
			continue
		}
		if done[ms] && plan.Only != AllTicks {
			plan.Done++
			continue
		}
		if kept {
			old++
		}
		plan.Ticks = append(plan.Ticks, PlannedTick{utc(ms), state})
	}
	plan.Count = len(plan.Ticks)
	p.pace(&plan, cmp.Or(b.Room, b.Usual))
	for _, text := range report.Faults {
		plan.Warnings = append(plan.Warnings, "not all is known: "+text)
	}
	if old > 0 && plan.Only != AllTicks {
		plan.Warnings = append(plan.Warnings, fmt.Sprintf("%s of the plan came before the lines that the journal still has: an earlier backfill may have done that work, see cronce audit", plural(old, "tick")))
	}
	stored := series.Backfill{Numbers: plan.numbers(), Room: plan.RoomMs}
	sum := sha256.Sum256([]byte(stored.String()))
	plan.Digest = hex.EncodeToString(sum[:8])
	return plan, true
}

// named returns the decided instants of an interval that any recorded spec names, in rising order, and at
// most one more than a plan judges.
func (p *planner) named(b *Backfill) (all []int64) {
	last := min(b.To.UnixMilli(), p.state.Mark)
	for i := range p.journal.Revisions {
		s := why.InForce(p.journal.Revisions[i : i+1])
		if s == nil {
			continue
		}
		n := 0
		for ms := s.NextMilli(b.From.UnixMilli() - 1); ms != 0 && ms <= last && n <= mostExamined; ms = s.NextMilli(ms) {
			all, n = append(all, ms), n+1
		}
		slices.Sort(all)
		all = slices.Compact(all)
	}
	return all
}

// names reports whether the spec in force has an instant as a tick.
func (p *planner) names(ms int64) bool { return p.inForce != nil && p.inForce.PrevMilli(ms) == ms }

// verdict returns the state of a tick. Ran reports that its function ran, and kept that only an exception
// has the tick.
func (p *planner) verdict(ms int64) (state verify.TickState, ran, kept bool) {
	state, line := p.judge.Tick(utc(ms))
	if state != verify.TickNotKnown || p.kept == nil {
		return state, line == nil, false
	}
	switch earlier, line := p.kept.Tick(utc(ms)); earlier {
	case verify.TickNotKnown, verify.NotATick, verify.TickRunning, verify.TickWaiting: // what runs is in the state
		return state, false, false
	default:
		return earlier, line == nil, true
	}
}

// takes reports whether a plan has a tick in a state. A tick that was skipped because its function found
// nothing to do ran.
func (o Only) takes(state verify.TickState, ran bool) bool {
	switch state {
	case verify.TickMissed, verify.TickLost, verify.TickPaused, verify.TickSuperseded, verify.TickPassedOver:
		return true
	case verify.TickSkipped:
		return !ran || o == AllTicks
	case verify.TickFailed:
		return o != NeverRan
	case verify.TickRan, verify.TickNotKnown:
		return o == AllTicks
	}
	return false
}

// done returns the ticks whose work a run of an earlier backfill has done, by the lines.
func (p *planner) done() map[int64]bool {
	done := map[int64]bool{}
	for i := range p.journal.Lines {
		l := &p.journal.Lines[i]
		if l.Verdict != series.VerdictWaiting || l.For == 0 {
			continue
		}
		if state, _ := p.judge.Tick(utc(l.To)); state == verify.TickRan || state == verify.TickSkipped {
			done[l.For] = true
		}
	}
	return done
}

// pace sets the room and the estimate of a plan by the runs in the journal.
func (p *planner) pace(plan *Plan, room time.Duration) {
	took := durations(Runs("", p.journal, p.state))
	half := int64(0)
	switch {
	case len(took) > 0:
		usual := time.Duration(percentile(took, usualShare)) * time.Millisecond
		half = percentile(took, 50)
		plan.EstimateMs, plan.MostMs = new(int64(plan.Count)*half), new(int64(plan.Count)*usual.Milliseconds())
		if room == 0 {
			room = max(leastRoom, (usual + leastRoom - 1).Truncate(leastRoom))
		}
	case room == 0 && p.policies.Timeout > 0:
		room = p.policies.Timeout
	case room == 0:
		room = usualRoom
		plan.Warnings = append(plan.Warnings, fmt.Sprintf("no run of the job has ended, so how long one takes is not known: the room is %v, name another if a run takes longer", room))
	}
	plan.RoomMs = room.Milliseconds()
	if p.policies.Overlap != policy.Allow && !p.fits(half+plan.RoomMs) {
		plan.Warnings = append(plan.Warnings, fmt.Sprintf("no two ticks of the spec are far enough apart for the run of a tick, %v, and the room, %v: nothing would start",
			time.Duration(half)*time.Millisecond, room))
	}
}

// fits reports whether two of the next ticks are further apart than ms.
func (p *planner) fits(ms int64) bool {
	at := p.state.Now
	for range mostIntervals {
		next := int64(0)
		if p.inForce != nil {
			next = p.inForce.NextMilli(at)
		}
		if next == 0 || next-at > ms {
			return true
		}
		at = next
	}
	return false
}
