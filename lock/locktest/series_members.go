package locktest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

var memberTests = []test{
	{"a beat returns the nodes that are alive, sorted, the asker included", memberBeats},
	{"a node that does not beat is forgotten after its time", memberDies},
	{"a node that leaves is forgotten at once", memberLeaves},
	{"a beat comes with the clock", memberClock},
	{"the list has which nodes live, which left and when, and which fell silent, and reading it changes nothing", memberRoll},
	{"a node that left and beats again lives", memberReturns},
	{"the list has how far the clock of each node is ahead", memberAhead},
	{"bad beats are refused, and a context that has ended is doubt", memberRefused},
}

func (s *fixture) beat(node string, ttl time.Duration, want ...string) series.BeatAnswer {
	s.Helper()
	p, err := s.driver.(series.Membership).Beat(s.ctx, series.Beat{Node: node, TTL: ttl})
	if err != nil {
		s.Fatalf("beat: %v", err)
	}
	if !slices.Equal(p.Nodes, want) {
		s.Fatalf("the nodes are %q, want %q", p.Nodes, want)
	}
	return p
}

func memberBeats(s *fixture) {
	s.beat("b", long, "b")
	s.beat("a", long, "a", "b")
	s.beat("a", long, "a", "b")
	s.beat("{c} é", long, "a", "b", "{c} é")
}

func memberDies(s *fixture) {
	s.beat("a", short, "a")
	s.beat("b", long, "a", "b")
	s.env.Wait(short + slack)
	s.beat("b", long, "b")
	s.beat("a", long, "a", "b")
	s.env.Wait(short + slack)
	s.beat("b", long, "a", "b")
}

func memberLeaves(s *fixture) {
	m := s.driver.(series.Membership)
	s.beat("a", long, "a")
	s.beat("b", long, "a", "b")
	for range 2 {
		if err := m.Leave(s.ctx, "a"); err != nil {
			s.Fatalf("leave: %v", err)
		}
	}
	s.beat("b", long, "b")
}

func (s *fixture) roll() (int64, map[string]series.Member) {
	s.Helper()
	r, err := s.driver.(series.Membership).Members(s.ctx)
	if err != nil {
		s.Fatalf("members: %v", err)
	}
	byName := make(map[string]series.Member, len(r.Members))
	for i, m := range r.Members {
		if i > 0 && m.Node <= r.Members[i-1].Node {
			s.Fatalf("%q comes after %q", m.Node, r.Members[i-1].Node)
		}
		byName[m.Node] = m
	}
	return r.Now, byName
}

func memberRoll(s *fixture) {
	before, all := s.roll()
	if len(all) != 0 {
		s.Fatalf("before the first beat the nodes are %+v", all)
	}
	s.beat("silent", short, "silent")
	s.beat("drained", long, "drained", "silent")
	s.beat("{l} é", long, "drained", "silent", "{l} é")
	if err := s.driver.(series.Membership).Leave(s.ctx, "never seen"); err != nil {
		s.Fatalf("leave: %v", err)
	}
	if err := s.driver.(series.Membership).Leave(s.ctx, "drained"); err != nil {
		s.Fatalf("leave: %v", err)
	}
	_, all = s.roll()
	left := all["drained"].Left
	s.env.Wait(short + slack)
	for range 2 {
		if err := s.driver.(series.Membership).Leave(s.ctx, "drained"); err != nil {
			s.Fatalf("leave once more: %v", err)
		}
		now, all := s.roll()
		equal(s, "when it left", all["drained"].Left, left)
		equal(s, "nodes", len(all), 3)
		silent, drained, lives := all["silent"], all["drained"], all["{l} é"]
		equal(s, "the silent one lives", silent.Alive(now), false)
		equal(s, "it left", silent.Left, 0)
		if d := silent.Until - before - short.Milliseconds(); d < 0 || d > 2000 {
			s.Errorf("the silent one lived until %d, its beat was at about %d", silent.Until, before)
		}
		if drained.Alive(now) || drained.Left < before || drained.Left > now {
			s.Errorf("the one that left is %+v at %d", drained, now)
		}
		if !lives.Alive(now) || lives.Left != 0 || lives.Until > now+long.Milliseconds() {
			s.Errorf("the one that lives is %+v at %d", lives, now)
		}
	}
}

func memberReturns(s *fixture) {
	s.beat("a", long, "a")
	if err := s.driver.(series.Membership).Leave(s.ctx, "a"); err != nil {
		s.Fatalf("leave: %v", err)
	}
	s.beat("b", long, "b")
	s.beat("a", long, "a", "b")
	now, all := s.roll()
	if a := all["a"]; !a.Alive(now) || a.Left != 0 {
		s.Fatalf("the node that returned is %+v", a)
	}
}

func memberAhead(s *fixture) {
	for _, b := range []series.Beat{{Node: "a", TTL: long, Ahead: 1500*time.Millisecond + 400*time.Microsecond}, {Node: "b", TTL: long, Ahead: -time.Hour}, {Node: "c", TTL: long}} {
		for _, ahead := range []time.Duration{time.Minute, b.Ahead, b.Ahead} { // only the last one counts
			b.Ahead = ahead
			if _, err := s.driver.(series.Membership).Beat(s.ctx, b); err != nil {
				s.Fatalf("beat: %v", err)
			}
		}
	}
	_, all := s.roll()
	equal(s, "ms ahead", fmt.Sprint(*all["a"].Ahead, *all["b"].Ahead, *all["c"].Ahead), "1500 -3600000 0")
}

func memberClock(s *fixture) {
	before := time.Now()
	p := s.beat("a", long, "a")
	if len(p.Readings) == 0 || p.Readings[0].Server == "" || p.Readings[0].Time.IsZero() || p.Readings[0].Sent.Before(before) {
		s.Fatalf("the readings are %+v", p.Readings)
	}
}

func memberRefused(s *fixture) {
	m := s.front()
	for _, node := range []string{"", "a|b", "a;b", "a\n", strings.Repeat("x", driver.MaxKey+1)} {
		_, err := m.Beat(s.done(), series.Beat{Node: node, TTL: long})
		s.refused(err, "node")
		s.refused(m.Leave(s.done(), node), "node")
	}
	_, err := m.Beat(s.done(), series.Beat{Node: "a", TTL: driver.MinTTL - 1})
	s.refused(err, "TTL")
	_, err = m.Beat(s.done(), series.Beat{Node: "a", TTL: long})
	s.canceled("beat", err)
	s.canceled("leave", m.Leave(s.done(), "a"))
	_, err = s.driver.(series.Membership).Members(s.done())
	s.canceled("members", err)
	s.beat("b", long, "b")
}
