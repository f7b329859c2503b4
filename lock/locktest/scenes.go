package locktest

import "github.com/cronce/cronce/lock"

// Each scene makes a series and returns a claim of it, and says how that is
// answered.
var scenes = []struct {
	name string
	set  func(s *stand) lock.Claim
	want lock.Kind
}{
	{"not open", func(s *stand) lock.Claim { return s.ask(1, 0) }, lock.Unknown},
	{"undecided", func(s *stand) lock.Claim { s.open(); return s.next(1) }, lock.Granted},
	{"alive", func(s *stand) lock.Claim { s.decided(2); return s.next(2) }, lock.Passed},
	{"before the alive one", func(s *stand) lock.Claim { s.decided(2); return s.next(1) }, lock.Passed},
	{"ended", func(s *stand) lock.Claim { s.ended(s.decided(2), lock.Done); return s.next(2) }, lock.Passed},
	{"given back", func(s *stand) lock.Claim { s.ended(s.decided(2), lock.GivenBack); return s.next(2) }, lock.Passed},
	{"spent", func(s *stand) lock.Claim { s.open(); s.missed(2); return s.next(2) }, lock.Passed},
	{"gap", func(s *stand) lock.Claim { s.open(); return s.ask(s.due(3), s.due(2)) }, lock.Gap},
	{"paused", func(s *stand) lock.Claim { s.open(); s.pause(1); return s.next(2) }, lock.Paused},
	{"decided and paused", func(s *stand) lock.Claim { s.decided(2); s.pause(1); return s.next(2) }, lock.Passed},
	{"orphan", func(s *stand) lock.Claim {
		s.ended(s.decided(1), lock.NeverStarted)
		return s.ask(s.due(2), s.due(1))
	}, lock.Orphan},
	{"queue", func(s *stand) lock.Claim { _, c := s.beside(lock.OverlapQueue); return c }, lock.Waiting},
	{"waiting", func(s *stand) lock.Claim {
		_, c, _ := s.wait(lock.OverlapQueue)
		c.Owner = s.owner()
		return c
	}, lock.Passed},
}

// decided opens the series and has due(i) granted.
func (s *stand) decided(i int64) lock.RunRef {
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
	s.claimed(c, lock.Missed)
}
