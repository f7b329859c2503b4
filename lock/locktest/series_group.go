package locktest

import (
	"time"

	"github.com/cronce/cronce/lock/series"
)

var groupTests = []test{
	{"a group is decided from when that is kept, and each other group is not", groupKept},
	{"a group is kept for some seconds", groupLife},
	{"a store that forgets its decisions forgets which groups are decided", groupForgotten},
	{"a request about a group whose context has ended is doubt, and keeps nothing", groupDoubt},
}

// groups are groups that differ from the first in one value each.
func groups() []series.Group {
	g := series.Group{At: 1_700_000_000_000, Count: 100, Sum: 1<<64 - 1}
	later, fewer, other := g, g, g
	later.At++
	fewer.Count = 10
	other.Sum--
	return []series.Group{g, later, fewer, other}
}

// isDecided asks whether a group is decided.
func (s *fixture) isDecided(g series.Group) bool {
	s.Helper()
	is, err := s.driver.(series.GroupPeeker).Decided(s.ctx, g)
	if err != nil {
		s.Fatalf("decided: %v", err)
	}
	return is
}

func (s *fixture) keepDecided(g series.Group) {
	s.Helper()
	if err := s.driver.(series.GroupPeeker).KeepDecided(s.ctx, g); err != nil {
		s.Fatalf("keep decided: %v", err)
	}
}

func groupKept(s *fixture) {
	for i, g := range groups() {
		for k, other := range groups() {
			if is, want := s.isDecided(other), k < i; is != want {
				s.Errorf("after %d groups were kept, group %d is decided: %v, want %v", i, k, is, want)
			}
		}
		s.keepDecided(g)
		s.keepDecided(g)
	}
}

func groupLife(s *fixture) {
	g := groups()[0]
	s.keepDecided(g)
	if s.env.SetClock == nil {
		return
	}
	s.step(series.GroupLife / 2)
	if !s.isDecided(g) {
		s.Errorf("a group is not decided %v after that was kept", series.GroupLife/2)
	}
	s.step(series.GroupLife/2 + time.Second)
	if s.isDecided(g) {
		s.Errorf("a group is still decided %v after that was kept", series.GroupLife+time.Second)
	}
}

func groupForgotten(s *fixture) {
	if s.env.Forget == nil {
		return
	}
	g := groups()[0]
	s.keepDecided(g)
	s.forget()
	if s.isDecided(g) {
		s.Errorf("a store that has forgotten all has a group as decided")
	}
}

func groupDoubt(s *fixture) {
	g := groups()[0]
	s.canceled("keep decided", s.driver.(series.GroupPeeker).KeepDecided(s.done(), g))
	if s.isDecided(g) {
		s.Errorf("a request whose context had ended has kept a group")
	}
	s.keepDecided(g)
	is, err := s.driver.(series.GroupPeeker).Decided(s.done(), g)
	s.canceled("decided", err)
	if is {
		s.Errorf("a request in doubt says that a group is decided")
	}
}
