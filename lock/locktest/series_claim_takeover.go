package locktest

import (
	"time"

	"github.com/cronce/cronce/lock/series"
)

// dead begins a run of due(1) and lets its lease end.
func (s *fixture) dead() series.RunRef {
	s.Helper()
	s.open()
	c := s.next(1)
	c.TTL = short
	_, run := s.granted(c)
	s.env.Wait(short + slack)
	return run
}

// after returns the claim of a fresh owner that takes a run over.
func (s *fixture) after(run series.RunRef) series.Claim {
	c := s.ask(run.Number, s.mark)
	c.From, c.Rerun = run.Fence, true
	return c
}

// settles sends c, which must be passed and must settle the run with v.
func (s *fixture) settles(c series.Claim, run series.RunRef, v series.Verdict) {
	s.Helper()
	a := s.claimed(c, series.KindPassed)
	s.settled(a, run, v)
	equal(s, "the runs left", len(s.look().Runs), 0)
	s.last(v, run.Number, run.Number)
}

func (s *fixture) settled(a series.Answer, run series.RunRef, v series.Verdict) {
	s.Helper()
	if len(a.Settled) != 1 || a.Settled[0].Number != run.Number || a.Settled[0].Verdict != v || a.Settled[0].Fence != run.Fence {
		s.Fatalf("settled: %+v, want %d as %q", a.Settled, run.Number, v)
	}
}

func rowTakeoverFence(s *fixture) {
	run := s.dead()
	for _, fence := range []int64{1, run.Fence - 1, run.Fence + 1} {
		c := s.after(run)
		c.From = fence
		s.unchanged(func() { s.claimed(c, series.KindPassed) })
	}
	c := s.after(run)
	c.Number = s.due(2) // this number has no run
	s.unchanged(func() { s.claimed(c, series.KindPassed) })
}

func rowTakeoverAlive(s *fixture) {
	s.open()
	_, run := s.granted(s.next(1))
	s.unchanged(func() {
		a := s.claimed(s.after(run), series.KindPassed)
		equal(s, "the state", a.State, series.RunOpen)
		s.within("left", a.Left, long)
	})
	other := s.ask(s.due(2), s.due(1))
	other.Overlap = series.OverlapAllow
	s.granted(other)
	s.unchanged(func() { s.claimed(s.after(run), series.KindPassed) })
}

func rowTakeoverPaused(s *fixture) {
	run := s.dead()
	s.pause()
	s.settles(s.after(run), run, series.VerdictLost)
}

func rowTakeoverAttempts(s *fixture) {
	run := s.dead()
	c := s.after(run)
	c.Attempts, c.TTL = 2, short
	a, second := s.granted(c)
	equal(s, "the attempt", a.Attempt, 2)
	s.env.Wait(short + slack)
	c = s.after(second)
	c.Attempts = 2
	s.settles(c, second, series.VerdictLost)
	c.Owner = s.owner()
	s.unchanged(func() { s.claimed(c, series.KindPassed) })
}

func rowTakeoverNoRerun(s *fixture) {
	run := s.dead()
	c := s.after(run)
	c.Rerun = false
	s.settles(c, run, series.VerdictLost)
}

func rowTakeoverUnstarted(s *fixture) {
	s.open()
	_, run := s.granted(s.next(1))
	s.ended(run, series.RunUnstarted)
	c := s.after(run)
	c.Deadline = time.Millisecond
	s.settles(c, run, series.VerdictMissed)
}

func rowTakeover(s *fixture) {
	run := s.dead()
	c := s.after(run)
	a, _ := s.granted(c)
	equal(s, "the attempt", a.Attempt, 2)
	equal(s, "the mark", a.Mark, run.Number)
	equal(s, "where the mark stood", a.From, 0)
	equal(s, "left", a.Left, c.TTL)
	if a.Fence <= run.Fence {
		s.Fatalf("the fence is %d, that of the first attempt %d", a.Fence, run.Fence)
	}
	s.last(series.VerdictRan, run.Number, run.Number)
	s.unchanged(func() {
		again, _ := s.granted(c)
		equal(s, "the fence asked for again", again.Fence, a.Fence)
	})
}

func rowOrphan(s *fixture) {
	run := s.dead()
	c := s.ask(s.look().Now, s.due(1))
	c.Rerun = true
	s.unchanged(func() {
		a := s.claimed(c, series.KindOrphan)
		equal(s, "the number", a.Number, run.Number)
		equal(s, "the fence", a.Fence, run.Fence)
		equal(s, "the attempt", a.Attempt, 1)
		equal(s, "left", a.Left, 0)
	})
	_, second := s.granted(s.after(run))
	s.ended(second, series.RunDone)
	s.granted(c)
}

func rowSettled(s *fixture) {
	run := s.dead()
	c := s.ask(s.look().Now, s.due(1))
	a, _ := s.granted(c)
	s.settled(a, run, series.VerdictLost)
	s.last(series.VerdictRan, s.due(1), c.Number)
	equal(s, "the runs", len(s.look().Runs), 1)
	if s.journaled != nil {
		lines := s.lines()
		equal(s, "the verdict of the dead run", lines[len(lines)-2].Verdict, series.VerdictLost)
	}
}
