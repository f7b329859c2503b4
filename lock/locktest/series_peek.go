package locktest

import (
	"reflect"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

var peekTests = []test{
	{"a peek is answered as a claim would be if that has passed, else not at all, and changes nothing", peekSame},
	{"a peek at a run that is settled returns its state, and at another all of it", peekPart},
	{"peeks are answered in their order", peekOrder},
	{"a peek is not answered while the mark lies in the future", peekAhead},
	{"a peek whose context has ended is doubt", peekDoubt},
}

func (s *fixture) peeks(ps []series.NumberRef, whole bool) []*series.Answer {
	s.Helper()
	as, err := s.driver.(series.Peeker).Peek(s.ctx, ps, whole)
	if err != nil || len(as) != len(ps) {
		s.Fatalf("%d peeks have %d answers, %v", len(ps), len(as), err)
	}
	return as
}

func (s *fixture) peek(c series.Claim, whole bool) *series.Answer {
	s.Helper()
	return s.peeks([]series.NumberRef{{Key: c.Key, Number: c.Number}}, whole)[0]
}

func peekSame(s *fixture) {
	for _, scene := range scenes {
		s.key = scene.name
		c := scene.set(s)
		var got *series.Answer
		s.unchanged(func() { got = s.peek(c, true) })
		want := s.claimed(c, scene.want)
		switch {
		case want.Kind != series.KindPassed && got != nil:
			s.Errorf("%s: a peek says %+v, a claim %+v", scene.name, got, want)
		case want.Kind == series.KindPassed && (got == nil || !alike(*got, want)):
			s.Errorf("%s: a peek says %+v, a claim %+v", scene.name, got, want)
		case got != nil && (got.Node == "" && got.Number == got.Mark || got.Node == driver.NodeOf(c.Owner)):
			s.Errorf("%s: a peek says that it was decided by %q", scene.name, got.Node)
		}
	}
}

// alike reports whether two answers are equal except for their times.
func alike(a, b series.Answer) bool {
	if (a.Left > 0) != (b.Left > 0) {
		return false
	}
	a.Now, b.Now, a.Left, b.Left = 0, 0, 0, 0
	return reflect.DeepEqual(a, b)
}

// lastless returns an answer without the field that a peek may always leave out.
func lastless(a series.Answer) series.Answer {
	a.Last = 0
	return a
}

func peekPart(s *fixture) {
	for _, scene := range scenes {
		s.key = scene.name
		c := scene.set(s)
		whole, part := s.peek(c, true), s.peek(c, false)
		switch {
		case (whole == nil) != (part == nil):
			s.Errorf("%s: a peek says %+v, a whole one %+v", scene.name, part, whole)
		case part == nil || alike(lastless(*part), lastless(*whole)):
		case part.Kind != series.KindPassed || part.Number != whole.Number || part.State != whole.State || part.Mark != whole.Mark:
			s.Errorf("%s: a peek says %+v, a whole one %+v", scene.name, part, whole)
		case part.State != series.RunDone && part.State != series.RunLost:
			s.Errorf("%s: a peek at a run that is not settled says %+v, want %+v", scene.name, part, whole)
		}
	}
}

// Some numbers are decided and some are not, the numbers differ, and there are so many that a store
// needs more than one request.
func peekOrder(s *fixture) {
	cs := s.fleet(410)
	ps := make([]series.NumberRef, len(cs))
	for i := range cs {
		ps[i] = series.NumberRef{Key: cs[i].Key, Number: cs[i].Number}
		if i == 3 {
			ps[i].Number--
		}
	}
	runs := s.grants(cs[:205])
	for i := range runs[:100] {
		s.ended(runs[i], series.RunDone)
	}
	for _, whole := range []bool{false, true} {
		for i, a := range s.peeks(ps, whole) {
			want := series.RunNone
			switch {
			case i >= 205:
				if a != nil {
					s.Fatalf("peek %d at what nobody has asked for: %+v", i, a)
				}
				continue
			case i == 3:
			case i < 100:
				want = series.RunDone
			default:
				want = series.RunOpen
			}
			if a == nil || a.Kind != series.KindPassed || a.Number != ps[i].Number || a.State != want || a.Mark != cs[i].Number || a.Now < a.Mark-slack.Milliseconds() {
				s.Fatalf("peek %d at %d, whole %v: %+v, want state %d", i, ps[i].Number, whole, a, want)
			}
			if want == series.RunOpen && (a.Fence != runs[i].Fence || a.Node != driver.NodeOf(cs[i].Owner) || a.Left <= 0) {
				s.Fatalf("peek %d: %+v, want the run %+v", i, a, runs[i])
			}
		}
	}
}

func peekAhead(s *fixture) {
	if s.env.SetClock == nil {
		return
	}
	run := s.decided(1)
	s.ended(run, series.RunDone)
	s.step(-time.Hour)
	is := s.look()
	for _, number := range []int64{is.Now, run.Number} {
		for _, whole := range []bool{false, true} {
			if a := s.peek(s.ask(number, 0), whole); a != nil {
				s.Errorf("a peek at %d, with the mark %d at %d, says %+v", number, is.Mark, is.Now, a)
			}
		}
	}
	s.claimed(s.ask(is.Now, 0), series.KindAhead)
}

func peekDoubt(s *fixture) {
	s.decided(1)
	c := s.next(1)
	as, err := s.driver.(series.Peeker).Peek(s.done(), []series.NumberRef{{Key: c.Key, Number: c.Number}}, false)
	s.canceled("peek", err)
	for _, a := range as {
		if a != nil {
			s.Errorf("a peek in doubt says %+v", a)
		}
	}
}
