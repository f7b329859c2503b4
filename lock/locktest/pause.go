package locktest

import (
	"context"
	"errors"
	"time"

	"github.com/cronce/cronce/lock/driver"
)

var pauseTests = []test{
	{"a pause is done once per change, and tells the change", pauseOnce},
	{"a pause leaves a run alone", pauseRun},
	{"a pause starts nothing, takeovers included", pauseStartsNothing},
	{"a resume covers all since the mark as paused, once", pauseResumed},
	{"a resume settles what is over", pauseSettles},
	{"a resume never lowers the mark", pauseMark},
	{"a late copy of a pause or a resume changes nothing", pauseLate},
	{"a number claimed while paused stays paused", pauseSpent},
	{"what was never opened cannot be paused or resumed, and that is said", pauseUnknown},
}

func pauseUnknown(s *stand) {
	for name, change := range map[string]func(context.Context, string, int64) driver.Series{"pause": s.numbered.Pause, "resume": s.numbered.Resume} {
		if got := change(s.ctx, "never opened", 1); !errors.Is(got.Err, driver.ErrNotOpen) || got.Paused {
			s.Errorf("the %s of a series that was never opened is answered %+v", name, got)
		}
	}
	s.key = "never opened"
	s.open()
	equal(s, "paused", s.look().Paused, false)
}

func (s *stand) pause(change int64) driver.Series {
	s.Helper()
	return s.series([]driver.Series{s.numbered.Pause(s.ctx, s.key, change)})
}

func (s *stand) resume(change int64) driver.Series {
	s.Helper()
	return s.series([]driver.Series{s.numbered.Resume(s.ctx, s.key, change)})
}

func rowPaused(s *stand) {
	s.open()
	s.pause(1)
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
	is := s.pause(1)
	equal(s, "paused", is.Paused, true)
	equal(s, "the change", is.PauseChange, 1)
	equal(s, "paused, as a look sees it", s.look().Paused, true)
	s.unchanged(func() { s.pause(1) })
	equal(s, "paused", s.resume(2).Paused, false)
	s.unchanged(func() { s.resume(2) })
	equal(s, "paused", s.pause(3).Paused, true)
}

func pauseRun(s *stand) {
	s.open()
	_, run := s.granted(s.next(1))
	s.pause(1)
	equal(s, "alive", s.renew(run).Alive, true)
	s.ended(run, driver.EndDone)
	equal(s, "the last success", s.look().Last, run.Number)
}

func pauseStartsNothing(s *stand) {
	s.open()
	_, run := s.granted(s.next(1))
	s.ended(run, driver.EndUnstarted)
	s.pause(1)
	s.settles(s.after(run), run, driver.VerdictMissed)
	s.claimed(s.ask(s.due(2), s.due(1)), driver.KindPaused)
}

func pauseResumed(s *stand) {
	s.open()
	_, run := s.granted(s.next(1))
	s.ended(run, driver.EndDone)
	s.pause(1)
	s.env.Wait(20 * time.Millisecond)
	is := s.resume(2)
	equal(s, "paused", is.Paused, false)
	equal(s, "the mark", is.Mark, is.Now)
	if l := s.last(driver.VerdictPaused, run.Number, is.Mark); s.journaled != nil {
		equal(s, "the verdict between", l.Between, driver.VerdictPaused)
	}
	s.env.Wait(20 * time.Millisecond)
	s.unchanged(func() { s.resume(2); s.resume(3) })
	s.claimed(s.next(1), driver.KindPassed)
	a := s.claimed(s.ask(is.Mark, s.mark), driver.KindPassed)
	equal(s, "the node that decided the mark", a.Node, "")
	s.granted(s.ask(is.Mark+5, is.Mark))
}

func pauseSettles(s *stand) {
	run := s.dead()
	s.pause(1)
	is := s.resume(2)
	equal(s, "the runs", len(is.Runs), 0)
	if s.journaled != nil {
		lines := s.lines()
		l := lines[len(lines)-2]
		equal(s, "the verdict of the run", l.Verdict, driver.VerdictLost)
		equal(s, "its number", l.To, run.Number)
	}
	s.unchanged(func() { s.claimed(s.after(run), driver.KindPassed) })
}

func pauseMark(s *stand) {
	now := s.look().Now
	s.opened(driver.OpenRequest{Key: s.key, Node: "n", Mark: now + 3_600_000})
	s.pause(1)
	equal(s, "the mark", s.resume(2).Mark, now+3_600_000)
}

func pauseLate(s *stand) {
	s.open()
	s.pause(1)
	s.resume(2)
	s.unchanged(func() { s.pause(1); s.pause(2) })
	s.pause(3)
	s.env.Wait(20 * time.Millisecond)
	s.unchanged(func() { s.resume(2); s.resume(3); s.pause(1); s.pause(3) })
	equal(s, "paused", s.look().Paused, true)
}

func pauseSpent(s *stand) {
	s.open()
	s.pause(1)
	s.claimed(s.next(3), driver.KindPaused)
	s.resume(2)
	s.unchanged(func() {
		s.claimed(s.next(3), driver.KindPassed)
		s.claimed(s.next(1), driver.KindPassed)
	})
}
