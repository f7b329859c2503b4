package locktest

import (
	"time"

	"github.com/cronce/cronce/lock/series"
)

var openingTests = []test{
	{"a series that was never opened has no mark, and nothing opens it but an opening", openNothingElse},
	{"an opening creates the mark at the store's now", openAtNow},
	{"an opening creates the mark at the highest mark the node has seen, if that is later", openAtMark},
	{"a series begins in the past if it is new and the opening asks for that", openBegin},
	{"an opening asked again moves nothing", openAgain},
	{"an opening returns since when its revision is in use, and of another node's", openRevisions},
	{"an opening without a revision is not recorded as one", openNoRevision},
	{"a look reads and opens nothing", openLook},
}

func openNothingElse(s *fixture) {
	s.unchanged(func() {
		run := series.RunRef{Key: s.key, Number: 1, Owner: "n/1", Fence: 1, TTL: long}
		s.claimed(s.ask(1, 0), series.KindUnknown)
		equal(s, "a renewal", s.renew(run).Alive, false)
		equal(s, "a release", s.end(run, series.RunDone).Ended, false)
		s.control(s.change(series.ActionPause))
		s.control(s.change(series.ActionResume))
	})
	equal(s, "the mark", s.look().Mark, 0)
	if s.journaled != nil {
		keys, err := s.journaled.Keys(s.ctx)
		if err != nil || len(keys) != 0 {
			s.Fatalf("the series are %q, %v, want none", keys, err)
		}
	}
}

func openAtNow(s *fixture) {
	before := s.look().Now
	is := s.opened(series.OpenRequest{Key: s.key, Node: "n", Revision: "r1"})
	if is.Mark < before || is.Mark > is.Now {
		s.Fatalf("the mark is %d, want %d to %d", is.Mark, before, is.Now)
	}
	equal(s, "the key", is.Key, s.key)
	equal(s, "the mark that a look sees", s.look().Mark, is.Mark)
}

func openAtMark(s *fixture) {
	now := s.look().Now
	is := s.opened(series.OpenRequest{Key: s.key, Node: "n", Mark: now + 3_600_000})
	equal(s, "the mark", is.Mark, now+3_600_000)
	s.key = "other"
	is = s.opened(series.OpenRequest{Key: s.key, Node: "n", Mark: 1})
	if is.Mark < now {
		s.Fatalf("the mark is %d, before the store's now %d", is.Mark, now)
	}
}

func openBegin(s *fixture) {
	before := s.look().Now
	begin := before - 60_000
	o := series.OpenRequest{Key: s.key, Node: "n", Revision: "r1", Spec: "@at", Zone: "UTC", Begin: begin}
	for range 2 {
		is := s.opened(o)
		equal(s, "the mark", is.Mark, begin)
		equal(s, "since when the spec is in force", is.Since, begin)
	}
	c := s.ask(begin+1, begin)
	c.Deadline = time.Hour
	s.granted(c)
	o.Begin = begin - 60_000
	equal(s, "the mark of a series that is there", s.opened(o).Mark, begin+1)
	other := o
	other.Revision, other.Spec = "r2", "@at later"
	if is := s.opened(other); is.Since < before {
		s.Fatalf("another spec is in force since %d, before %d", is.Since, before)
	}
	o.Key, o.Mark = "seen", begin-1000
	equal(s, "the mark of a node that has seen a later one", s.opened(o).Mark, begin-1000)
	o.Key, o.Mark, o.Begin = "ahead", 0, before+3_600_000
	if is := s.opened(o); is.Mark < before || is.Mark > is.Now || is.Since != is.Mark {
		s.Fatalf("the mark is %d and the spec in force since %d, want %d to %d", is.Mark, is.Since, before, is.Now)
	}
}

func openAgain(s *fixture) {
	s.open()
	s.granted(s.next(1))
	s.unchanged(func() {
		is := s.opened(series.OpenRequest{Key: s.key, Node: "other", Revision: "r1", Mark: s.look().Now + 1000})
		equal(s, "the mark", is.Mark, s.due(1))
		equal(s, "the runs", len(is.Runs), 1)
	})
}

func openRevisions(s *fixture) {
	open := func(node, revision string) series.Series {
		s.env.Wait(5 * time.Millisecond)
		return s.opened(series.OpenRequest{Key: s.key, Node: node, Revision: revision, Spec: "spec of " + revision, Zone: "UTC"})
	}
	first := open("a", "r1")
	equal(s, "since", first.Since, first.Mark)
	equal(s, "another revision", first.Other, "")
	second := open("b", "r2") // r1 has not been used since r2 is
	equal(s, "another revision", second.Other, "")
	if second.Since <= first.Since {
		s.Fatalf("r2 was seen first at %d, r1 at %d", second.Since, first.Since)
	}
	again := open("a", "r1")
	equal(s, "since", again.Since, first.Since)
	equal(s, "another revision", again.Other, "r2")
	equal(s, "another revision", open("b", "r2").Other, "r1")
	equal(s, "another revision", open("c", "r3").Other, "")
	equal(s, "the latest other revision", open("a", "r1").Other, "r3")
	s.key = "other"
	open("a", "r1")
	open("a", "r2")
	equal(s, "another node's revision, of a node that is alone", open("a", "r1").Other, "")
}

func openNoRevision(s *fixture) {
	is := s.opened(series.OpenRequest{Key: s.key, Node: "a"})
	equal(s, "since", is.Since, 0)
	s.env.Wait(5 * time.Millisecond)
	equal(s, "another revision", s.opened(series.OpenRequest{Key: s.key, Node: "b", Revision: "r1"}).Other, "")
}

func openLook(s *fixture) {
	s.open()
	all := s.numbered.ReadSeries(s.ctx, []string{"unknown", s.key, "unknown"})
	if len(all) != 3 || all[0].Err != nil || all[1].Err != nil || all[2].Err != nil {
		s.Fatalf("the answers are %+v", all)
	}
	equal(s, "the key", all[0].Key, "unknown")
	equal(s, "the mark", all[0].Mark, 0)
	equal(s, "the mark", all[1].Mark, s.mark)
	if all[0].Now == 0 {
		s.Fatal("a look at an unknown series does not tell the store's now")
	}
}
