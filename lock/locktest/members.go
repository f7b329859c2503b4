package locktest

import (
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/lock"
)

var memberTests = []test{
	{"a beat tells of the nodes that are alive, sorted, the asker included", memberBeats},
	{"a node that does not beat is forgotten after its time", memberDies},
	{"a node that leaves is forgotten at once", memberLeaves},
	{"a beat comes with the clock", memberClock},
	{"bad beats are refused, and a context that has ended is doubt", memberRefused},
}

func (s *stand) beat(node string, ttl time.Duration, want ...string) lock.Pulse {
	s.Helper()
	p, err := s.driver.(lock.Membership).Beat(s.ctx, node, ttl)
	if err != nil {
		s.Fatalf("beat: %v", err)
	}
	if !slices.Equal(p.Nodes, want) {
		s.Fatalf("the nodes are %q, want %q", p.Nodes, want)
	}
	return p
}

func memberBeats(s *stand) {
	s.beat("b", long, "b")
	s.beat("a", long, "a", "b")
	s.beat("a", long, "a", "b")
	s.beat("{c} é", long, "a", "b", "{c} é")
}

func memberDies(s *stand) {
	s.beat("a", short, "a")
	s.beat("b", long, "a", "b")
	s.env.Wait(short + slack)
	s.beat("b", long, "b")
	s.beat("a", long, "a", "b")
	s.env.Wait(short + slack)
	s.beat("b", long, "a", "b")
}

func memberLeaves(s *stand) {
	m := s.driver.(lock.Membership)
	s.beat("a", long, "a")
	s.beat("b", long, "a", "b")
	for range 2 {
		if err := m.Leave(s.ctx, "a"); err != nil {
			s.Fatalf("leave: %v", err)
		}
	}
	s.beat("b", long, "b")
}

func memberClock(s *stand) {
	before := time.Now()
	p := s.beat("a", long, "a")
	if len(p.Readings) == 0 || p.Readings[0].Server == "" || p.Readings[0].Time.IsZero() || p.Readings[0].Sent.Before(before) {
		s.Fatalf("the readings are %+v", p.Readings)
	}
}

func memberRefused(s *stand) {
	m := s.driver.(lock.Membership)
	for _, node := range []string{"", "a|b", "a;b", "a\n", strings.Repeat("x", lock.MaxKey+1)} {
		_, err := m.Beat(s.done(), node, long)
		s.refused(err, "node")
		s.refused(m.Leave(s.done(), node), "node")
	}
	_, err := m.Beat(s.done(), "a", lock.MinTTL-1)
	s.refused(err, "TTL")
	_, err = m.Beat(s.done(), "a", long)
	s.canceled("beat", err)
	s.canceled("leave", m.Leave(s.done(), "a"))
	s.beat("b", long, "b")
}
