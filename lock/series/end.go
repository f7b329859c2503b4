package series

import (
	"time"

	"github.com/cronce/cronce/lock/driver"
)

// Renew moves the deadline of a run that is alive under this owner and fence.
func (s *State) Renew(us int64, ref *driver.RunRef) driver.RenewAnswer {
	ms := us / 1000
	r := s.run(ref.Number)
	if r == nil || r.Owner != ref.Owner || r.Fence != ref.Fence || !alive(r, ms) {
		return driver.RenewAnswer{}
	}
	r.Until = ms + ref.TTL.Milliseconds()
	return driver.RenewAnswer{Alive: true, Left: time.Duration(r.Until-ms) * time.Millisecond, Replaced: r.Replaced}
}

// Release ends a run. It is accepted until another step has settled the run,
// even after its deadline; asked again it answers the same.
func (s *State) Release(us int64, e *driver.EndRequest, w Writer) driver.EndAnswer {
	ms := us / 1000
	r := s.run(e.Number)
	if r == nil || r.Owner != e.Owner || r.Fence != e.Fence {
		return driver.EndAnswer{}
	}
	switch r.State {
	case ended(e.Kind):
		return s.ended(ms)
	case driver.RunOpen:
	default:
		return driver.EndAnswer{}
	}
	line := driver.Line{At: ms, Verdict: driver.VerdictEnded, From: r.Number, To: r.Number, Node: driver.NodeOf(r.Owner),
		Fence: r.Fence, Attempt: r.Attempt, Outcome: outcome(e), Ended: ms, Error: e.Error}
	r.State = ended(e.Kind)
	switch {
	case e.Kind == driver.EndUnstarted:
		r.Attempt-- // it is no counted attempt
	case e.Kind == driver.EndDone && e.OK:
		s.Last = max(s.Last, r.Number)
	}
	w.Append(line)
	if r.State == driver.RunDone {
		s.prune(r.Number)
	}
	return s.ended(ms)
}

// ended returns the number that waits for this end.
func (s *State) ended(ms int64) driver.EndAnswer {
	a := driver.EndAnswer{Ended: true}
	for _, r := range s.Runs {
		if r.State == driver.RunWaiting && !s.paused(ms) && s.over(&r, ms) {
			a.Waiting, a.Fence = r.Number, r.Fence
		}
	}
	return a
}

func ended(h driver.EndKind) driver.RunState {
	switch h {
	case driver.EndUnstarted:
		return driver.RunUnstarted
	case driver.EndGivenBack:
		return driver.RunGivenBack
	}
	return driver.RunDone
}

func outcome(e *driver.EndRequest) string {
	switch e.Kind {
	case driver.EndUnstarted:
		return driver.OutcomeUnstarted
	case driver.EndGivenBack:
		return driver.OutcomeInterrupted
	}
	return e.Outcome
}
