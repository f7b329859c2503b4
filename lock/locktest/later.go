package locktest

import (
	"fmt"
	"math"
	"reflect"

	"github.com/cronce/cronce/lock"
)

// That a claim is marked as later changes no answer to an owner's first request.
var laterTests = []test{
	{"a claim marked as later is answered as without the mark", laterSame},
	{"a batch of claims, some marked as later, is answered in its order", laterBatch},
	{"a takeover marked as later is one", laterTakeover},
}

// Each scene makes a series and returns a claim of it.
var laterScenes = []struct {
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
	{"past its latest instant", func(s *stand) lock.Claim {
		s.decided(2)
		c := s.next(2)
		c.Latest = s.mark
		return c
	}, lock.Expired},
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

func laterSame(s *stand) {
	for i, scene := range laterScenes {
		var answers [2]lock.Answer
		for k, later := range []bool{false, true} {
			s.key = []string{"plain", "later"}[k] + fmt.Sprint(i)
			c := scene.set(s)
			c.Later = later
			a := s.claimed(c, scene.want)
			answers[k] = lock.Answer{Kind: a.Kind, Number: beyond(a.Number, c.Number), Mark: beyond(a.Mark, c.Number), From: beyond(a.From, s.mark),
				State: a.State, Attempt: a.Attempt}
			if a.Kind == lock.Passed && (a.Node == "" && a.Number == a.Mark || a.Node == lock.NodeOf(c.Owner)) {
				s.Errorf("%s, later %v: decided by %q", scene.name, later, a.Node)
			}
		}
		if !reflect.DeepEqual(answers[0], answers[1]) {
			s.Errorf("%s: marked as later it is answered with\n%+v, else with\n%+v", scene.name, answers[1], answers[0])
		}
	}
}

// beyond is how far a number is past another, which makes answers of different
// instants equal; nothing stays apart. A range's beginning hangs on the mark that
// the scene opened with, its end on the claim, which may be of any later instant.
func beyond(number, base int64) int64 {
	if number == 0 {
		return math.MinInt64
	}
	return number - base
}

func laterBatch(s *stand) {
	cs := s.fleet(410)
	s.grants(cs[:205])
	for i := range cs {
		cs[i].Owner, cs[i].Later = s.owner(), i%3 != 0
	}
	for i, a := range s.numbered.Claim(s.ctx, cs) {
		want, node := lock.Granted, lock.NodeOf(cs[i].Owner)
		if i < 205 {
			want = lock.Passed
		}
		if a.Kind != want || a.Number != cs[i].Number || (a.Node == node) != (i >= 205) || a.Err != nil {
			s.Fatalf("claim %d: %+v", i, a)
		}
	}
}

func laterTakeover(s *stand) {
	run := s.decided(1)
	s.ended(run, lock.NeverStarted)
	c := s.next(1)
	c.From, c.Later = run.Fence, true
	s.granted(c)
}
