package locktest

import (
	"github.com/cronce/cronce/lock/series"
)

var runTests = []test{
	{"a renewal moves the deadline of an alive run", runRenewed},
	{"a renewal after the deadline is lost and does not revive the run", runRenewedLate},
	{"a renewal under another owner, fence or number is lost and changes nothing", runRenewedByOther},
	{"a renewal of an ended run is lost", runRenewedEnded},
	{"an ended run makes room for the next number", runEnded},
	{"an ending that is ok is the series' last success, another is not", runLast},
	{"an ending asked again is accepted and changes nothing", runEndedTwice},
	{"an ending after the deadline is accepted while nobody settled the run", runEndedLate},
	{"an ending after the run was settled is lost and changes nothing", runEndedSettled},
	{"an ending after a takeover is lost and leaves the next attempt alone", runEndedTaken},
	{"an ending under another owner or fence is lost and changes nothing", runEndedByOther},
	{"an ending of another kind than the first is lost", runEndedOther},
	{"an unstarted run may be taken over whatever the policy, and is no counted attempt", runUnstarted},
	{"an unstarted later attempt is judged as an attempt and not by the deadline", runUnstartedLater},
	{"a run that was given back may be taken over by the next attempt", runGivenBack},
	{"a takeover past the window settles the run as lost", runWindow},
	{"a takeover is granted at the last instant of the window, and of the deadline, to the millisecond", runLastInstant},
	{"the deadline binds the first attempt only", runDeadline},
	{"a replaced run is not run again", runReplaced},
	{"a replaced run that never started is superseded", runReplacedUnstarted},
	{"a number due since the first attempt began is skipped beside a later one", runOverlapAttempts},
	{"a number due before an unstarted run was granted again is held", runOverlapUnstarted},
	{"a lease ends at its deadline to the millisecond", runDeadlineExact},
	{"a takeover waits for another run that is alive", runBlocked},
}

func runRenewed(s *fixture) {
	s.open()
	c := s.next(1)
	c.TTL = short
	_, run := s.granted(c)
	run.TTL = long
	r := s.renew(run)
	equal(s, "alive", r.Alive, true)
	equal(s, "left", r.Left, long)
	s.env.Wait(short + slack)
	a := s.claimed(s.next(1), series.KindPassed)
	equal(s, "the state past the first deadline", a.State, series.RunOpen)
	if a.Left <= 0 {
		s.Fatal("the run is over")
	}
}

func runRenewedLate(s *fixture) {
	run := s.dead()
	run.TTL = long
	s.unchanged(func() { equal(s, "alive", s.renew(run).Alive, false) })
	s.granted(s.after(run))
}

func runRenewedByOther(s *fixture) {
	s.open()
	_, run := s.granted(s.next(1))
	owner, fence, number, key := run, run, run, run
	owner.Owner, fence.Fence, number.Number, key.Key = "other/1", run.Fence+1, s.due(2), "other"
	s.unchanged(func() {
		for _, r := range []series.RunRef{owner, fence, number, key} {
			equal(s, "alive", s.renew(r).Alive, false)
		}
	})
	equal(s, "alive", s.renew(run).Alive, true)
}

func runRenewedEnded(s *fixture) {
	for _, how := range []series.RunState{series.RunDone, series.RunUnstarted, series.RunGivenBack} {
		s.key += "+"
		s.open()
		_, run := s.granted(s.next(1))
		s.ended(run, how)
		s.unchanged(func() { equal(s, "alive", s.renew(run).Alive, false) })
	}
}

func runEnded(s *fixture) {
	s.open()
	_, run := s.granted(s.next(1))
	e := s.ended(run, series.RunDone)
	equal(s, "what waits", e.Waiting, 0)
	equal(s, "the runs", len(s.look().Runs), 0)
	s.granted(s.ask(s.due(2), s.due(1)))
}

func runLast(s *fixture) {
	s.open()
	_, run := s.granted(s.next(1))
	s.ended(run, series.RunDone)
	a, second := s.granted(s.ask(s.due(2), s.due(1)))
	equal(s, "the last success", a.Last, s.due(1))
	out := s.numbered.ReleaseRuns(s.ctx, []series.EndRequest{{RunRef: second, State: series.RunDone, Outcome: series.OutcomeFailed}})
	equal(s, "ended", out[0].Ended, true)
	equal(s, "the last success", s.look().Last, s.due(1))
	_, older := s.granted(s.ask(s.due(3), s.due(2)))
	newer := s.ask(s.due(4), s.due(3))
	newer.Overlap = series.OverlapAllow
	_, run = s.granted(newer)
	s.ended(run, series.RunDone)
	s.ended(older, series.RunDone)
	equal(s, "the last success, by number", s.look().Last, s.due(4))
}

func runEndedTwice(s *fixture) {
	for _, how := range []series.RunState{series.RunDone, series.RunUnstarted, series.RunGivenBack} {
		s.key += "+"
		s.open()
		_, run := s.granted(s.next(1))
		s.ended(run, how)
		s.unchanged(func() { s.ended(run, how) })
	}
}

func runEndedLate(s *fixture) {
	run := s.dead()
	s.ended(run, series.RunDone)
	s.unchanged(func() { s.claimed(s.after(run), series.KindPassed) })
	equal(s, "the last success", s.look().Last, run.Number)
}

func runEndedSettled(s *fixture) {
	run := s.dead()
	c := s.after(run)
	c.Rerun = false
	s.settles(c, run, series.VerdictLost)
	s.unchanged(func() {
		for _, how := range []series.RunState{series.RunDone, series.RunUnstarted, series.RunGivenBack} {
			equal(s, "ended", s.end(run, how).Ended, false)
		}
	})
}

func runEndedTaken(s *fixture) {
	run := s.dead()
	_, second := s.granted(s.after(run))
	s.unchanged(func() {
		for _, how := range []series.RunState{series.RunDone, series.RunUnstarted, series.RunGivenBack} {
			equal(s, "ended", s.end(run, how).Ended, false)
		}
		equal(s, "alive", s.renew(run).Alive, false)
	})
	s.ended(second, series.RunDone)
}

func runEndedByOther(s *fixture) {
	s.open()
	_, run := s.granted(s.next(1))
	owner, fence, number, key := run, run, run, run
	owner.Owner, fence.Fence, number.Number, key.Key = "other/1", run.Fence-1, s.due(2), "other"
	s.unchanged(func() {
		for _, r := range []series.RunRef{owner, fence, number, key} {
			equal(s, "ended", s.end(r, series.RunDone).Ended, false)
		}
	})
	s.ended(run, series.RunDone)
}

func runEndedOther(s *fixture) {
	all := []series.RunState{series.RunDone, series.RunUnstarted, series.RunGivenBack}
	for _, how := range all {
		s.key += "+"
		s.open()
		_, run := s.granted(s.next(1))
		s.ended(run, how)
		s.unchanged(func() {
			for _, other := range all {
				equal(s, "ended", s.end(run, other).Ended, other == how)
			}
		})
	}
}
