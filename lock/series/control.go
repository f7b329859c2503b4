package series

import (
	"slices"
	"strconv"

	"github.com/cronce/cronce/lock/driver"
)

// An Op is a control change that was made. It is kept so that a repeated request gets the answer of
// the first one.
type Op struct {
	ID     string `json:"id"`
	Body   string `json:"body"` // see Control.Body
	Change int64  `json:"change"`
	Audit  int64  `json:"audit"`
}

// Control makes a control change. Audit is the number of its record, which the store appends; the
// record is nil if this step made no change.
func (s *State) Control(us int64, c *Control, audit int64, w Writer) (ControlAnswer, *AuditRecord) {
	before := s.Series(us, c.Key)
	a := s.control(us, c, audit, w)
	a.Latest, a.Series = s.Latest, s.Series(us, c.Key)
	if !a.Made {
		return a, nil
	}
	after := condition(a.Series.Paused, a.Series.Pause.Until)
	switch c.Action {
	case ActionCancel:
		after = "cancelled " + strconv.FormatInt(c.Number, 10)
	case ActionSkip:
		after = "skip " + strconv.FormatInt(c.Number, 10)
	case ActionRun:
		after = c.scoped("run " + strconv.FormatInt(s.Manual, 10))
	case ActionBackfill:
		after = c.scoped("backfill of " + strconv.Itoa(len(c.Numbers)))
	}
	return a, &AuditRecord{Number: a.Audit, At: us, Who: c.Who, Action: c.Action, Key: c.Key, Change: a.Change,
		Before: condition(before.PausedAt(us/1000), before.Pause.Until), After: after, Reason: c.Reason, Op: c.Op}
}

func (s *State) control(us int64, c *Control, audit int64, w Writer) ControlAnswer {
	ms := us / 1000
	if s.Mark == 0 {
		return refused(RefusedNotOpen)
	}
	body := c.Body()
	if i := slices.IndexFunc(s.Ops, func(o Op) bool { return o.ID == c.Op }); i >= 0 {
		if s.Ops[i].Body != body {
			return refused(RefusedOp)
		}
		return ControlAnswer{Change: s.Ops[i].Change, Audit: s.Ops[i].Audit}
	}
	s.lapse(ms, w)
	switch {
	case c.Seen != AnySeen && c.Seen != s.Change:
		return refused(RefusedChanged)
	case c.Action == ActionResume && !s.Paused:
		return refused(RefusedNotPaused)
	case c.Until != 0 && c.Until <= ms:
		return refused(RefusedPast)
	case c.Action == ActionRetire && (s.held(ms) || s.requested(ms) > 0):
		return refused(RefusedAlive)
	case c.Action == ActionSkip && c.Number != 0 && c.Number <= s.Mark:
		return refused(RefusedOver)
	}
	line := Line{At: ms, Verdict: VerdictControl, Reason: string(c.Action), Node: c.Who, Audit: audit}
	if c.Action == ActionRun {
		if why := s.mayRequest(ms, c); why != "" {
			return refused(why)
		}
		if err := driver.CheckFence(s.Fence+1, us); err != nil {
			return ControlAnswer{Err: driver.NotDone(err)}
		}
		line.Fence = s.nextFence(us, 0)
	}
	if c.Action == ActionBackfill {
		if why := s.mayBackfill(c); why != "" {
			return refused(why)
		}
	}
	if c.Action == ActionCancel {
		why, r := s.cancel(ms, c, w)
		if why != "" {
			return refused(why)
		}
		line.Fence, line.Attempt = r.Fence, r.Attempt
	}
	if !s.Paused && s.Mark < c.Due && c.Due <= ms {
		s.outage(ms, c, w)
	}
	switch c.Action {
	case ActionCancel:
	case ActionSkip:
		s.Skip = c.Number
	case ActionRun:
	case ActionBackfill:
		s.endBackfill(ms, w)
		s.Backfill = Backfill{Numbers: slices.Clone(c.Numbers), Room: c.Room}
	case ActionResume:
		s.resume(ms, w)
	case ActionRetire:
		s.endBackfill(ms, w)
		s.clear(ms, w)
		s.pause(ms, driver.MaxNumber, c)
	default:
		s.endBackfill(ms, w)
		s.pause(ms, c.Until, c)
	}
	s.Change++
	s.Latest = Change{Action: c.Action, Op: c.Op, Who: c.Who, Reason: c.Reason, At: ms}
	if len(s.Ops) == KeptOps {
		s.Ops = s.Ops[1:]
	}
	s.Ops = append(slices.Clip(s.Ops), Op{ID: c.Op, Body: body, Change: s.Change, Audit: audit})
	line.From, line.To, line.Change = s.Mark, s.Mark, s.Change
	w.Append(line)
	a := ControlAnswer{Made: true, Change: s.Change, Audit: audit}
	if c.Action == ActionRun {
		s.request(ms, c, line.Fence, w)
		a.Number = s.Manual
	}
	if s.refill(us, w) {
		a.Number = s.Manual
	}
	return a
}

func refused(why Refusal) ControlAnswer {
	return ControlAnswer{Refusal: why}
}

// cancel marks a run as cancelled. The holder of an alive run ends it; all other runs are settled.
func (s *State) cancel(ms int64, c *Control, w Writer) (Refusal, *Run) {
	r := s.run(c.Number)
	switch {
	case r == nil || r.State >= RunDone:
		return RefusedOver, nil
	case c.Fence != 0 && r.Fence != c.Fence:
		return RefusedFence, nil
	case r.Cancelled:
		return RefusedCancelled, nil
	}
	r.Cancelled = true
	switch {
	case s.sheetOf(r):
		s.clearSheet(ms, r, w)
	case !alive(r, ms):
		s.settle(r, ms, w)
	}
	return "", r
}

// outage gives the numbers that were due before a pause, and that no node has decided, the verdict
// missed. It first settles runs that are over, as a claim does.
func (s *State) outage(ms int64, c *Control, w Writer) {
	s.clear(ms, w)
	w.Append(Line{At: ms, Verdict: VerdictMissed, From: s.Mark, To: c.Due, Between: VerdictMissed, Reason: ReasonMisfire, Revision: c.Revision})
	s.Mark, s.By = c.Due, ""
}

func (s *State) pause(ms, until int64, c *Control) {
	s.Paused = true
	s.Pause = Pause{Op: c.Op, Who: c.Who, Reason: c.Reason, Since: ms, Until: until}
}

// resume ends a pause: runs that are over are settled, (mark, now] is recorded as paused, and the
// mark never goes down.
func (s *State) resume(ms int64, w Writer) {
	s.clear(ms, w)
	s.cover(ms, ms, w)
	s.Paused, s.Pause = false, Pause{}
}

// clear settles the runs that are over, but no manual run that may still start. The sheet goes first, because numbers may wait for
// its run.
func (s *State) clear(ms int64, w Writer) {
	if r := s.sharded(); r != nil {
		s.clearSheet(ms, r, w)
	}
	for i := range s.Runs {
		if r := &s.Runs[i]; !s.sheetOf(r) && s.over(r, ms) && !s.startable(r, ms) {
			s.settle(r, ms, w)
		}
	}
	s.prune(0)
}

// revive ends the retirement of a series that is opened again: numbers that were due meanwhile are
// recorded as paused, and later numbers are judged as if there had been no retirement.
func (s *State) revive(ms int64, w Writer) {
	if s.Paused && s.Pause.Retired() {
		s.Pause.Until = ms - 1
		s.lapse(ms, w)
	}
}

// lapse ends a pause whose end has passed: (mark, until] is recorded as paused, and later numbers
// are judged as if there had been no pause. Each step calls lapse before it judges a number, so no
// node has to be alive at that instant.
func (s *State) lapse(ms int64, w Writer) {
	if !s.Paused || s.Pause.Covers(ms) {
		return
	}
	s.cover(ms, s.Pause.Until, w)
	s.Paused, s.Pause = false, Pause{}
	w.Append(Line{At: ms, Verdict: VerdictControl, From: s.Mark, To: s.Mark, Reason: string(ActionLapse), Change: s.Change})
}

// cover gives the numbers after the mark, up to last, the verdict paused.
func (s *State) cover(ms, last int64, w Writer) {
	if last <= s.Mark {
		return
	}
	w.Append(Line{At: ms, Verdict: VerdictPaused, From: s.Mark, To: last, Between: VerdictPaused})
	s.Mark, s.By = last, ""
}
