package locktest

import (
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

func retireAlive(s *fixture) {
	s.open()
	_, run := s.granted(s.next(1))
	s.refuses(s.change(series.ActionRetire), series.RefusedAlive)
	equal(s, "alive", s.renew(run).Alive, true)
	s.ended(run, series.RunDone)
	c := s.change(series.ActionRetire)
	first := s.makes(c)
	equal(s, "retired", first.Series.Retired(), true)
	equal(s, "the reason", first.Series.Pause.Reason, c.Reason)
	s.repeats(c, first)
	is := s.look()
	equal(s, "retired", is.Retired(), true)
	equal(s, "the last success", s.look().Last, run.Number)
	records := s.audit()
	equal(s, "the state after", records[len(records)-1].After, "retired")
	s.claimed(s.ask(s.due(2), s.due(1)), series.KindPaused)
}

func retireSettles(s *fixture) {
	run := s.dead()
	is := s.makes(s.change(series.ActionRetire)).Series
	equal(s, "the runs", len(is.Runs), 0)
	if s.journaled != nil {
		lines := s.lines()
		l := lines[len(lines)-2]
		equal(s, "the verdict of the run", l.Verdict, series.VerdictLost)
		equal(s, "its number", l.To, run.Number)
	}
}

func retireReturns(s *fixture) {
	s.open()
	paused := s.pause()
	retired := s.makes(s.change(series.ActionRetire)).Series
	equal(s, "retired", !paused.Retired() && retired.Retired(), true)
	s.env.Wait(20 * time.Millisecond)
	is := s.opened(series.OpenRequest{Key: s.key, Node: "n2", Revision: "r1"})
	equal(s, "paused", is.Paused, false)
	equal(s, "the mark", is.Mark, is.Now-1)
	equal(s, "the change", is.Change, 2)
	s.changed(series.ActionLapse, 2)
	s.before(series.VerdictPaused, s.mark, is.Mark)
	s.claimed(s.ask(s.mark+1, s.mark), series.KindPassed)
	s.granted(s.ask(is.Now, is.Mark))
	s.refuses(s.change(series.ActionResume), series.RefusedNotPaused)
}

func retireEnds(s *fixture) {
	s.open()
	s.makes(s.change(series.ActionRetire))
	is := s.resume()
	equal(s, "paused", is.Paused, false)
	equal(s, "the mark", is.Mark, is.Now)
	s.makes(s.change(series.ActionRetire))
	is = s.pause()
	equal(s, "retired", !is.Paused || is.Retired(), false)
	s.open()
	equal(s, "paused", s.look().Paused, true)
	c := s.change(series.ActionPause)
	c.Until = driver.MaxNumber
	equal(s, "a pause that would retire", s.front().Control(s.ctx, c).Err != nil, true)
}
