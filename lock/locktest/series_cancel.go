package locktest

import (
	"fmt"
	"time"

	"github.com/cronce/cronce/lock/series"
)

var cancelTests = []test{
	{"the renewal of a cancelled run says so, and its end is accepted as it is", cancelAlive},
	{"a cancel is made once, has one record and one line, and moves nothing", cancelOnce},
	{"a cancelled run is not granted again to its own owner, whose reply was lost", cancelGranted},
	{"a cancelled run whose node died is lost, and nobody takes it over", cancelDead},
	{"a cancelled run that is given back, or never started, is settled by that", cancelGivenBack},
	{"a run that is over when it is cancelled is settled at once", cancelOver},
	{"a number that waits and is cancelled never runs", cancelWaiting},
	{"a cancel names a run that is not settled, and the attempt that the caller has read", cancelRefused},
	{"a cancelled run may be replaced, and a replaced one cancelled", cancelReplaced},
	{"a cancel in a pause ends no pause", cancelPaused},
}

// cancel returns a cancel of any attempt of a number.
func (s *fixture) cancel(number int64) series.Control {
	c := s.change(series.ActionCancel)
	c.Reason, c.Number = "it hangs", number
	return c
}

func cancelAlive(s *fixture) {
	run, later := s.beside(series.OverlapSkip)
	equal(s, "cancelled", s.renew(run).Cancelled, false)
	is := s.makes(s.cancel(run.Number)).Series
	equal(s, "alive runs", len(is.Runs), 1)
	equal(s, "cancelled", is.Runs[0].Cancelled, true)
	a := s.renew(run)
	equal(s, "alive", a.Alive, true)
	equal(s, "cancelled", a.Cancelled, true)
	equal(s, "replaced", a.Replaced, false)
	s.claimed(later, series.KindSkipped) // it runs until it has ended
	s.ended(run, series.RunDone)
	s.unchanged(func() { s.ended(run, series.RunDone) })
	equal(s, "the last success", s.look().Last, run.Number)
	s.env.Wait(5 * time.Millisecond)
	s.granted(s.ask(s.look().Now, later.Number))
}

func cancelOnce(s *fixture) {
	s.open()
	_, run := s.granted(s.next(1))
	c := s.cancel(run.Number)
	c.Fence = run.Fence
	first := s.makes(c)
	equal(s, "the mark", first.Series.Mark, run.Number)
	equal(s, "the change", first.Series.Change, 1)
	equal(s, "the latest change", first.Latest, series.Change{Action: series.ActionCancel, Op: c.Op, Who: c.Who, Reason: c.Reason, At: first.Series.Now})
	s.repeats(c, first)
	for _, other := range []func(c *series.Control){
		func(c *series.Control) { c.Number++ },
		func(c *series.Control) { c.Fence = 0 },
	} {
		c := c
		other(&c)
		s.refuses(c, series.RefusedOp)
	}
	records := s.audit()
	equal(s, "records", len(records), 1)
	r := records[0]
	equal(s, "the record", fmt.Sprint(r.Number, r.Who, r.Action, r.Key, r.Change, r.Before, r.After, r.Reason, r.Op),
		fmt.Sprint(1, c.Who, c.Action, s.key, 1, "running", fmt.Sprint("cancelled ", run.Number), c.Reason, c.Op))
	s.changed(series.ActionCancel, 1)
	if s.journaled != nil {
		lines := s.lines()
		l := lines[len(lines)-1]
		equal(s, "the line", l, series.Line{At: l.At, Verdict: series.VerdictControl, From: run.Number, To: run.Number, Reason: string(series.ActionCancel),
			Node: c.Who, Fence: run.Fence, Attempt: 1, Change: 1, Audit: 1})
	}
}

func cancelGranted(s *fixture) {
	s.open()
	c := s.next(1)
	_, run := s.granted(c)
	s.makes(s.cancel(run.Number))
	s.unchanged(func() {
		a := s.claimed(c, series.KindOver)
		equal(s, "the fence", a.Fence, run.Fence)
	})
}

func cancelDead(s *fixture) {
	s.open()
	c := s.next(1)
	_, run := s.granted(c)
	s.makes(s.cancel(run.Number))
	s.dies(run)
	s.unchanged(func() { s.claimed(c, series.KindOver) })
	s.settles(s.after(run), run, series.VerdictLost)
	s.cancelledFor(run, series.VerdictLost)
	equal(s, "its end is accepted", s.end(run, series.RunDone).Ended, false)
}

// cancelledFor fails the test unless the run was settled because of its cancel.
func (s *fixture) cancelledFor(run series.RunRef, v series.Verdict) {
	s.Helper()
	for _, l := range s.lines() {
		if l.Verdict == v && l.To == run.Number {
			equal(s, "the reason", l.Reason, series.ReasonCancelled)
			equal(s, "the fence", l.Fence, run.Fence)
			return
		}
	}
	if s.journaled != nil {
		s.Fatalf("the journal has no line %q of %d", v, run.Number)
	}
}

func cancelGivenBack(s *fixture) {
	for i, how := range []series.RunState{series.RunGivenBack, series.RunUnstarted} {
		s.key = fmt.Sprint("cancelled ", i)
		s.open()
		_, run := s.granted(s.next(1))
		s.makes(s.cancel(run.Number))
		s.ended(run, how)
		s.unchanged(func() { s.ended(run, how) }) // asked again, it answers the same
		equal(s, "the runs left", len(s.look().Runs), 0)
		s.claimed(s.after(run), series.KindPassed)
		if s.journaled != nil {
			lines := s.lines()
			outcome := ""
			for _, l := range lines {
				if l.To == run.Number && l.Outcome != "" {
					outcome = l.Outcome
				}
			}
			equal(s, "the outcome", outcome, series.OutcomeCancelled)
		}
	}
}

func cancelOver(s *fixture) {
	run := s.dead()
	s.makes(s.cancel(run.Number))
	equal(s, "the runs left", len(s.look().Runs), 0)
	s.cancelledFor(run, series.VerdictLost)
	s.claimed(s.after(run), series.KindPassed)
	for i, how := range []series.RunState{series.RunGivenBack, series.RunUnstarted} {
		s.key = fmt.Sprint("over ", i)
		s.open()
		_, run := s.granted(s.next(1))
		s.ended(run, how)
		s.makes(s.cancel(run.Number))
		equal(s, "the runs left", len(s.look().Runs), 0)
		if how == series.RunUnstarted {
			s.cancelledFor(run, series.VerdictSuperseded)
		} else {
			s.cancelledFor(run, series.VerdictLost)
		}
		s.claimed(s.after(run), series.KindPassed)
	}
}

func cancelWaiting(s *fixture) {
	run, c, fence := s.wait(series.OverlapQueue)
	s.makes(s.cancel(c.Number))
	s.cancelledFor(series.RunRef{Number: c.Number, Fence: fence}, series.VerdictSuperseded)
	equal(s, "alive", s.renew(run).Alive, true)
	equal(s, "the number that waits", s.ended(run, series.RunDone).Waiting, 0)
	s.claimed(s.takes(c, fence), series.KindPassed)
}

func cancelRefused(s *fixture) {
	s.key = "never opened"
	s.refuses(s.cancel(1), series.RefusedNotOpen)
	s.key = "opened"
	s.open()
	s.refuses(s.cancel(s.due(1)), series.RefusedOver)
	_, run := s.granted(s.next(1))
	other := s.cancel(run.Number)
	other.Fence = run.Fence - 1
	s.refuses(other, series.RefusedFence)
	seen := s.cancel(run.Number)
	seen.Seen = 7
	s.refuses(seen, series.RefusedChanged)
	s.makes(s.cancel(run.Number))
	s.refuses(s.cancel(run.Number), series.RefusedCancelled)
	s.ended(run, series.RunDone)
	s.refuses(s.cancel(run.Number), series.RefusedOver)
}

func cancelReplaced(s *fixture) {
	for i, replacedFirst := range []bool{true, false} {
		s.key = fmt.Sprint("replaced ", i)
		run, newer := s.beside(series.OverlapReplace)
		if replacedFirst {
			s.claimed(newer, series.KindWaiting)
		}
		s.makes(s.cancel(run.Number))
		if !replacedFirst {
			s.claimed(newer, series.KindWaiting)
		}
		a := s.renew(run)
		equal(s, "cancelled and replaced", a.Alive && a.Cancelled && a.Replaced, true)
		equal(s, "the number that waits", s.ended(run, series.RunGivenBack).Waiting, newer.Number)
	}
}

func cancelPaused(s *fixture) {
	s.open()
	_, run := s.granted(s.next(1))
	was := s.pause()
	is := s.makes(s.cancel(run.Number)).Series
	equal(s, "the pause", is.Pause, was.Pause)
	equal(s, "paused", is.Paused, true)
	s.ended(run, series.RunDone)
	s.claimed(s.ask(s.due(3), s.due(1)), series.KindPaused)
	equal(s, "paused", s.resume().Paused, false)
}
