package locktest

import (
	"github.com/cronce/cronce/lock/driver"
)

// Each scene makes a series and returns a claim of it, and says how that is
// answered.
var scenes = []struct {
	name string
	set  func(s *stand) driver.Claim
	want driver.Kind
}{
	{"not open", func(s *stand) driver.Claim { return s.ask(1, 0) }, driver.KindUnknown},
	{"undecided", func(s *stand) driver.Claim { s.open(); return s.next(1) }, driver.KindGranted},
	{"alive", func(s *stand) driver.Claim { s.decided(2); return s.next(2) }, driver.KindPassed},
	{"before the alive one", func(s *stand) driver.Claim { s.decided(2); return s.next(1) }, driver.KindPassed},
	{"ended", func(s *stand) driver.Claim { s.ended(s.decided(2), driver.EndDone); return s.next(2) }, driver.KindPassed},
	{"given back", func(s *stand) driver.Claim { s.ended(s.decided(2), driver.EndGivenBack); return s.next(2) }, driver.KindPassed},
	{"spent", func(s *stand) driver.Claim { s.open(); s.missed(2); return s.next(2) }, driver.KindPassed},
	{"gap", func(s *stand) driver.Claim { s.open(); return s.ask(s.due(3), s.due(2)) }, driver.KindGap},
	{"paused", func(s *stand) driver.Claim { s.open(); s.pause(); return s.next(2) }, driver.KindPaused},
	{"decided and paused", func(s *stand) driver.Claim { s.decided(2); s.pause(); return s.next(2) }, driver.KindPassed},
	{"orphan", func(s *stand) driver.Claim {
		s.ended(s.decided(1), driver.EndUnstarted)
		return s.ask(s.due(2), s.due(1))
	}, driver.KindOrphan},
	{"queue", func(s *stand) driver.Claim { _, c := s.beside(driver.OverlapQueue); return c }, driver.KindWaiting},
	{"waiting", func(s *stand) driver.Claim {
		_, c, _ := s.wait(driver.OverlapQueue)
		c.Owner = s.owner()
		return c
	}, driver.KindPassed},
}

// decided opens the series and has due(i) granted.
func (s *stand) decided(i int64) driver.RunRef {
	s.Helper()
	s.open()
	_, run := s.granted(s.next(i))
	return run
}

// missed has due(i) missed.
func (s *stand) missed(i int64) {
	s.Helper()
	c := s.next(i)
	c.Deadline = 0
	s.claimed(c, driver.KindMissed)
}
