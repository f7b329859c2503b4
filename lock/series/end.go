package series

import (
	"time"

	"github.com/cronce/cronce/lock/driver"
)

// Renew moves the deadline of a run that is alive under this owner and fence.
func (s *State) Renew(us int64, ref *RunRef) RenewAnswer {
	ms := us / 1000
	if ref.Shards > 0 {
		return s.renewShard(ms, ref)
	}
	r := s.run(ref.Number)
	if r == nil || r.Owner != ref.Owner || r.Fence != ref.Fence || r.Shards > 0 || !alive(r, ms) {
		return RenewAnswer{}
	}
	r.Until = ms + ref.TTL.Milliseconds()
	return RenewAnswer{Alive: true, Left: time.Duration(r.Until-ms) * time.Millisecond, Replaced: r.Replaced, Cancelled: r.Cancelled}
}

// Release ends a run. It is accepted until another step has settled the run, even after its
// deadline. A repeated release gets the same answer. Each release of a cancelled run is final.
func (s *State) Release(us int64, e *EndRequest, w Writer) EndAnswer {
	ms := us / 1000
	if e.Shards > 0 {
		return s.releaseShard(us, e, w)
	}
	r := s.run(e.Number)
	if r == nil || r.Owner != e.Owner || r.Fence != e.Fence || r.Shards > 0 {
		return EndAnswer{}
	}
	after, result := e.stateAfter(), outcome(e)
	if r.Cancelled && after != RunDone {
		after, result = RunDone, OutcomeCancelled
	}
	switch r.State {
	case after:
		return s.releaseAnswer(ms)
	case RunOpen:
	default:
		return EndAnswer{}
	}
	line := Line{At: ms, Verdict: VerdictEnded, From: r.Number, To: r.Number, Node: driver.NodeOf(r.Owner),
		Fence: r.Fence, Attempt: r.Attempt, Outcome: result, Ended: ms, Error: e.Error}
	r.State = after
	switch {
	case r.State == RunUnstarted:
		r.Attempt-- // an unstarted attempt does not count
	case r.State == RunDone && e.OK && !r.Manual():
		s.Last = max(s.Last, r.Number)
	}
	w.Append(line)
	if r.State == RunDone {
		s.prune(r.Number)
		s.refill(us, w)
	}
	return s.releaseAnswer(ms)
}

// releaseAnswer returns the answer to a release, with the number that waits for this end. A run of a
// backfill that is over waits too, because no claim of another number is offered it.
func (s *State) releaseAnswer(ms int64) EndAnswer {
	a := EndAnswer{Ended: true}
	for _, r := range s.Runs {
		first := a.Waiting == 0 || !r.Manual() // a number of the spec goes first
		waits := r.State == RunWaiting || r.For != 0 && s.over(&r, ms)
		if waits && first && !s.barsAt(&r, ms) && s.alive(ms) == nil {
			a.Waiting, a.Fence = r.Number, r.Fence
		}
	}
	return a
}

// stateAfter returns the state of the run after its end.
func (e *EndRequest) stateAfter() RunState {
	if e.State == RunNone {
		return RunDone
	}
	return e.State
}

func outcome(e *EndRequest) string {
	switch e.State {
	case RunUnstarted:
		return OutcomeUnstarted
	case RunGivenBack:
		return OutcomeInterrupted
	}
	return e.Outcome
}
