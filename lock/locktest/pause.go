package locktest

import (
	"fmt"
	"time"

	"github.com/cronce/cronce/lock/driver"
)

var pauseTests = []test{
	{"a pause is done once per change, and tells the change", pauseOnce},
	{"a pause leaves a run alone", pauseRun},
	{"a pause starts nothing, takeovers included", pauseStartsNothing},
	{"a resume covers all since the mark as paused, once", pauseResumed},
	{"a resume settles what is over", pauseSettles},
	{"what never started is paused by a resume, and missed by a retirement", pauseSettlesUnstarted},
	{"a resume never lowers the mark", pauseMark},
	{"a late copy of a pause or a resume changes nothing", pauseLate},
	{"a number claimed while paused stays paused", pauseSpent},
	{"what was never opened cannot be paused or resumed, and that is said", pauseUnknown},
}

func pauseUnknown(s *stand) {
	s.key = "never opened"
	for _, action := range []driver.Action{driver.ActionPause, driver.ActionResume} {
		a := s.refuses(s.change(action), driver.RefusedNotOpen)
		equal(s, "paused", a.Series.Paused, false)
	}
	s.open()
	equal(s, "paused", s.look().Paused, false)
	equal(s, "changes", s.look().Change, 0)
}

// change is a fresh change, whatever the series stands at.
func (s *stand) change(action driver.Action) driver.Control {
	s.ops++
	return driver.Control{Key: s.key, Action: action, Op: fmt.Sprint("op-", s.ops), Who: "ann", Reason: "moved to 2", Seen: driver.AnySeen}
}

func (s *stand) control(c driver.Control) driver.ControlAnswer {
	s.Helper()
	a := s.controlled.Control(s.ctx, c)
	if a.Err != nil {
		s.Fatalf("unexpected doubt: %v", a.Err)
	}
	return a
}

// makes is a change that is made.
func (s *stand) makes(c driver.Control) driver.ControlAnswer {
	s.Helper()
	return s.made(c, s.control(c))
}

// made checks that the answer to a change is that it was made.
func (s *stand) made(c driver.Control, a driver.ControlAnswer) driver.ControlAnswer {
	s.Helper()
	if a.Kind != driver.ControlDone {
		s.Fatalf("the %s is answered %+v", c.Action, a)
	}
	return a
}

// refuses is a change that is refused for a reason, and changes nothing.
func (s *stand) refuses(c driver.Control, why driver.Refusal) (a driver.ControlAnswer) {
	s.Helper()
	s.unchanged(func() { a = s.control(c) })
	if a.Kind != driver.ControlRefused || a.Refusal != why {
		s.Fatalf("the %s is answered %+v, want the refusal %q", c.Action, a, why)
	}
	return a
}

func (s *stand) pause() driver.Series {
	s.Helper()
	return s.makes(s.change(driver.ActionPause)).Series
}
func (s *stand) resume() driver.Series {
	s.Helper()
	return s.makes(s.change(driver.ActionResume)).Series
}

func rowPaused(s *stand) {
	s.open()
	s.pause()
	c := s.next(3)
	a := s.claimed(c, driver.KindPaused)
	equal(s, "the mark", a.Mark, c.Number)
	if l := s.last(driver.VerdictPaused, s.mark, c.Number); s.journaled != nil {
		equal(s, "the verdict between", l.Between, driver.VerdictPaused)
	}
	s.unchanged(func() { s.claimed(c, driver.KindPaused) })
}

func pauseOnce(s *stand) {
	s.open()
	c := s.change(driver.ActionPause)
	first := s.makes(c)
	is := first.Series
	equal(s, "paused", is.Paused, true)
	equal(s, "the change", is.Change, 1)
	equal(s, "the pause", is.Pause, driver.Pause{Op: c.Op, Who: c.Who, Reason: c.Reason, Since: is.Now})
	equal(s, "the pause, as a look sees it", s.look().Pause, is.Pause)
	s.repeats(c, first)
	end := s.change(driver.ActionResume)
	second := s.makes(end)
	equal(s, "paused", second.Series.Paused, false)
	equal(s, "the pause", second.Series.Pause, driver.Pause{})
	s.repeats(end, second)
	s.repeats(c, first)
	equal(s, "paused", s.pause().Paused, true)
}

// repeats sends a change again that was made: nothing changes, and the answer names what the
// first one did.
func (s *stand) repeats(c driver.Control, first driver.ControlAnswer) {
	s.Helper()
	var a driver.ControlAnswer
	s.unchanged(func() { a = s.control(c) })
	if a.Kind != driver.ControlRepeated || a.Change != first.Change || a.Audit != first.Audit {
		s.Fatalf("asked again, the %s is answered %+v, at first %+v", c.Action, a, first)
	}
}

func pauseRun(s *stand) {
	s.open()
	_, run := s.granted(s.next(1))
	s.pause()
	equal(s, "alive", s.renew(run).Alive, true)
	s.ended(run, driver.EndDone)
	equal(s, "the last success", s.look().Last, run.Number)
}

func pauseStartsNothing(s *stand) {
	s.open()
	_, run := s.granted(s.next(1))
	s.ended(run, driver.EndUnstarted)
	s.pause()
	s.settles(s.after(run), run, driver.VerdictPaused)
	s.claimed(s.ask(s.due(2), s.due(1)), driver.KindPaused)
}

func pauseResumed(s *stand) {
	s.open()
	_, run := s.granted(s.next(1))
	s.ended(run, driver.EndDone)
	s.pause()
	s.env.Wait(20 * time.Millisecond)
	is := s.resume()
	equal(s, "paused", is.Paused, false)
	equal(s, "the mark", is.Mark, is.Now)
	s.changed(driver.ActionResume, 2)
	if l := s.before(driver.VerdictPaused, run.Number, is.Mark); s.journaled != nil {
		equal(s, "the verdict between", l.Between, driver.VerdictPaused)
	}
	s.env.Wait(20 * time.Millisecond)
	s.refuses(s.change(driver.ActionResume), driver.RefusedNotPaused)
	s.claimed(s.next(1), driver.KindPassed)
	a := s.claimed(s.ask(is.Mark, s.mark), driver.KindPassed)
	equal(s, "the node that decided the mark", a.Node, "")
	s.granted(s.ask(is.Mark+5, is.Mark))
}

func pauseSettles(s *stand) {
	run := s.dead()
	s.pause()
	is := s.resume()
	equal(s, "the runs", len(is.Runs), 0)
	if s.journaled != nil {
		lines := s.lines()
		l := lines[len(lines)-3]
		equal(s, "the verdict of the run", l.Verdict, driver.VerdictLost)
		equal(s, "its number", l.To, run.Number)
	}
	s.unchanged(func() { s.claimed(s.after(run), driver.KindPassed) })
}

func pauseSettlesUnstarted(s *stand) {
	s.open()
	for _, end := range []struct {
		action  driver.Action
		pauses  bool
		verdict driver.Verdict
		lines   int // from the verdict on
	}{{driver.ActionResume, true, driver.VerdictPaused, 3}, {driver.ActionRetire, false, driver.VerdictMissed, 2}} {
		s.env.Wait(2 * time.Millisecond)
		now := s.look()
		_, run := s.granted(s.ask(now.Now, now.Mark))
		s.ended(run, driver.EndUnstarted)
		if end.pauses {
			s.pause()
			s.env.Wait(2 * time.Millisecond)
		}
		equal(s, "the runs", len(s.makes(s.change(end.action)).Series.Runs), 0)
		if lines := s.lines(); s.journaled != nil {
			l := lines[len(lines)-end.lines]
			equal(s, "the verdict", l.Verdict, end.verdict)
			equal(s, "its number", l.To, run.Number)
		}
	}
}

func pauseMark(s *stand) {
	now := s.look().Now
	s.opened(driver.OpenRequest{Key: s.key, Node: "n", Mark: now + 3_600_000})
	s.pause()
	equal(s, "the mark", s.resume().Mark, now+3_600_000)
}

func pauseLate(s *stand) {
	s.open()
	pause, resume, third := s.change(driver.ActionPause), s.change(driver.ActionResume), s.change(driver.ActionPause)
	first, second := s.makes(pause), s.makes(resume)
	s.repeats(pause, first)
	s.makes(third)
	s.env.Wait(20 * time.Millisecond)
	s.repeats(resume, second)
	s.repeats(pause, first)
	equal(s, "paused", s.look().Paused, true)
}

func pauseSpent(s *stand) {
	s.open()
	s.pause()
	s.claimed(s.next(3), driver.KindPaused)
	s.resume()
	s.unchanged(func() {
		s.claimed(s.next(3), driver.KindPassed)
		s.claimed(s.next(1), driver.KindPassed)
	})
}
