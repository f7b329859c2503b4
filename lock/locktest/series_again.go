package locktest

import (
	"context"
	"errors"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

// A lost reply makes its owner repeat the request: each request that is sent twice must get the
// same answer and change nothing more.
var againTests = []test{
	{"each answer to a claim is given again", againClaims},
	{"a renewal, an ending, an opening, a pause and a resume are answered again", againOthers},
	{"after a grant its owner is answered so whatever others ask meanwhile", againBetween},
	{"a late claim is expired, and only a granted owner gets its grant", againLate},
	{"a context that has ended is doubt in each answer, and nothing is done", againDoubt},
}

// twice claims c twice: the second answer must equal the first, and nothing may change.
func (s *fixture) twice(what string, c series.Claim, want series.Kind) series.Answer {
	s.Helper()
	first := s.claimed(c, want)
	s.unchanged(func() {
		second := s.claimed(c, want)
		if first.Number != second.Number || first.Fence != second.Fence || first.Attempt != second.Attempt || first.Mark != second.Mark {
			s.Fatalf("%s: asked again\n%+v, at first\n%+v", what, second, first)
		}
	})
	return first
}

func againClaims(s *fixture) {
	s.twice("no mark", s.ask(1, 0), series.KindUnknown)
	s.open()
	late := s.next(1)
	late.Deadline = 0
	s.twice("a miss", late, series.KindMissed)
	s.twice("a gap", s.ask(s.due(5), s.due(4)), series.KindGap)
	s.twice("the future", s.ask(s.look().Now+60_000, 0), series.KindEarly)
	a := s.twice("a grant", s.ask(s.due(3), s.due(1)), series.KindGranted)
	s.twice("a takeover of an alive run", series.Claim{Key: s.key, Owner: s.owner(), Number: a.Number, From: a.Fence, TTL: long, Attempts: 1, Latest: driver.MaxNumber}, series.KindPassed)
	s.env.Wait(5 * time.Millisecond)
	skip := s.ask(s.look().Now, a.Number)
	s.twice("a skip", skip, series.KindSkipped)
	s.env.Wait(5 * time.Millisecond)
	queue := s.ask(s.look().Now, skip.Number)
	queue.Overlap = series.OverlapQueue
	s.twice("a wait", queue, series.KindWaiting)
	s.pause()
	s.env.Wait(5 * time.Millisecond)
	s.twice("a pause", s.ask(s.look().Now, queue.Number), series.KindPaused)
}

func againOthers(s *fixture) {
	s.open()
	_, run := s.granted(s.next(1))
	equal(s, "the renewal", s.renew(run), s.renew(run))
	equal(s, "the ending", s.ended(run, series.RunGivenBack), s.ended(run, series.RunGivenBack))
	for _, action := range []series.Action{series.ActionPause, series.ActionResume} {
		c := s.change(action)
		s.repeats(c, s.makes(c))
	}
	o := series.OpenRequest{Key: s.key, Node: "n", Revision: "r1"}
	s.unchanged(func() { equal(s, "since", s.opened(o).Since, s.opened(o).Since) })
}

func againBetween(s *fixture) {
	s.open()
	c := s.next(1)
	first, _ := s.granted(c)
	s.claimed(s.next(1), series.KindPassed)
	s.env.Wait(5 * time.Millisecond)
	s.claimed(s.ask(s.look().Now, s.due(1)), series.KindSkipped)
	again, run := s.granted(c)
	equal(s, "the fence", again.Fence, first.Fence)
	s.ended(run, series.RunDone)
}

func againLate(s *fixture) {
	s.open()
	past := s.look().Now - 5
	late := func(c series.Claim) series.Claim {
		c.Latest = past
		return c
	}
	c := s.next(1)
	s.unchanged(func() { s.claimed(late(c), series.KindExpired) })
	first, run := s.granted(c)
	s.unchanged(func() {
		again, _ := s.granted(late(c))
		equal(s, "the fence", again.Fence, first.Fence)
		s.claimed(late(s.after(run)), series.KindExpired)
		s.claimed(late(s.ask(s.due(2), s.due(1))), series.KindExpired)
		s.claimed(late(s.ask(s.look().Now+60_000, 0)), series.KindExpired)
	})
	s.ended(run, series.RunDone)
	s.unchanged(func() { s.claimed(late(c), series.KindOver) })
}

func againDoubt(s *fixture) {
	s.open()
	_, run := s.granted(s.next(1))
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	s.unchanged(func() {
		as := s.numbered.Claim(ctx, []series.Claim{s.next(2), s.next(3)})
		equal(s, "answers", len(as), 2)
		for _, a := range as {
			s.canceled("claim", a.Err)
			equal(s, "the kind", a.Kind, series.KindUnknown)
		}
		s.canceled("renew", s.numbered.RenewRuns(ctx, []series.RunRef{run})[0].Err)
		s.canceled("release", s.numbered.ReleaseRuns(ctx, []series.EndRequest{{RunRef: run}})[0].Err)
		s.canceled("open", s.numbered.Open(ctx, []series.OpenRequest{{Key: "new", Node: "n"}})[0].Err)
		s.canceled("look", s.numbered.ReadSeries(ctx, []string{s.key})[0].Err)
		s.canceled("pause", s.controlled.Control(ctx, s.change(series.ActionPause)).Err)
		_, err := s.controlled.Audit(ctx, "", 0)
		s.canceled("audit", err)
	})
	s.key = "new"
	equal(s, "the mark of the series that was to be opened", s.look().Mark, 0)
}

func (s *fixture) canceled(what string, err error) {
	s.Helper()
	if !errors.Is(err, context.Canceled) {
		s.Errorf("%s: the error is %v, want one that wraps context.Canceled", what, err)
	}
}
