package locktest

import (
	"strings"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

var nameTests = []test{
	{"series differ by every byte of their key", namesApart},
	{"a series and a plain lease of one name are two things", namesPlain},
	{"owners, revisions and outcomes are kept to the byte", namesKept},
}

func namesApart(s *fixture) {
	keys := []string{"a", "A", "a.b", "a-b", "a_b", "a b", "{a}", "a{b}", "a:b", "a%3Ab", "a|b", "a;b", "a/b", "a*", "é", "e\u0301",
		"键", "👩\u200d🔧", strings.Repeat("x", driver.MaxKey), strings.Repeat("x", driver.MaxKey-1), strings.Repeat("键", 66)}
	fences := make(map[string]int64)
	for _, key := range keys {
		s.key = key
		s.open()
		a, _ := s.granted(s.next(1))
		fences[key] = a.Fence
	}
	for i, is := range s.numbered.ReadSeries(s.ctx, keys) {
		if is.Err != nil || is.Key != keys[i] || len(is.Runs) != 1 || is.Runs[0].Fence != fences[keys[i]] {
			s.Fatalf("series %q: %+v", keys[i], is)
		}
	}
	if s.journaled == nil {
		return
	}
	listed, err := s.journaled.Keys(s.ctx)
	if err != nil || len(listed) != len(keys) {
		s.Fatalf("the series are %q, %v", listed, err)
	}
	for _, key := range listed {
		if fences[key] == 0 {
			s.Errorf("the list has %q, which was not opened", key)
		}
	}
}

func namesPlain(s *fixture) {
	s.key = "key"
	s.open()
	_, h := s.acquire(s.acquisition(long))
	_, run := s.granted(s.next(1))
	s.release(h)
	equal(s, "alive", s.renew(run).Alive, true)
	_, h = s.acquire(s.acquisition(long))
	s.ended(run, series.RunDone)
	h.TTL = long
	if _, err := s.driver.Renew(s.ctx, h); err != nil {
		s.Fatalf("the plain lease: %v", err)
	}
}

func namesKept(s *fixture) {
	for _, name := range []string{"n/o/d/e", "a b", "a:b,c", "a%7Cb", `a"b\c`, "{a}", "é👩\u200d🔧", strings.Repeat("x", 198)} {
		s.key += "+"
		s.open()
		c := s.next(1)
		c.Owner, c.Revision = name+"/1", name
		_, run := s.granted(c)
		equal(s, "the owner", s.look().Runs[0].Owner, c.Owner)
		a := s.claimed(s.next(1), series.KindPassed)
		equal(s, "the node", a.Node, name)
		out := s.numbered.ReleaseRuns(s.ctx, []series.EndRequest{{RunRef: run, Outcome: name}})
		equal(s, "ended", out[0].Ended, true)
		if s.journaled != nil {
			l := s.lines()[0]
			equal(s, "the line's node", l.Node, name)
			equal(s, "the line's revision", l.Revision, name)
			equal(s, "the line's outcome", l.Outcome, name)
		}
	}
}
