package locktest

import (
	"fmt"
	"time"

	"github.com/cronce/cronce/lock/series"
)

func runUnstarted(s *fixture) {
	s.open()
	_, run := s.granted(s.next(1))
	s.ended(run, series.RunUnstarted)
	c := s.after(run)
	c.Rerun, c.Attempts, c.Window = false, 1, time.Millisecond
	a, second := s.granted(c)
	equal(s, "the attempt", a.Attempt, 1)
	if a.Fence <= run.Fence {
		s.Fatalf("the fence is %d, before it %d", a.Fence, run.Fence)
	}
	s.ended(second, series.RunDone)
}

func runUnstartedLater(s *fixture) {
	run := s.dead()
	_, second := s.granted(s.after(run))
	s.ended(second, series.RunUnstarted)
	c := s.after(second)
	c.Deadline, c.Rerun = time.Millisecond, false
	a, third := s.granted(c)
	equal(s, "the attempt", a.Attempt, 2)
	s.ended(third, series.RunUnstarted)
	c = s.after(third)
	c.Window = time.Millisecond
	s.settles(c, third, series.VerdictLost)
}

func runGivenBack(s *fixture) {
	s.open()
	_, run := s.granted(s.next(1))
	s.ended(run, series.RunGivenBack)
	c := s.after(run)
	c.Rerun = false // Rerun is only needed for nodes that died
	a, second := s.granted(c)
	equal(s, "the attempt", a.Attempt, 2)
	s.ended(second, series.RunGivenBack)
	c = s.after(second)
	c.Attempts = 2
	s.settles(c, second, series.VerdictLost)
}

func runWindow(s *fixture) {
	run := s.dead()
	c := s.after(run)
	c.Window = short
	s.settles(c, run, series.VerdictLost)
}

// runLastInstant needs a clock that stands still.
func runLastInstant(s *fixture) {
	if !s.env.exact() {
		return
	}
	for i, late := range []time.Duration{0, time.Millisecond} {
		s.key = fmt.Sprint("window ", i)
		run := s.dead()
		c := s.after(run)
		c.Window = time.Duration(s.look().Now-run.Number)*time.Millisecond - late
		if late == 0 {
			s.granted(c)
		} else {
			s.settles(c, run, series.VerdictLost)
		}
		s.key = fmt.Sprint("deadline ", i)
		s.open()
		_, run = s.granted(s.next(1))
		s.ended(run, series.RunUnstarted)
		c = s.after(run)
		c.Deadline = time.Duration(s.look().Now-run.Number)*time.Millisecond - late
		if late == 0 {
			s.granted(c)
		} else {
			s.settles(c, run, series.VerdictMissed)
		}
	}
}

func runDeadline(s *fixture) {
	run := s.dead()
	c := s.after(run)
	c.Deadline, c.Window = time.Millisecond, 0
	a, _ := s.granted(c)
	equal(s, "the attempt", a.Attempt, 2)
}

func runReplaced(s *fixture) {
	s.open()
	c := s.next(1)
	c.TTL = short
	_, run := s.granted(c)
	s.env.Wait(5 * time.Millisecond)
	newer := s.ask(s.look().Now, s.due(1))
	newer.Overlap = series.OverlapReplace
	w := s.claimed(newer, series.KindWaiting)
	s.env.Wait(short + slack) // no node renews it any more
	a := s.claimed(s.after(run), series.KindPassed)
	s.settled(a, run, series.VerdictLost)
	newer.Owner, newer.From = s.owner(), w.Fence
	s.granted(newer)
}

func runBlocked(s *fixture) {
	run := s.dead()
	newer := s.ask(s.look().Now, s.due(1))
	newer.Overlap, newer.Rerun = series.OverlapAllow, true
	s.claimed(newer, series.KindOrphan)
	_, second := s.granted(s.after(run))
	_, third := s.granted(newer)
	s.ended(second, series.RunGivenBack)
	c := s.after(second)
	s.unchanged(func() {
		a := s.claimed(c, series.KindHeld)
		equal(s, "the number that is in the way", a.Number, third.Number)
	})
	s.env.Wait(5 * time.Millisecond)
	fresh := s.ask(s.look().Now, third.Number)
	fresh.Backlog, fresh.Rerun = true, true
	s.unchanged(func() { // the run that is over is not offered, since it could not run
		a := s.claimed(fresh, series.KindHeld)
		equal(s, "the number that is in the way", a.Number, third.Number)
	})
	c.Overlap = series.OverlapAllow
	a, _ := s.granted(c)
	equal(s, "the attempt", a.Attempt, 3)
}

func runReplacedUnstarted(s *fixture) {
	run, c, fence := s.wait(series.OverlapReplace)
	s.ended(run, series.RunUnstarted)
	s.settlesBeside(s.after(run), run, series.VerdictSuperseded)
	s.granted(s.takes(c, fence))
}

// settlesBeside is settles for a series in which another run is left.
func (s *fixture) settlesBeside(c series.Claim, run series.RunRef, v series.Verdict) {
	s.Helper()
	s.settled(s.claimed(c, series.KindPassed), run, v)
	s.last(v, run.Number, run.Number)
}

func runOverlapAttempts(s *fixture) {
	run := s.dead()
	between := s.look().Now
	s.env.Wait(5 * time.Millisecond)
	s.granted(s.after(run))
	s.claimed(s.ask(between, s.due(1)), series.KindSkipped)
}

func runOverlapUnstarted(s *fixture) {
	s.open()
	_, run := s.granted(s.next(1))
	s.env.Wait(5 * time.Millisecond)
	between := s.look().Now
	s.ended(run, series.RunUnstarted)
	s.env.Wait(5 * time.Millisecond)
	s.granted(s.after(run))
	s.unchanged(func() { s.claimed(s.ask(between, s.due(1)), series.KindHeld) })
}

func runDeadlineExact(s *fixture) {
	s.open()
	c := s.next(1)
	c.TTL = short
	a, run := s.granted(c)
	until := s.look().Runs[0].Until
	if until != a.Now+short.Milliseconds() {
		s.Fatalf("granted at %d for %v until %d", a.Now, short, until)
	}
	if !s.env.exact() {
		return
	}
	s.env.Wait(short - time.Millisecond)
	equal(s, "left", s.claimed(c, series.KindGranted).Left, time.Millisecond)
	s.env.Wait(time.Millisecond)
	equal(s, "alive", s.renew(run).Alive, false)
	s.claimed(c, series.KindOver)
}
