package locktest

import (
	"fmt"
	"time"

	"github.com/cronce/cronce/lock/series"
)

var pauseTests = []test{
	{"a pause is done once per change, and returns the change", pauseOnce},
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

func pauseUnknown(s *fixture) {
	s.key = "never opened"
	for _, action := range []series.Action{series.ActionPause, series.ActionResume} {
		a := s.refuses(s.change(action), series.RefusedNotOpen)
		equal(s, "paused", a.Series.Paused, false)
	}
	s.open()
	equal(s, "paused", s.look().Paused, false)
	equal(s, "changes", s.look().Change, 0)
}

// change returns a new change, which applies to any state of the series.
func (s *fixture) change(action series.Action) series.Control {
	s.ops++
	return series.Control{Key: s.key, Action: action, Op: fmt.Sprint("op-", s.ops), Who: "ann", Reason: "moved to 2", Seen: series.AnySeen}
}

func (s *fixture) control(c series.Control) series.ControlAnswer {
	s.Helper()
	a := s.controlled.Control(s.ctx, c)
	if a.Err != nil {
		s.Fatalf("unexpected doubt: %v", a.Err)
	}
	if (a.Change == 0) != (a.Refusal != "") || (a.Audit == 0) != (a.Change == 0) || a.Made && a.Change == 0 {
		s.Fatalf("the %s is answered %+v, want a change or a refusal", c.Action, a)
	}
	return a
}

// makes sends a change that must be made.
func (s *fixture) makes(c series.Control) series.ControlAnswer {
	s.Helper()
	a := s.made(c, s.control(c))
	is := s.look()
	is.Now = a.Series.Now
	equal(s, "the state with the answer", fmt.Sprintf("%+v", a.Series), fmt.Sprintf("%+v", is))
	return a
}

// made fails the test unless the change was made.
func (s *fixture) made(c series.Control, a series.ControlAnswer) series.ControlAnswer {
	s.Helper()
	if !a.Made {
		s.Fatalf("the %s is answered %+v", c.Action, a)
	}
	return a
}

// refuses sends a change that must be refused for a reason, and must change nothing.
func (s *fixture) refuses(c series.Control, why series.Refusal) (a series.ControlAnswer) {
	s.Helper()
	s.unchanged(func() { a = s.control(c) })
	if a.Refusal != why {
		s.Fatalf("the %s is answered %+v, want the refusal %q", c.Action, a, why)
	}
	return a
}

func (s *fixture) pause() series.Series {
	s.Helper()
	return s.makes(s.change(series.ActionPause)).Series
}
func (s *fixture) resume() series.Series {
	s.Helper()
	return s.makes(s.change(series.ActionResume)).Series
}

func rowPaused(s *fixture) {
	s.open()
	s.pause()
	c := s.next(3)
	a := s.claimed(c, series.KindPaused)
	equal(s, "the mark", a.Mark, c.Number)
	if l := s.last(series.VerdictPaused, s.mark, c.Number); s.journaled != nil {
		equal(s, "the verdict between", l.Between, series.VerdictPaused)
	}
	s.unchanged(func() { s.claimed(c, series.KindPaused) })
}

func pauseOnce(s *fixture) {
	s.open()
	c := s.change(series.ActionPause)
	first := s.makes(c)
	is := first.Series
	equal(s, "paused", is.Paused, true)
	equal(s, "the change", is.Change, 1)
	equal(s, "the pause", is.Pause, series.Pause{Op: c.Op, Who: c.Who, Reason: c.Reason, Since: is.Now})
	equal(s, "the pause, as a look sees it", s.look().Pause, is.Pause)
	s.repeats(c, first)
	end := s.change(series.ActionResume)
	second := s.makes(end)
	equal(s, "paused", second.Series.Paused, false)
	equal(s, "the pause", second.Series.Pause, series.Pause{})
	s.repeats(end, second)
	s.repeats(c, first)
	equal(s, "paused", s.pause().Paused, true)
}

// repeats sends a change again that was made: nothing may change, and the answer must name the
// effect of the first one.
func (s *fixture) repeats(c series.Control, first series.ControlAnswer) {
	s.Helper()
	var a series.ControlAnswer
	s.unchanged(func() { a = s.control(c) })
	if a.Made || a.Change != first.Change || a.Audit != first.Audit {
		s.Fatalf("asked again, the %s is answered %+v, at first %+v", c.Action, a, first)
	}
}

func pauseRun(s *fixture) {
	s.open()
	_, run := s.granted(s.next(1))
	s.pause()
	equal(s, "alive", s.renew(run).Alive, true)
	s.ended(run, series.RunDone)
	equal(s, "the last success", s.look().Last, run.Number)
}

func pauseStartsNothing(s *fixture) {
	s.open()
	_, run := s.granted(s.next(1))
	s.ended(run, series.RunUnstarted)
	s.pause()
	s.settles(s.after(run), run, series.VerdictPaused)
	s.claimed(s.ask(s.due(2), s.due(1)), series.KindPaused)
}

func pauseResumed(s *fixture) {
	s.open()
	_, run := s.granted(s.next(1))
	s.ended(run, series.RunDone)
	s.pause()
	s.env.Wait(20 * time.Millisecond)
	is := s.resume()
	equal(s, "paused", is.Paused, false)
	equal(s, "the mark", is.Mark, is.Now)
	s.changed(series.ActionResume, 2)
	if l := s.before(series.VerdictPaused, run.Number, is.Mark); s.journaled != nil {
		equal(s, "the verdict between", l.Between, series.VerdictPaused)
	}
	s.env.Wait(20 * time.Millisecond)
	s.refuses(s.change(series.ActionResume), series.RefusedNotPaused)
	s.claimed(s.next(1), series.KindPassed)
	a := s.claimed(s.ask(is.Mark, s.mark), series.KindPassed)
	equal(s, "the node that decided the mark", a.Node, "")
	s.granted(s.ask(is.Mark+5, is.Mark))
}

func pauseSettles(s *fixture) {
	run := s.dead()
	s.pause()
	is := s.resume()
	equal(s, "the runs", len(is.Runs), 0)
	if s.journaled != nil {
		lines := s.lines()
		l := lines[len(lines)-3]
		equal(s, "the verdict of the run", l.Verdict, series.VerdictLost)
		equal(s, "its number", l.To, run.Number)
	}
	s.unchanged(func() { s.claimed(s.after(run), series.KindPassed) })
}

func pauseSettlesUnstarted(s *fixture) {
	s.open()
	for _, end := range []struct {
		action  series.Action
		pauses  bool
		verdict series.Verdict
		lines   int // from the verdict on
	}{{series.ActionResume, true, series.VerdictPaused, 3}, {series.ActionRetire, false, series.VerdictMissed, 2}} {
		s.env.Wait(2 * time.Millisecond)
		now := s.look()
		_, run := s.granted(s.ask(now.Now, now.Mark))
		s.ended(run, series.RunUnstarted)
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

func pauseMark(s *fixture) {
	now := s.look().Now
	s.opened(series.OpenRequest{Key: s.key, Node: "n", Mark: now + 3_600_000})
	s.pause()
	equal(s, "the mark", s.resume().Mark, now+3_600_000)
}

func pauseLate(s *fixture) {
	s.open()
	pause, resume, third := s.change(series.ActionPause), s.change(series.ActionResume), s.change(series.ActionPause)
	first, second := s.makes(pause), s.makes(resume)
	s.repeats(pause, first)
	s.makes(third)
	s.env.Wait(20 * time.Millisecond)
	s.repeats(resume, second)
	s.repeats(pause, first)
	equal(s, "paused", s.look().Paused, true)
}

func pauseSpent(s *fixture) {
	s.open()
	s.pause()
	s.claimed(s.next(3), series.KindPaused)
	s.resume()
	s.unchanged(func() {
		s.claimed(s.next(3), series.KindPassed)
		s.claimed(s.next(1), series.KindPassed)
	})
}
