package series

import (
	"time"

	"github.com/cronce/cronce/lock/driver"
)

// Claim decides one claim. The checks are in the order of their precedence: the first match is the
// answer.
func (s *State) Claim(us int64, c *Claim, w Writer) Answer {
	ms := us / 1000
	a := s.decide(us, c, w)
	a.Mark, a.Last, a.Now = s.Mark, s.Last, ms
	return a
}

func (s *State) decide(us int64, c *Claim, w Writer) Answer {
	ms := us / 1000
	if s.Mark == 0 {
		return Answer{Kind: KindUnknown}
	}
	if err := driver.CheckFence(max(s.Fence, c.Fence)+c.fences(), us); err != nil {
		return Answer{Kind: KindUnknown, Err: driver.NotDone(err)}
	}
	if a, ok := s.repeated(ms, c); ok {
		return a
	}
	switch {
	case ms > c.Latest:
		return Answer{Kind: KindExpired}
	case c.Number > ms+Tolerance && !s.manual(c.Number):
		return early(ms, c)
	case s.Mark > ms+Tolerance:
		return Answer{Kind: KindAhead}
	}
	s.lapse(ms, w)
	a := s.judge(us, c, w)
	s.refill(us, w)
	return a
}

// judge answers a claim that the store may grant now.
func (s *State) judge(us int64, c *Claim, w Writer) Answer {
	ms := us / 1000
	switch {
	case c.From != 0:
		return s.takeOver(us, c, w)
	case c.Number <= s.Mark || s.manual(c.Number):
		if r := s.run(c.Number); c.Sharding != nil && s.sheetOf(r) {
			return s.share(us, c, r, w)
		}
		return s.passed(ms, c.Number)
	case s.Mark < c.After:
		return Answer{Kind: KindGap}
	}
	orphan, settled, sum := s.sweep(ms, c, w)
	if orphan != nil {
		a := about(KindOrphan, orphan, ms)
		a.Settled, a.Sum = settled, sum
		return s.describe(a, ms, c, orphan)
	}
	a := s.fresh(us, c, w)
	a.Settled, a.Sum = append(settled, a.Settled...), sum
	return a
}

// repeated answers a repeated claim of the same owner: with the first answer, and never with a second
// grant.
func (s *State) repeated(ms int64, c *Claim) (Answer, bool) {
	if s.SpentBy == c.Owner && s.Mark == c.Number {
		return s.spent(ms), true
	}
	r := s.run(c.Number)
	switch {
	case r != nil && r.Shards > 0:
		return s.repeatedShards(ms, c, r)
	case r == nil || r.Owner != c.Owner || r.State == RunWaiting:
		return Answer{}, false
	}
	if !alive(r, ms) || r.Cancelled { // invariant I12: a cancelled run does not start
		return about(KindOver, r, ms), true
	}
	return granted(r, ms), true
}

// spent repeats the answer of the latest spending. The answer about a tick that waits names the run
// that it waits for.
func (s *State) spent(ms int64) Answer {
	a := Answer{Kind: s.SpentAs}
	if h := s.alive(ms); h != nil && a.Kind == KindWaiting {
		a = about(a.Kind, h, ms)
	}
	a.Number, a.Fence = s.Mark, s.SpentFence
	return a
}

// takeOver judges the run itself: it does not consult the mark. It first settles the shards of another number that may not
// start any more, so that the run waits for those alone that do.
func (s *State) takeOver(us int64, c *Claim, w Writer) Answer {
	ms := us / 1000
	r := s.run(c.Number)
	switch other := s.sharded(); {
	case r == nil || r.Fence != c.From || r.State >= RunDone:
		return s.passed(ms, c.Number)
	case other == nil:
		return s.takeOverRun(us, c, r, w)
	case other != r:
		sum := s.sweepSheet(ms, c, other, w)
		a := s.takeOverRun(us, c, r, w)
		a.Sum = sum
		return a
	case c.Sharding == nil:
		return s.passed(ms, c.Number)
	}
	return s.share(us, c, r, w)
}

func (s *State) takeOverRun(us int64, c *Claim, r *Run, w Writer) Answer {
	ms := us / 1000
	h := s.blocker(r, c, ms)
	first := s.repeats(r, c, ms)
	switch {
	case !s.over(r, ms) && r.State != RunWaiting:
		return s.passed(ms, c.Number)
	case s.over(r, ms) && (s.bars(r) || !mayRun(r, c, ms)):
		settled := s.settle(r, ms, w)
		a := s.passed(ms, c.Number)
		a.Settled = []Settled{settled}
		return a
	case h != nil:
		return about(KindHeld, h, ms)
	case first != nil:
		return about(KindOrphan, first, ms)
	case r.yields(c, ms):
		return Answer{Kind: KindEarly, Wait: time.Duration(c.Next-ms) * time.Millisecond}
	}
	return s.grant(us, c, r, w)
}

// blocker returns an alive run beside r that must end before r can be granted, or nil.
func (s *State) blocker(r *Run, c *Claim, ms int64) *Run {
	if c.Overlap == OverlapAllow && (r.Manual() || r.State != RunWaiting) {
		return nil
	}
	if h := s.alive(ms); h != nil && h.Number != r.Number {
		return h
	}
	return nil
}

// sweep settles runs that are over and may not run again, and returns a run that may. A run that
// may run again, but only after the end of an alive run, is left as it is: the claim is judged by
// the alive run. So are a sharded run while one of its shards runs, whether others may start or not, a manual
// run that has not started, and a run of a backfill, because a number of the spec goes first. The sheet is swept
// before all runs: once no shard of the sharded run may start any more, no waiting number waits for that run,
// wherever the number stands.
func (s *State) sweep(ms int64, c *Claim, w Writer) (orphan *Run, settled []Settled, sum *Sum) {
	if r := s.sharded(); r != nil {
		sum = s.sweepSheet(ms, c, r, w)
	}
	for i := range s.Runs {
		r := &s.Runs[i]
		switch {
		case s.sheetOf(r):
			if !s.leased(ms) && s.startableShards(ms, c, r) > 0 {
				return r, settled, nil
			}
		case !s.over(r, ms):
		case s.bars(r) || !mayRun(r, c, ms):
			settled = append(settled, s.settle(r, ms, w))
		case r.pending(), r.For != 0:
		case s.blocker(r, c, ms) == nil:
			return r, settled, sum
		}
	}
	return nil, settled, sum
}

// fresh decides a number above the mark. Every result but Held and Early moves the mark.
func (s *State) fresh(us int64, c *Claim, w Writer) Answer {
	ms := us / 1000
	former := c.Late == ReasonRespecified // the spec of the number is no longer in force
	late := former || ms-c.Number > c.Deadline.Milliseconds()
	h := s.alive(ms)
	free := !s.Paused && (h == nil || c.Overlap == OverlapAllow)
	skip := c.Number == s.Skip
	switch {
	case c.Number > ms && (former || skip || !free): // the obstacle may be gone when the number is due
		return early(ms, c)
	case s.Paused:
		return s.decideNotRun(us, c, KindPaused, nil, w)
	case skip:
		return s.decideNotRun(us, c, KindOperator, nil, w)
	case late:
		return s.decideNotRun(us, c, KindMissed, nil, w)
	case free:
		return s.grant(us, c, nil, w)
	case c.Backlog:
		return about(KindHeld, h, ms)
	case c.Overlap != OverlapSkip:
		return s.wait(us, c, h, w)
	case h.Granted > c.Number, h.For != 0: // the number was due before that run, or goes before a backfill
		return about(KindHeld, h, ms)
	}
	return s.decideNotRun(us, c, KindSkipped, h, w)
}

// decideNotRun moves the mark to the number without a grant. A skipped number is skipped because of h.
func (s *State) decideNotRun(us int64, c *Claim, k Kind, h *Run, w Writer) Answer {
	line := move(s, us/1000, c)
	switch k {
	case KindPaused:
		line.Verdict, line.Between = VerdictPaused, VerdictPaused
		if c.Late == ReasonRespecified {
			line.Reason = c.Late
		}
	case KindMissed:
		line.Verdict, line.Reason = VerdictMissed, reasonOr(c.Late, ReasonDeadline)
	case KindSkipped:
		line.Verdict, line.Reason = VerdictSkipped, ReasonOverlap
		line.Blocker, line.BlockerFence = h.Number, h.Fence
	case KindOperator:
		line.Verdict, line.Reason = VerdictSkipped, ReasonOperator
	}
	w.Append(line)
	s.SpentBy, s.SpentAs, s.SpentFence = c.Owner, k, 0
	return Answer{Kind: k, Number: c.Number, From: line.From}
}

// wait records the number to run after h; an older waiting number is superseded.
func (s *State) wait(us int64, c *Claim, h *Run, w Writer) Answer {
	ms := us / 1000
	a := about(KindWaiting, h, ms)
	a.From = s.Mark
	blocker, blockerFence := h.Number, h.Fence      // pruning moves h
	if c.Overlap == OverlapReplace && !h.Manual() { // an operator requested that run
		h.Replaced = true
	}
	a.Settled = s.supersede(ms, w)
	line := move(s, ms, c)
	fence := s.nextFence(us, c.Fence)
	line.Verdict, line.Fence = VerdictWaiting, fence
	line.Blocker, line.BlockerFence = blocker, blockerFence
	w.Append(line)
	s.SpentBy, s.SpentAs, s.SpentFence = c.Owner, KindWaiting, fence
	s.Runs = append(s.Runs, Run{Number: c.Number, State: RunWaiting, Owner: c.Owner, Fence: fence, Granted: ms})
	a.Number, a.Fence = c.Number, fence
	return a
}

func (s *State) supersede(ms int64, w Writer) (settled []Settled) {
	for i := range s.Runs {
		if r := &s.Runs[i]; r.State == RunWaiting && !r.Manual() {
			r.State = RunLost
			w.Append(Line{At: ms, Verdict: VerdictSuperseded, From: r.Number, To: r.Number, Node: driver.NodeOf(r.Owner), Fence: r.Fence})
			settled = append(settled, Settled{Number: r.Number, Fence: r.Fence, Verdict: VerdictSuperseded})
		}
	}
	s.prune(0)
	return settled
}

// grant grants the number to the owner: the first attempt of a new run (r is nil), or the next
// attempt of r.
func (s *State) grant(us int64, c *Claim, r *Run, w Writer) Answer {
	ms := us / 1000
	from := int64(0)
	if r == nil {
		from = s.Mark
		line := move(s, ms, c)
		s.prune(0)
		s.Runs = append(s.Runs, Run{Number: c.Number})
		r = &s.Runs[len(s.Runs)-1]
		s.open(us, c, r, &line)
		w.Append(line)
	} else {
		line := Line{At: ms, From: c.Number, To: c.Number, Node: driver.NodeOf(c.Owner), Revision: c.Revision}
		if c.opens(r) { // the sheet before it has a settled run
			s.prune(0)
			r = s.run(c.Number)
		}
		s.open(us, c, r, &line)
		w.Append(line)
	}
	a := granted(r, ms)
	a.From = from
	if r.Shards > 0 {
		a.Shards = s.grantShards(us, c, r)
		a = s.describe(a, ms, c, r)
	}
	return a
}

// fences returns how many fences a grant may take: one for the run, and one for each shard.
func (c *Claim) fences() int64 {
	if c.Sharding != nil {
		return 1 + MaxShards
	}
	return 1
}

// opens reports whether a grant of r to the claim opens a sheet: a number is divided by its first attempt.
func (c *Claim) opens(r *Run) bool { return c.Sharding != nil && r.Attempt == 0 }

func (s *State) open(us int64, c *Claim, r *Run, line *Line) {
	opens := c.opens(r)
	if r.Attempt == 0 {
		r.Granted = us / 1000
	}
	r.Owner, r.Fence, r.State = c.Owner, s.nextFence(us, c.Fence), RunOpen
	r.Attempt++
	r.Until = us/1000 + c.TTL.Milliseconds()
	if opens {
		s.openSheet(c, r)
	}
	line.Verdict, line.Fence, line.Attempt, line.Shards = VerdictRan, r.Fence, r.Attempt, r.Shards
}

// move raises the mark, and returns the line with the verdict of every number that the mark passes
// (invariant I4).
func move(s *State, ms int64, c *Claim) Line {
	line := Line{At: ms, From: s.Mark, To: c.Number, Node: driver.NodeOf(c.Owner), Revision: c.Revision}
	if c.Between > 0 {
		line.Between = VerdictMissed
	}
	s.Mark, s.By = c.Number, line.Node
	return line
}

func (s *State) passed(ms, n int64) Answer {
	if r := s.run(n); r != nil {
		return about(KindPassed, r, ms)
	}
	a := Answer{Kind: KindPassed, Number: n}
	if n == s.Mark {
		a.Node = s.By
	}
	return a
}

// mayRun reports whether a run that is over may have another attempt. The deadline binds the first
// attempt only. A replaced run may not: its node lets the lease end for the run that replaces it,
// which is no death. A cancelled run may not either (invariant I12).
func mayRun(r *Run, c *Claim, ms int64) bool {
	late := time.Duration(ms-r.Number) * time.Millisecond
	switch {
	case r.Replaced, r.Cancelled:
		return false
	case r.Attempt == 0 && r.Manual():
		return ms <= r.StartBy
	case r.Attempt == 0:
		return late <= c.Deadline
	case r.State == RunOpen && !c.Rerun:
		return false
	}
	return r.Attempt < c.Attempts && (c.Window == 0 || late <= c.Window)
}

// settle gives a run that is over its final verdict. A run that never started is not lost; in a
// pause its verdict is paused, because the pause keeps it from starting.
func (s *State) settle(r *Run, ms int64, w Writer) Settled {
	v, reason := s.lastVerdict(r, r.Attempt)
	r.State = RunLost
	w.Append(Line{At: ms, Verdict: v, From: r.Number, To: r.Number, Reason: reason, Node: driver.NodeOf(r.Owner), Fence: r.Fence, Attempt: r.Attempt})
	return Settled{Number: r.Number, Fence: r.Fence, Attempt: r.Attempt, Verdict: v}
}

// lastVerdict returns the final verdict of a run that is over, or of a shard of it, with its attempt.
func (s *State) lastVerdict(r *Run, attempt int) (Verdict, string) {
	switch {
	case attempt == 0 && r.Cancelled:
		return VerdictSuperseded, ReasonCancelled
	case r.Cancelled:
		return VerdictLost, ReasonCancelled
	case attempt == 0 && r.Replaced:
		return VerdictSuperseded, ""
	case attempt == 0 && s.bars(r):
		return VerdictPaused, ""
	case attempt == 0:
		return VerdictMissed, ReasonDeadline
	}
	return VerdictLost, ReasonLost
}

func early(ms int64, c *Claim) Answer {
	return Answer{Kind: KindEarly, Wait: time.Duration(c.Number-ms) * time.Millisecond}
}

func about(k Kind, r *Run, ms int64) Answer {
	return Answer{Kind: k, Number: r.Number, Node: driver.NodeOf(r.Owner), Fence: r.Fence, Attempt: r.Attempt, State: r.State, For: r.For, Left: left(r, ms), Of: r.Shards}
}

func granted(r *Run, ms int64) Answer {
	a := about(KindGranted, r, ms)
	a.Wait = r.wait(ms)
	return a
}

// wait returns how long the node that was granted r waits before it starts.
func (r *Run) wait(ms int64) time.Duration {
	if r.Manual() {
		return 0
	}
	return time.Duration(max(0, r.Number-ms)) * time.Millisecond
}

func reasonOr(reason, fallback string) string {
	if reason == "" {
		return fallback
	}
	return reason
}
