package locktest

import (
	"fmt"
	"time"

	"github.com/cronce/cronce/lock/series"
)

// seen opens the series for a node that has a spec and did not open it before.
func (s *fixture) seen(node, spec string, unseen time.Duration) series.Series {
	s.Helper()
	s.env.Wait(5 * time.Millisecond)
	return s.opened(series.OpenRequest{Key: s.key, Node: node, Revision: "of " + spec, Spec: spec, Zone: "UTC", Unseen: unseen})
}

func journalBack(s *fixture) {
	const unseen = 100 * time.Millisecond
	first := s.seen("a", "0 9 * * *", unseen)
	s.seen("b", "0 18 * * *", unseen)
	equal(s, "since, both in use", s.seen("c", "0 9 * * *", time.Hour).Since, first.Since)
	s.env.Wait(unseen)
	s.seen("b", "0 18 * * *", 0)
	equal(s, "since, on a node that was there", s.seen("a", "0 9 * * *", 0).Since, first.Since)
	s.env.Wait(unseen)
	equal(s, "since, after a stop of all nodes", s.seen("c", "0 9 * * *", unseen).Since, first.Since)
	s.env.Wait(unseen)
	s.seen("b", "0 18 * * *", 0)
	back := s.seen("c", "0 9 * * *", unseen)
	equal(s, "since, back", back.Since, back.Now)
	s.env.Wait(5 * time.Millisecond)
	again := s.opened(series.OpenRequest{Key: s.key, Node: "c", Revision: "of another year", Spec: "0 9 * * *", Zone: "UTC"})
	equal(s, "since, by another revision", again.Since, back.Since)

	var got []string
	for _, u := range s.journal(0).Revisions {
		got = append(got, fmt.Sprintf("%s %t", u.Spec, u.Since == u.First))
		if u.Since == first.Since && (u.Last <= u.First || u.Last >= back.Now) {
			s.Errorf("the use before the break is kept as %+v", u)
		}
	}
	equal(s, "the uses", fmt.Sprint(got), "[0 9 * * * true 0 18 * * * true 0 9 * * * true 0 9 * * * false]")
}

func journalRevisionsOfSpec(s *fixture) {
	of := func(revision, spec string, unseen time.Duration) series.Series {
		s.Helper()
		s.env.Wait(5 * time.Millisecond)
		return s.opened(series.OpenRequest{Key: s.key, Node: "of " + revision, Revision: revision, Spec: spec, Zone: "UTC", Unseen: unseen})
	}
	first := of("r1", "0 9 * * *", 0)
	of("r2", "0 9 * * *", 0)
	of("other", "0 18 * * *", 0)
	of("r2", "0 9 * * *", 0)
	equal(s, "since, by the revision that was seen before the other spec", of("r1", "0 9 * * *", time.Millisecond).Since, first.Since)
}

func journalFormer(s *fixture) {
	former := func(of series.Series) (specs string) {
		for _, u := range of.Former {
			specs += u.Spec + ";"
		}
		return specs
	}
	a := s.seen("a", "0 9 * * *", 0)
	equal(s, "of the first spec", former(a), "")
	b := s.seen("b", "0 18 | * *", 0)
	equal(s, "the former", former(b), "0 9 * * *;")
	for _, u := range s.journal(0).Revisions {
		if u.Spec == "0 9 * * *" {
			equal(s, "the use", b.Former[0], u)
		}
	}
	equal(s, "two", former(s.seen("c", "0 20 * * *", 0)), "0 9 * * *;0 18 | * *;")

	s.mark = a.Mark
	s.env.Wait(50 * time.Millisecond)
	c := s.ask(s.look().Now-1, a.Mark)
	s.granted(c)
	equal(s, "behind the mark", former(s.seen("c", "0 20 * * *", 0)), "")
	s.env.Wait(50 * time.Millisecond)
	s.seen("b", "0 18 | * *", 0)
	equal(s, "seen since", former(s.seen("c", "0 20 * * *", 0)), "0 9 * * *;0 18 | * *;")
}
