package locktest

import (
	"github.com/cronce/cronce/lock/series"
)

// Each scene prepares a series and returns a claim for it, and the expected answer.
var scenes = []struct {
	name string
	set  func(s *fixture) series.Claim
	want series.Kind
}{
	{"not open", func(s *fixture) series.Claim { return s.ask(1, 0) }, series.KindUnknown},
	{"undecided", func(s *fixture) series.Claim { s.open(); return s.next(1) }, series.KindGranted},
	{"alive", func(s *fixture) series.Claim { s.decided(2); return s.next(2) }, series.KindPassed},
	{"before the alive one", func(s *fixture) series.Claim { s.decided(2); return s.next(1) }, series.KindPassed},
	{"ended", func(s *fixture) series.Claim { s.ended(s.decided(2), series.RunDone); return s.next(2) }, series.KindPassed},
	{"given back", func(s *fixture) series.Claim { s.ended(s.decided(2), series.RunGivenBack); return s.next(2) }, series.KindPassed},
	{"spent", func(s *fixture) series.Claim { s.open(); s.missed(2); return s.next(2) }, series.KindPassed},
	{"gap", func(s *fixture) series.Claim { s.open(); return s.ask(s.due(3), s.due(2)) }, series.KindGap},
	{"paused", func(s *fixture) series.Claim { s.open(); s.pause(); return s.next(2) }, series.KindPaused},
	{"decided and paused", func(s *fixture) series.Claim { s.decided(2); s.pause(); return s.next(2) }, series.KindPassed},
	{"orphan", func(s *fixture) series.Claim {
		s.ended(s.decided(1), series.RunUnstarted)
		return s.ask(s.due(2), s.due(1))
	}, series.KindOrphan},
	{"queue", func(s *fixture) series.Claim { _, c := s.beside(series.OverlapQueue); return c }, series.KindWaiting},
	{"waiting", func(s *fixture) series.Claim {
		_, c, _ := s.wait(series.OverlapQueue)
		c.Owner = s.owner()
		return c
	}, series.KindPassed},
}

// decided opens the series and lets due(i) be granted.
func (s *fixture) decided(i int64) series.RunRef {
	s.Helper()
	s.open()
	_, run := s.granted(s.next(i))
	return run
}

// missed lets due(i) be missed.
func (s *fixture) missed(i int64) {
	s.Helper()
	c := s.next(i)
	c.Deadline = 0
	s.claimed(c, series.KindMissed)
}
