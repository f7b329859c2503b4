package series

import (
	"fmt"
	"time"

	"github.com/cronce/cronce/lock"
)

// Renew moves the deadline of a run that is alive under this owner and fence.
func (s *State) Renew(us int64, ref *lock.RunRef) lock.Renewed {
	ms := us / 1000
	r := s.run(ref.Number)
	if r == nil || r.Owner != ref.Owner || r.Fence != ref.Fence || !alive(r, ms) {
		return lock.Renewed{}
	}
	r.Until = ms + ref.TTL.Milliseconds()
	return lock.Renewed{Alive: true, Left: time.Duration(r.Until-ms) * time.Millisecond, Replaced: r.Replaced}
}

// Release ends a run. It is accepted until another step has settled the run,
// even after its deadline; asked again it answers the same.
func (s *State) Release(us int64, e *lock.Ending, w Writer) lock.Ended {
	ms := us / 1000
	r := s.run(e.Number)
	if r == nil || r.Owner != e.Owner || r.Fence != e.Fence {
		return lock.Ended{}
	}
	switch r.State {
	case ended(e.How):
		return s.ended(ms)
	case lock.RunOpen:
	default:
		return lock.Ended{}
	}
	line := lock.Line{At: ms, Verdict: lock.VerdictEnded, From: r.Number, To: r.Number, Node: lock.NodeOf(r.Owner),
		Fence: r.Fence, Attempt: r.Attempt, Outcome: outcome(e), Ended: ms, Error: e.Error}
	r.State = ended(e.How)
	switch {
	case e.How == lock.NeverStarted:
		r.Attempt-- // it is no counted attempt
	case e.How == lock.Done && e.OK:
		s.Last = max(s.Last, r.Number)
	}
	w.Append(line)
	if r.State == lock.RunDone {
		s.prune(r.Number)
	}
	return s.ended(ms)
}

// ended tells who waits for this end.
func (s *State) ended(ms int64) lock.Ended {
	a := lock.Ended{Ended: true}
	for _, r := range s.Runs {
		if r.State == lock.RunWaiting && !s.Paused && s.over(&r, ms) {
			a.Waiting, a.Fence = r.Number, r.Fence
		}
	}
	return a
}

func ended(h lock.How) lock.RunState {
	switch h {
	case lock.NeverStarted:
		return lock.RunUnstarted
	case lock.GivenBack:
		return lock.RunGivenBack
	}
	return lock.RunDone
}

func outcome(e *lock.Ending) string {
	switch e.How {
	case lock.NeverStarted:
		return lock.OutcomeUnstarted
	case lock.GivenBack:
		return lock.OutcomeInterrupted
	}
	return e.Outcome
}

// Pause stops grants. It does nothing for a change that was made already.
func (s *State) Pause(change int64) {
	if s.Mark == 0 || change <= s.PauseChange {
		return
	}
	s.Paused, s.PauseChange = true, change
}

// Changed is the answer to a pause or a resume, r being the series after it.
func Changed(r lock.Series) lock.Series {
	if r.Err == nil && r.Mark == 0 {
		r.Err = fmt.Errorf("%w: %q", lock.ErrNotOpen, r.Key)
	}
	return r
}

// Resume ends a pause: runs that are over are settled, (mark, now] is covered
// as paused, and the mark never goes down.
func (s *State) Resume(us, change int64, w Writer) {
	if !s.Paused || change <= s.PauseChange {
		return
	}
	ms := us / 1000
	for i := range s.Runs {
		if s.over(&s.Runs[i], ms) {
			s.settle(&s.Runs[i], ms, w)
		}
	}
	s.prune(0)
	if ms > s.Mark {
		w.Append(lock.Line{At: ms, Verdict: lock.VerdictPaused, From: s.Mark, To: ms, Between: lock.VerdictPaused})
		s.Mark, s.By = ms, ""
	}
	s.Paused, s.PauseChange = false, change
}
