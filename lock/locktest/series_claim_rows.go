package locktest

import (
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

// The rows of the claim, in the order of their precedence.
var claimTests = []test{
	{"row 0: without a mark the answer is unknown and nothing is written", rowNoMark},
	{"row 1: the owner of an alive run is granted it again with the same fence and what is left", rowAgain},
	{"a grant that too few replicas have is undone, or refused where none can be waited for", claimReplicas},
	{"row 1: the owner of a run that is over is never granted again", rowAgainOver},
	{"row 1: the owner that spent the mark gets the same answer again", rowAgainSpent},
	{"row 2: past the latest instant nothing is done", rowExpired},
	{"row 2: past the latest instant the owner of an alive run still gets its grant", rowExpiredOwner},
	{"row 3: a number of the future is early and comes with the wait", rowEarly},
	{"row 3: inside the tolerance a grant carries the wait", rowTolerance},
	{"row 3: inside the tolerance nothing is spent", rowToleranceSpends},
	{"row 3: a mark in the future is doubt", rowAhead},
	{"row 4: a takeover with another fence is passed and changes nothing", rowTakeoverFence},
	{"row 4: a takeover of an alive run is passed and changes nothing", rowTakeoverAlive},
	{"row 4: a takeover while paused settles the run", rowTakeoverPaused},
	{"row 4: a takeover beyond the attempts settles the run as lost", rowTakeoverAttempts},
	{"row 4: a takeover of a run that may not run again settles it as lost", rowTakeoverNoRerun},
	{"row 4: a takeover of an unstarted run past its deadline settles it as missed", rowTakeoverUnstarted},
	{"row 4: a takeover is the next attempt with a higher fence and leaves the mark", rowTakeover},
	{"row 5: a decided number is passed, and the run is named while it is known", rowPassed},
	{"row 6: a claim that does not know all numbers since the mark is answered with the gap", rowGap},
	{"row 7: a run that is over and may run again is named first", rowOrphan},
	{"row 7: a run that is over and may not is settled on the way", rowSettled},
	{"row 8: a paused series spends the number and all before it as paused", rowPaused},
	{"row 9: past its deadline a number is missed", rowMissed},
	{"row 9: the asker names the reason of a miss", rowMissedMisfire},
	{"row 9: a number of a former spec is missed, whatever its deadline", rowRespecified},
	{"row 10: a number due while a run is alive is skipped", rowSkipped},
	{"row 10: under queue the number waits", rowQueued},
	{"row 10: under replace the number waits and the renewal of the run reports it", rowReplaced},
	{"row 10: a number due before the run was granted is held and not spent", rowHeld},
	{"row 10: where numbers wait for the run, one due before it was granted does, too", rowDueBefore},
	{"row 10: backlog is held and not spent", rowBacklog},
	{"row 11: a due number is granted as attempt 1", rowGranted},
	{"row 11: the numbers between are missed in the same step", rowBetween},
	{"row 11: where overlap is allowed a run beside another is granted", rowAllowed},
}

func rowNoMark(s *fixture) {
	c := s.ask(1, 0)
	s.unchanged(func() {
		a := s.claimed(c, series.KindUnknown)
		equal(s, "the mark", a.Mark, 0)
	})
}

func rowAgain(s *fixture) {
	s.open()
	c := s.next(1)
	first, _ := s.granted(c)
	s.env.Wait(100 * time.Millisecond)
	s.unchanged(func() {
		again, _ := s.granted(c)
		equal(s, "the fence asked for again", again.Fence, first.Fence)
		equal(s, "the attempt", again.Attempt, 1)
		if again.Left > c.TTL-100*time.Millisecond || again.Left <= 0 {
			s.Fatalf("100ms later %v are left of %v", again.Left, c.TTL)
		}
	})
}

func rowAgainOver(s *fixture) {
	for _, how := range []series.RunState{series.RunDone, series.RunUnstarted, series.RunGivenBack} {
		s.key += "+"
		s.open()
		c := s.next(1)
		_, run := s.granted(c)
		s.ended(run, how)
		s.unchanged(func() { s.claimed(c, series.KindOver) })
	}
	s.key += "+"
	s.open()
	c := s.next(1)
	c.TTL = short
	s.granted(c)
	s.env.Wait(short + slack)
	s.unchanged(func() { s.claimed(c, series.KindOver) })
}

func rowAgainSpent(s *fixture) {
	s.open()
	c := s.next(2)
	c.Deadline = 0
	s.claimed(c, series.KindMissed)
	s.unchanged(func() {
		a := s.claimed(c, series.KindMissed)
		equal(s, "the number", a.Number, c.Number)
	})
	other := c
	other.Owner = s.owner()
	s.unchanged(func() {
		a := s.claimed(other, series.KindPassed)
		equal(s, "who decided it", a.Node, driver.NodeOf(c.Owner))
	})
	s.granted(s.ask(s.due(3), s.due(2)))
	s.unchanged(func() { s.claimed(c, series.KindPassed) }) // it is no longer the mark
}

func rowExpired(s *fixture) {
	s.open()
	c := s.next(1)
	c.Latest = s.look().Now - 10
	s.unchanged(func() { s.claimed(c, series.KindExpired) })
	c.Latest = s.look().Now + time.Minute.Milliseconds()
	if s.env.exact() {
		c.Latest = s.look().Now
	}
	s.granted(c)
}

func rowExpiredOwner(s *fixture) {
	s.open()
	c := s.next(1)
	first, _ := s.granted(c)
	c.Latest = s.mark
	s.unchanged(func() {
		again, _ := s.granted(c)
		equal(s, "the fence", again.Fence, first.Fence)
	})
	other := s.next(1)
	other.Latest = s.mark
	s.unchanged(func() { s.claimed(other, series.KindExpired) })
}

func rowEarly(s *fixture) {
	s.open()
	now := s.look().Now
	s.unchanged(func() {
		a := s.claimed(s.ask(now+10_000, now), series.KindEarly)
		s.within("the wait", a.Wait, 10*time.Second)
	})
	if s.env.exact() {
		s.unchanged(func() { s.claimed(s.ask(now+21, s.mark), series.KindEarly) })
	}
}

func rowTolerance(s *fixture) {
	s.open()
	now := s.look().Now
	a, _ := s.granted(s.ask(now+20, s.mark))
	if a.Wait > 20*time.Millisecond || s.env.exact() && a.Wait != 20*time.Millisecond {
		s.Fatalf("the wait of a number due in 20ms is %v", a.Wait)
	}
}

func rowToleranceSpends(s *fixture) {
	s.open()
	_, run := s.granted(s.next(1))
	now := s.look().Now
	c := s.ask(now+20, s.due(1))
	if a := s.claim(c); s.env.exact() && (a.Kind != series.KindEarly || a.Wait != 20*time.Millisecond) {
		s.Fatalf("20ms before its instant, beside an alive run: %v, wait %v, want early, 20ms", name(a.Kind), a.Wait)
	}
	s.env.Wait(20 * time.Millisecond)
	s.claimed(c, series.KindSkipped)
	s.ended(run, series.RunDone)
	s.pause()
	c = s.ask(s.look().Now+20, c.Number)
	if a := s.claim(c); s.env.exact() && a.Kind != series.KindEarly {
		s.Fatalf("20ms before its instant, while paused: %v, want early", name(a.Kind))
	}
}

func rowAhead(s *fixture) {
	now := s.look().Now
	s.opened(series.OpenRequest{Key: s.key, Node: "opener", Revision: "r1", Mark: now + 3_600_000})
	s.unchanged(func() { s.claimed(s.ask(now, 0), series.KindAhead) })
	s.unchanged(func() {
		c := s.ask(now, 0)
		c.From = 1
		s.claimed(c, series.KindAhead)
	})
}

func rowPassed(s *fixture) {
	s.open()
	c := s.next(2)
	_, run := s.granted(c)
	s.unchanged(func() {
		a := s.claimed(s.next(2), series.KindPassed)
		equal(s, "who has it", a.Node, driver.NodeOf(c.Owner))
		equal(s, "the state", a.State, series.RunOpen)
		equal(s, "the fence", a.Fence, run.Fence)
		s.within("left", a.Left, long)
		s.claimed(s.next(1), series.KindPassed)
	})
	s.ended(run, series.RunDone)
	s.unchanged(func() { s.claimed(s.next(2), series.KindPassed) })
}

func rowGap(s *fixture) {
	s.open()
	s.unchanged(func() {
		a := s.claimed(s.ask(s.due(3), s.due(2)), series.KindGap)
		equal(s, "the mark", a.Mark, s.mark)
		if a.Now < s.mark {
			s.Fatalf("the store's now is %d, before the mark %d", a.Now, s.mark)
		}
	})
}

func rowMissed(s *fixture) {
	s.open()
	c := s.next(2)
	c.Deadline = time.Millisecond
	a := s.claimed(c, series.KindMissed)
	equal(s, "the mark", a.Mark, c.Number)
	equal(s, "where the mark stood", a.From, s.mark)
	l := s.last(series.VerdictMissed, s.mark, c.Number)
	s.reason(l, series.ReasonDeadline)
	equal(s, "the runs", len(s.look().Runs), 0)
	if s.env.exact() {
		now := s.look().Now
		late := s.ask(now-5, c.Number)
		late.Deadline = 4 * time.Millisecond
		s.claimed(late, series.KindMissed)
		c = s.ask(now, now-5)
		c.Deadline = 0 // at its own instant it is not late
		s.granted(c)
	}
}

func rowMissedMisfire(s *fixture) {
	s.open()
	c := s.next(2)
	c.Deadline, c.Late = 0, series.ReasonMisfire
	s.claimed(c, series.KindMissed)
	s.reason(s.last(series.VerdictMissed, s.mark, c.Number), series.ReasonMisfire)
}

// A number of a former spec is never granted, even before its deadline, and nothing about it is
// decided before it is due. Other runs that were left may still run.
func rowRespecified(s *fixture) {
	s.open()
	now := s.look().Now
	c := s.ask(now+15, s.mark)
	c.Late = series.ReasonRespecified
	if a := s.claim(c); a.Kind != series.KindEarly && a.Kind != series.KindMissed {
		s.Fatalf("a number that is not due: %v", name(a.Kind))
	} else if a.Kind == series.KindMissed && a.Now < c.Number {
		s.Fatalf("it was spent %d ms early", c.Number-a.Now)
	}
	s.env.Wait(30 * time.Millisecond)
	s.mark = s.look().Mark
	c = s.ask(s.look().Now-1, s.mark)
	c.Late, c.Between, c.Revision = series.ReasonRespecified, 2, "r0"
	s.claimed(c, series.KindMissed)
	s.claimed(c, series.KindMissed) // repeated
	l := s.last(series.VerdictMissed, s.mark, c.Number)
	s.reason(l, series.ReasonRespecified)
	if s.journaled != nil {
		equal(s, "between", l.Between, series.VerdictMissed)
		equal(s, "the revision", l.Revision, "r0")
	}
}

// reason checks the reason of a line, if the store keeps a journal.
func (s *fixture) reason(l series.Line, want string) {
	s.Helper()
	if s.journaled != nil {
		equal(s, "the reason", l.Reason, want)
	}
}

func rowGranted(s *fixture) {
	s.open()
	c := s.next(1)
	a, run := s.granted(c)
	equal(s, "the attempt", a.Attempt, 1)
	equal(s, "the number", a.Number, c.Number)
	equal(s, "the mark", a.Mark, c.Number)
	equal(s, "where the mark stood", a.From, s.mark)
	equal(s, "the wait", a.Wait, 0)
	equal(s, "left", a.Left, c.TTL)
	l := s.last(series.VerdictRan, s.mark, c.Number)
	if s.journaled != nil {
		equal(s, "the line's node", l.Node, driver.NodeOf(c.Owner))
		equal(s, "the line's fence", l.Fence, run.Fence)
		equal(s, "the line's revision", l.Revision, c.Revision)
		equal(s, "the verdict between", l.Between, "")
	}
	runs := s.look().Runs
	if len(runs) != 1 || runs[0].Owner != c.Owner || runs[0].State != series.RunOpen || runs[0].Until <= a.Now {
		s.Fatalf("the runs are %+v", runs)
	}
}

func rowBetween(s *fixture) {
	s.open()
	c := s.next(4)
	c.Between = 3
	a, _ := s.granted(c)
	equal(s, "the mark", a.Mark, c.Number)
	if l := s.last(series.VerdictRan, s.mark, c.Number); s.journaled != nil {
		equal(s, "the verdict between", l.Between, series.VerdictMissed)
	}
	s.unchanged(func() { s.claimed(s.next(3), series.KindPassed) })
}

func rowAllowed(s *fixture) {
	s.open()
	first, second := s.next(1), s.ask(s.due(2), s.due(1))
	second.Overlap = series.OverlapAllow
	a, one := s.granted(first)
	b, two := s.granted(second)
	if b.Fence <= a.Fence {
		s.Fatalf("fences %d, then %d", a.Fence, b.Fence)
	}
	equal(s, "the runs", len(s.look().Runs), 2)
	s.ended(one, series.RunDone)
	equal(s, "the second is alive", s.renew(two).Alive, true)
	s.ended(two, series.RunDone)
}
