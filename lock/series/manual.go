package series

// A manual run is requested by an operator: it waits until a node takes it over with its fence. Its
// number is no number of any spec, and never moves the mark (invariant I9).

// second is the unit of the numbers of specs, in ms: a manual number has a part of a second.
const second = 1000

// pending reports whether a manual run has not started yet.
func (r *Run) pending() bool {
	return r.Manual() && r.Attempt == 0 && (r.State == RunWaiting || r.State == RunUnstarted)
}

// manual reports whether n is the number of a manual run.
func (s *State) manual(n int64) bool {
	r := s.run(n)
	return r != nil && r.Manual()
}

// bars reports whether the pause keeps r from being granted: a manual run that was requested during
// the pause may be.
func (s *State) bars(r *Run) bool {
	return s.Paused && !(r.Manual() && r.Number >= s.Pause.Since)
}

// barsAt is bars at ms. A pause whose end has passed bars nothing: the next claim records the numbers
// that it covered.
func (s *State) barsAt(r *Run, ms int64) bool { return s.bars(r) && s.Pause.Covers(ms) }

// startable reports whether r is a manual run that may still start.
func (s *State) startable(r *Run, ms int64) bool {
	return r.pending() && !r.Cancelled && !s.bars(r) && ms <= r.StartBy
}

// requested returns how many manual runs may still start. It leaves out the runs of a backfill.
func (s *State) requested(ms int64) (n int) {
	for i := range s.Runs {
		if r := &s.Runs[i]; r.For == 0 && s.startable(r, ms) {
			n++
		}
	}
	return n
}

// mayRequest returns why the manual run of c is refused, or "".
func (s *State) mayRequest(ms int64, c *Control) Refusal {
	switch {
	case s.Paused && (!c.Anyway || s.Pause.Retired()):
		return RefusedPaused
	case c.Overlap == OverlapSkip && (s.alive(ms) != nil || s.requested(ms) > 0):
		return RefusedAlive
	case s.requested(ms) >= MaxRequested:
		return RefusedFull
	}
	return ""
}

// request records a manual run, which waits with the fence.
func (s *State) request(ms int64, c *Control, fence int64, w Writer) {
	if h := s.alive(ms); h != nil && c.Overlap == OverlapReplace && !h.Manual() {
		h.Replaced = true
	}
	s.prune(0)
	s.waits(ms, Run{Fence: fence, StartBy: c.Until}, w)
}

// waits records a manual run, with the next manual number.
func (s *State) waits(ms int64, r Run, w Writer) {
	s.Manual = max(ms, s.Manual+1)
	for s.Manual%second == 0 || s.run(s.Manual) != nil {
		s.Manual++
	}
	r.Number, r.State, r.Granted = s.Manual, RunWaiting, ms
	s.Runs = append(s.Runs, r)
	w.Append(Line{At: ms, Verdict: VerdictWaiting, From: r.Number, To: r.Number, Fence: r.Fence, For: r.For})
}
