package locktest

import (
	"time"

	"github.com/cronce/cronce/lock/series"
)

// beside begins a run of due(1) that is alive, and returns it with the claim of a number that
// becomes due during the run.
func (s *fixture) beside(o series.Overlap) (series.RunRef, series.Claim) {
	s.Helper()
	s.open()
	_, run := s.granted(s.next(1))
	s.env.Wait(5 * time.Millisecond)
	c := s.ask(s.look().Now, s.due(1))
	c.Overlap = o
	return run, c
}

func rowSkipped(s *fixture) {
	s.skipsAtGrant()
	s.key = "other"
	run, c := s.beside(series.OverlapSkip)
	a := s.claimed(c, series.KindSkipped)
	equal(s, "the mark", a.Mark, c.Number)
	s.reason(s.last(series.VerdictSkipped, s.due(1), c.Number), series.ReasonOverlap)
	s.unchanged(func() { s.claimed(c, series.KindSkipped) })
	other := c
	other.Owner = s.owner()
	s.unchanged(func() { s.claimed(other, series.KindPassed) })
	equal(s, "the run is alive", s.renew(run).Alive, true)
}

// skipsAtGrant claims a number that becomes due exactly at the time of the grant.
func (s *fixture) skipsAtGrant() {
	s.Helper()
	if !s.env.exact() {
		return
	}
	s.open()
	a, _ := s.granted(s.next(1))
	s.claimed(s.ask(a.Now, s.due(1)), series.KindSkipped)
}

func rowQueued(s *fixture) {
	run, c := s.beside(series.OverlapQueue)
	a := s.claimed(c, series.KindWaiting)
	equal(s, "the mark", a.Mark, c.Number)
	equal(s, "the number", a.Number, c.Number)
	if a.Fence <= run.Fence {
		s.Fatalf("the fence to take it over with is %d, that of the run %d", a.Fence, run.Fence)
	}
	s.last(series.VerdictWaiting, s.due(1), c.Number)
	equal(s, "replaced", s.renew(run).Replaced, false)
	s.unchanged(func() {
		again := s.claimed(c, series.KindWaiting)
		equal(s, "the fence asked for again", again.Fence, a.Fence)
	})
}

func rowReplaced(s *fixture) {
	run, c := s.beside(series.OverlapReplace)
	s.claimed(c, series.KindWaiting)
	s.last(series.VerdictWaiting, s.due(1), c.Number)
	equal(s, "replaced", s.renew(run).Replaced, true)
}

func rowHeld(s *fixture) {
	s.open()
	_, run := s.granted(s.next(1))
	c := s.ask(s.due(2), s.due(1)) // due before the run was granted
	s.unchanged(func() {
		a := s.claimed(c, series.KindHeld)
		equal(s, "the number of the run", a.Number, run.Number)
		equal(s, "the fence of the run", a.Fence, run.Fence)
		s.within("left", a.Left, long)
	})
	s.ended(run, series.RunDone)
	s.granted(c)
}

func rowDueBefore(s *fixture) {
	for _, o := range []series.Overlap{series.OverlapQueue, series.OverlapReplace} {
		s.key += "+"
		s.open()
		_, run := s.granted(s.next(1))
		c := s.ask(s.due(2), s.due(1)) // due before the run was granted
		c.Overlap = o
		fence := s.claimed(c, series.KindWaiting).Fence
		s.last(series.VerdictWaiting, s.due(1), c.Number)
		equal(s, "replaced", s.renew(run).Replaced, o == series.OverlapReplace)
		e := s.ended(run, series.RunDone)
		equal(s, "what waits", e.Waiting, c.Number)
		s.granted(s.takes(c, fence))
	}
}

func rowBacklog(s *fixture) {
	run, c := s.beside(series.OverlapSkip)
	c.Backlog = true
	s.unchanged(func() {
		a := s.claimed(c, series.KindHeld)
		equal(s, "the number of the run", a.Number, run.Number)
	})
	s.ended(run, series.RunDone)
	s.granted(c)
}
