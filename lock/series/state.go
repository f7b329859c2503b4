package series

import (
	"cmp"
	"slices"
	"time"
)

// Tolerance is how early a number may be granted; the grant carries the wait.
const Tolerance = 20 // milliseconds

// A State is the stored state of one series. The zero State is a series that is not open. It is not
// safe for concurrent use.
type State struct {
	Mark   int64 // the highest decided number; 0: not open
	By     string
	Fence  int64
	Last   int64
	Change int64 // how many control changes were made
	Latest Change
	Paused bool
	Pause  Pause // zero unless Paused
	Ops    []Op  // the latest, oldest first
	Manual int64 // the number of the latest manual run; 0: there was none
	Skip   int64 // the number that an operator skips; it may be below the mark

	Backfill Backfill

	// The latest claim that moved the mark without a grant: its owner gets the same answer when it
	// repeats the claim.
	SpentBy    string
	SpentAs    Kind
	SpentFence int64

	Sheet Sheet // of the run that is sharded; without one, none

	Runs []Run // in the order in which they were decided: runs that are not settled, and runs that were settled since the last grant
}

// A Writer takes the journal lines of a step, in order.
type Writer interface{ Append(Line) }

// Open creates the mark if there is none: the later of the store's now, or an earlier begin in the
// request, and the highest mark that the node has seen. It ends a retirement.
func (s *State) Open(us int64, o *OpenRequest, w Writer) {
	if s.Mark != 0 {
		s.revive(us/1000, w)
		return
	}
	s.Mark = max(min(us/1000, cmp.Or(o.Begin, us/1000)), o.Mark)
	w.Append(Line{At: us / 1000, Verdict: VerdictOpened, From: s.Mark, To: s.Mark, Node: o.Node, Revision: o.Revision})
}

// Series returns the state for a reader. Settled runs are left out.
func (s *State) Series(us int64, key string) Series {
	r := Series{Key: key, Now: us / 1000, Mark: s.Mark, Fence: s.Fence, Last: s.Last, Change: s.Change, Paused: s.Paused, Pause: s.Pause, Left: len(s.Backfill.Numbers)}
	if s.Skip > s.Mark {
		r.Skip = s.Skip
	}
	for _, run := range s.Runs {
		if run.State < RunDone {
			r.Runs = append(r.Runs, run)
			if run.Shards > 0 {
				r.Sheet = s.Sheet.clone()
			}
		}
	}
	slices.SortFunc(r.Runs, func(a, b Run) int { return cmp.Compare(a.Number, b.Number) })
	return r
}

// run returns the run of number n, or nil.
func (s *State) run(n int64) *Run {
	for i := range s.Runs {
		if s.Runs[i].Number == n {
			return &s.Runs[i]
		}
	}
	return nil
}

// alive returns a run that is alive, or nil.
func (s *State) alive(ms int64) *Run {
	for i := range s.Runs {
		if s.lives(&s.Runs[i], ms) {
			return &s.Runs[i]
		}
	}
	return nil
}

func alive(r *Run, ms int64) bool { return r.State == RunOpen && ms < r.Until }

// over reports whether r may be taken over or settled. A waiting number is over when no run that it
// waits for is alive; a manual run that has not started, at any time.
func (s *State) over(r *Run, ms int64) bool {
	switch r.State {
	case RunOpen:
		return !s.lives(r, ms)
	case RunGivenBack, RunUnstarted:
		return true
	case RunWaiting:
		return r.Manual() || s.alive(ms) == nil
	}
	return false
}

// repeats returns a run that is over and goes before w, a number that waits, because it may run again, or nil. Without it such a
// run would wait for ever while numbers wait all the time.
func (s *State) repeats(w *Run, c *Claim, ms int64) *Run {
	if w.State != RunWaiting || w.Manual() {
		return nil
	}
	for i := range s.Runs {
		r := &s.Runs[i]
		if r.State != RunWaiting && !r.pending() && r.For == 0 && !s.sheetOf(r) && s.over(r, ms) && !s.bars(r) && mayRun(r, c, ms) {
			return r
		}
	}
	return nil
}

// nextFence keeps invariant I2: the fence is above the last fence, above the fence that the caller
// has seen, and not below the store's clock, so that it grows even if the store has forgotten the
// last one.
func (s *State) nextFence(us, seen int64) int64 {
	s.Fence = max(s.Fence+1, us, seen+1)
	return s.Fence
}

// prune deletes settled runs, but not the run of the number to keep, which must still answer a
// repeated release. The sheet goes with the last sharded run.
func (s *State) prune(keep int64) {
	kept, sharded := s.Runs[:0], false
	for _, r := range s.Runs {
		if r.State < RunDone || r.Number == keep {
			kept = append(kept, r)
			sharded = sharded || r.Shards > 0
		}
	}
	s.Runs = kept
	if !sharded {
		s.Sheet = Sheet{}
	}
}

// left returns how long a run stays alive; of a sharded one, which a takeover does not end, 0.
func left(r *Run, ms int64) time.Duration {
	if r.Shards > 0 || !alive(r, ms) {
		return 0
	}
	return time.Duration(r.Until-ms) * time.Millisecond
}
