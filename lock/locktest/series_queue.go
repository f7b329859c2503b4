package locktest

import (
	"time"

	"github.com/cronce/cronce/lock/series"
)

var queueTests = []test{
	{"the end of a run names the number that waits, and that is then granted", queueRuns},
	{"a newer waiting number supersedes the older one in the same step", queueSuperseded},
	{"a waiting number cannot be taken over while the run is alive", queueTooSoon},
	{"a waiting number is offered to the next claim when the run is over", queueOffered},
	{"a waiting number past its deadline is missed", queueMissed},
	{"a waiting number whose run died is granted once", queueDied},
	{"a run that died and may run again goes before the number that waits", queueRepeats},
	{"a waiting number waits for all runs that are alive", queueAll},
	{"while paused a waiting number is not named and not granted", queuePaused},
	{"its owner, asking again after it was taken over, is not granted", queueAgain},
	{"a replaced run may take its time; what waits runs after it", queueReplaced},
}

// wait records a number that waits for the run of due(1), and returns its claim and the fence with
// which it can be taken over.
func (s *fixture) wait(o series.Overlap) (run series.RunRef, c series.Claim, fence int64) {
	s.Helper()
	run, c = s.beside(o)
	return run, c, s.claimed(c, series.KindWaiting).Fence
}

// takes returns the claim that takes the waiting number over.
func (s *fixture) takes(c series.Claim, fence int64) series.Claim {
	c.Owner, c.From = s.owner(), fence
	return c
}

func queueRuns(s *fixture) {
	run, c, fence := s.wait(series.OverlapQueue)
	e := s.ended(run, series.RunDone)
	equal(s, "what waits", e.Waiting, c.Number)
	equal(s, "its fence", e.Fence, fence)
	s.unchanged(func() {
		again := s.ended(run, series.RunDone)
		equal(s, "what waits, asked again", again, e)
	})
	a, second := s.granted(s.takes(c, fence))
	equal(s, "the attempt", a.Attempt, 1)
	equal(s, "the mark", a.Mark, c.Number)
	if a.Fence <= fence {
		s.Fatalf("the fence is %d, that of waiting was %d", a.Fence, fence)
	}
	s.unchanged(func() { s.claimed(s.takes(c, fence), series.KindPassed) })
	equal(s, "what waits", s.ended(second, series.RunDone).Waiting, 0)
}

func queueSuperseded(s *fixture) {
	run, c, fence := s.wait(series.OverlapQueue)
	s.env.Wait(5 * time.Millisecond)
	newer := s.ask(s.look().Now, c.Number)
	newer.Overlap = series.OverlapQueue
	a := s.claimed(newer, series.KindWaiting)
	s.settled(a, series.RunRef{Number: c.Number, Fence: fence}, series.VerdictSuperseded)
	if lines := s.lines(); s.journaled != nil {
		l := lines[len(lines)-2]
		if l.Verdict != series.VerdictSuperseded || l.To != c.Number || l.From != c.Number {
			s.Fatalf("the line before the newest is %+v, want %d superseded", l, c.Number)
		}
	}
	s.unchanged(func() { s.claimed(s.takes(c, fence), series.KindPassed) })
	equal(s, "what waits", s.ended(run, series.RunDone).Waiting, newer.Number)
}

func queueTooSoon(s *fixture) {
	run, c, fence := s.wait(series.OverlapQueue)
	s.unchanged(func() {
		for _, o := range []series.Overlap{series.OverlapQueue, series.OverlapAllow} {
			t := s.takes(c, fence)
			t.Overlap = o
			a := s.claimed(t, series.KindHeld)
			equal(s, "the number in the way", a.Number, run.Number)
		}
	})
}

func queueOffered(s *fixture) {
	run, c, fence := s.wait(series.OverlapQueue)
	s.ended(run, series.RunDone)
	next := s.ask(s.look().Now, c.Number)
	if next.Number == c.Number {
		s.env.Wait(2 * time.Millisecond)
		next = s.ask(s.look().Now, c.Number)
	}
	s.unchanged(func() {
		a := s.claimed(next, series.KindOrphan)
		equal(s, "the number", a.Number, c.Number)
		equal(s, "the fence", a.Fence, fence)
		equal(s, "the state", a.State, series.RunWaiting)
	})
}

func queueMissed(s *fixture) {
	run, c, fence := s.wait(series.OverlapQueue)
	s.env.Wait(20 * time.Millisecond)
	s.ended(run, series.RunDone)
	c.Deadline = 5 * time.Millisecond
	s.settles(s.takes(c, fence), series.RunRef{Number: c.Number, Fence: fence}, series.VerdictMissed)
}

func queueDied(s *fixture) {
	s.open()
	first := s.next(1)
	first.TTL = short
	s.granted(first)
	s.env.Wait(5 * time.Millisecond)
	c := s.ask(s.look().Now, s.due(1))
	c.Overlap = series.OverlapQueue
	fence := s.claimed(c, series.KindWaiting).Fence
	s.env.Wait(short + slack)
	next := s.ask(s.look().Now, c.Number)
	next.Overlap = series.OverlapQueue
	a := s.claimed(next, series.KindOrphan) // the dead run may not run again, so it is settled first
	equal(s, "the number that is offered", a.Number, c.Number)
	s.settled(a, series.RunRef{Number: first.Number, Fence: s.fenceOf(a)}, series.VerdictLost)
	s.granted(s.takes(c, fence))
	s.claimed(s.takes(c, fence), series.KindPassed)
}

func queueRepeats(s *fixture) {
	s.open()
	first := s.next(1)
	first.TTL, first.Rerun, first.Attempts, first.Overlap = short, true, 3, series.OverlapQueue
	_, dead := s.granted(first)
	s.env.Wait(5 * time.Millisecond)
	c := s.ask(s.look().Now, s.due(1))
	c.Rerun, c.Attempts, c.Overlap = true, 3, series.OverlapQueue
	fence := s.claimed(c, series.KindWaiting).Fence
	s.env.Wait(short + slack)
	s.unchanged(func() {
		a := s.claimed(s.takes(c, fence), series.KindOrphan)
		equal(s, "the number that goes first", a.Number, dead.Number)
		equal(s, "its fence", a.Fence, dead.Fence)
	})
	again := c
	again.Number, again.Owner, again.From = dead.Number, s.owner(), dead.Fence
	_, second := s.granted(again)
	s.unchanged(func() { s.claimed(s.takes(c, fence), series.KindHeld) })
	equal(s, "what waits", s.ended(second, series.RunDone).Waiting, c.Number)
	s.granted(s.takes(c, fence))
}

func queueAll(s *fixture) {
	run, c, fence := s.wait(series.OverlapQueue)
	s.env.Wait(5 * time.Millisecond)
	beside := s.ask(s.look().Now, c.Number)
	beside.Overlap = series.OverlapAllow
	_, second := s.granted(beside)
	equal(s, "what waits", s.ended(run, series.RunDone).Waiting, 0)
	s.unchanged(func() { s.claimed(s.takes(c, fence), series.KindHeld) })
	equal(s, "what waits", s.ended(second, series.RunDone).Waiting, c.Number)
}

// fenceOf returns the fence of the only run that the answer settled.
func (s *fixture) fenceOf(a series.Answer) int64 {
	if len(a.Settled) == 0 {
		return 0
	}
	return a.Settled[0].Fence
}

func queuePaused(s *fixture) {
	run, c, fence := s.wait(series.OverlapQueue)
	s.pause()
	equal(s, "what waits", s.ended(run, series.RunDone).Waiting, 0)
	a := s.claimed(s.takes(c, fence), series.KindPassed)
	s.settled(a, series.RunRef{Number: c.Number, Fence: fence}, series.VerdictPaused)
	s.last(series.VerdictPaused, c.Number, c.Number)
}

func queueAgain(s *fixture) {
	run, c, fence := s.wait(series.OverlapQueue)
	s.ended(run, series.RunDone)
	_, second := s.granted(s.takes(c, fence))
	s.unchanged(func() {
		if a := s.claim(c); a.Kind == series.KindGranted {
			s.Fatalf("granted twice: %+v", a)
		}
	})
	s.ended(second, series.RunDone)
	s.unchanged(func() {
		if a := s.claim(c); a.Kind == series.KindGranted {
			s.Fatalf("granted twice: %+v", a)
		}
	})
}

func queueReplaced(s *fixture) {
	run, c, fence := s.wait(series.OverlapReplace)
	for range 3 {
		r := s.renew(run)
		equal(s, "alive", r.Alive, true)
		equal(s, "replaced", r.Replaced, true)
	}
	e := s.ended(run, series.RunDone)
	equal(s, "what waits", e.Waiting, c.Number)
	_, second := s.granted(s.takes(c, fence))
	equal(s, "replaced", s.renew(second).Replaced, false)
}
