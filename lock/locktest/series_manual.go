package locktest

import (
	"fmt"
	"time"

	"github.com/cronce/cronce/lock/series"
)

var manualTests = []test{
	{"a requested run is granted to a claim with its fence, and moves neither the mark nor the last success", manualRuns},
	{"a request is made once, has one record, and a number that no spec can have", manualOnce},
	{"a run is requested beside another one only if it may wait, or overlap", manualBeside},
	{"a number of the spec goes first, and the end of its run names the manual run that waits", manualWaits},
	{"a manual run whose node died is taken over under its number", manualDead},
	{"a manual run that has not started in time is missed", manualLate},
	{"in a pause a run is requested anyway, and a later pause keeps it from starting", manualPaused},
	{"a requested run that is cancelled never starts", manualCancelled},
	{"a series with a requested run is not retired, and a few may be requested", manualBounds},
	{"a skipped number never runs, and the next one does", skipNext},
	{"a skip may be taken back, and names a number that is not decided", skipBack},
}

// request returns a request for a run that may start within a minute.
func (s *fixture) request(o series.Overlap) series.Control {
	s.Helper()
	c := s.change(series.ActionRun)
	c.Overlap, c.Until = o, s.look().Now+time.Minute.Milliseconds()
	return c
}

// requested requests a run, and returns it as it waits.
func (s *fixture) requested(o series.Overlap) series.RunRef {
	s.Helper()
	a := s.makes(s.request(o))
	return series.RunRef{Key: s.key, Number: a.Number, Fence: a.Series.Fence}
}

// starts claims the run that waits, which must be granted.
func (s *fixture) starts(run series.RunRef) (series.Answer, series.RunRef) {
	s.Helper()
	return s.granted(s.after(run))
}

func manualRuns(s *fixture) {
	s.open()
	waits := s.requested(series.OverlapSkip)
	if runs := s.look().Runs; len(runs) != 1 || !runs[0].Manual() || runs[0].State != series.RunWaiting || runs[0].Number != waits.Number {
		s.Fatalf("the runs are %+v", runs)
	}
	s.last(series.VerdictWaiting, waits.Number, waits.Number)
	s.unchanged(func() { s.claimed(s.ask(waits.Number, s.mark), series.KindPassed) }) // only its fence takes it over
	c := s.after(waits)
	a, run := s.granted(c)
	equal(s, "the attempt", a.Attempt, 1)
	equal(s, "the mark", a.Mark, s.mark)
	equal(s, "the wait", a.Wait, 0)
	if a.Fence <= waits.Fence {
		s.Fatalf("the fence is %d, it waited with %d", a.Fence, waits.Fence)
	}
	s.last(series.VerdictRan, run.Number, run.Number)
	s.unchanged(func() { equal(s, "the fence", s.claimed(c, series.KindGranted).Fence, a.Fence) }) // its reply was lost
	s.unchanged(func() { s.claimed(s.after(waits), series.KindPassed) })
	equal(s, "alive", s.renew(run).Alive, true)
	s.ended(run, series.RunDone)
	is := s.look()
	equal(s, "the last success", is.Last, 0)
	equal(s, "the mark", is.Mark, s.mark)
	equal(s, "the runs left", len(is.Runs), 0)
	a, _ = s.granted(s.next(1)) // the numbers of the spec are judged as if there had been none
	if a.Fence <= run.Fence {
		s.Fatalf("the fence is %d after %d", a.Fence, run.Fence)
	}
}

func manualOnce(s *fixture) {
	s.open()
	c := s.request(series.OverlapQueue)
	c.Scope = "queue"
	first := s.makes(c)
	s.repeats(c, first)
	if first.Number%1000 == 0 || first.Number < first.Series.Now {
		s.Fatalf("the number is %d at %d", first.Number, first.Series.Now)
	}
	for _, other := range []func(c *series.Control){
		func(c *series.Control) { c.Until++ },
		func(c *series.Control) { c.Overlap = series.OverlapAllow },
		func(c *series.Control) { c.Anyway = true },
		func(c *series.Control) { c.Scope = "queue, while paused" },
		func(c *series.Control) { c.Scope = "" },
	} {
		c := c
		other(&c)
		s.refuses(c, series.RefusedOp)
	}
	second := s.makes(s.request(series.OverlapQueue))
	if second.Number <= first.Number {
		s.Fatalf("the second number is %d, the first %d", second.Number, first.Number)
	}
	records := s.audit()
	equal(s, "records", len(records), 2)
	r := records[0]
	equal(s, "the record", fmt.Sprint(r.Number, r.Who, r.Action, r.Key, r.Change, r.Before, r.After, r.Reason, r.Op),
		fmt.Sprint(1, c.Who, c.Action, s.key, 1, "running", fmt.Sprintf("run %d: queue", first.Number), c.Reason, c.Op))
	equal(s, "the state after a run without a scope", records[1].After, fmt.Sprint("run ", second.Number))
	if s.journaled == nil {
		return
	}
	lines := s.lines()
	equal(s, "lines", len(lines), 4)
	equal(s, "the line of the change", lines[0], series.Line{At: lines[0].At, Verdict: series.VerdictControl, From: s.mark, To: s.mark, Reason: string(series.ActionRun),
		Node: c.Who, Fence: first.Series.Fence, Change: 1, Audit: 1})
	equal(s, "the line of the run", lines[1], series.Line{At: lines[1].At, Verdict: series.VerdictWaiting, From: first.Number, To: first.Number, Fence: first.Series.Fence})
}

func manualBeside(s *fixture) {
	run, _ := s.beside(series.OverlapSkip)
	s.refuses(s.request(series.OverlapSkip), series.RefusedAlive)
	waits := s.requested(series.OverlapQueue)
	s.refuses(s.request(series.OverlapSkip), series.RefusedAlive) // the one that waits is about to start
	held := s.after(waits)
	held.Overlap = series.OverlapQueue
	equal(s, "the run before", s.claimed(held, series.KindHeld).Number, run.Number)
	held.Owner, held.Overlap = s.owner(), series.OverlapAllow
	s.granted(held)
	equal(s, "replaced", s.renew(run).Replaced, false)
	s.requested(series.OverlapReplace)
	equal(s, "replaced", s.renew(run).Replaced, true)
}

func manualWaits(s *fixture) {
	run, next := s.beside(series.OverlapQueue)
	waits := s.requested(series.OverlapQueue)
	s.env.Wait(5 * time.Millisecond)
	next.Number = s.look().Now
	number := s.claimed(next, series.KindWaiting)
	e := s.ended(run, series.RunDone)
	equal(s, "the number that waits", e.Waiting, next.Number)
	_, run = s.granted(s.takes(next, number.Fence))
	e = s.ended(run, series.RunDone)
	equal(s, "the number that waits", e.Waiting, waits.Number)
	equal(s, "its fence", e.Fence, waits.Fence)
	s.env.Wait(5 * time.Millisecond)
	s.granted(s.ask(s.look().Now, next.Number)) // it is not offered before a number of the spec
}

func manualDead(s *fixture) {
	s.open()
	c := s.after(s.requested(series.OverlapSkip))
	c.TTL = short
	_, run := s.granted(c)
	s.env.Wait(short + slack)
	next := s.next(1)
	next.Rerun = true
	offered := s.claimed(next, series.KindOrphan)
	equal(s, "the run to take over", offered.Number, run.Number)
	a, second := s.starts(run)
	equal(s, "the attempt", a.Attempt, 2)
	equal(s, "the end of the first attempt", s.end(run, series.RunDone).Ended, false)
	s.ended(second, series.RunDone)
	equal(s, "the mark", s.look().Mark, s.mark)
}

func manualLate(s *fixture) {
	s.open()
	request := func() series.Control { return s.request(series.OverlapSkip) }
	c, a := s.madeUntil(request, 300*time.Millisecond)
	waits := series.RunRef{Key: s.key, Number: a.Number, Fence: a.Series.Fence}
	s.passed(c.Until)
	s.settles(s.after(waits), waits, series.VerdictMissed)
	s.reason(s.last(series.VerdictMissed, waits.Number, waits.Number), series.ReasonDeadline)
	c, _ = s.madeUntil(request, 300*time.Millisecond)
	s.passed(c.Until)
	equal(s, "settled by a number of the spec", len(s.claimed(s.next(1), series.KindGranted).Settled), 1)
	c.Op = "past"
	s.refuses(c, series.RefusedPast)
}

func manualPaused(s *fixture) {
	s.open()
	before := s.requested(series.OverlapQueue)
	s.env.Wait(slack)
	s.pause()
	s.env.Wait(slack)
	s.refuses(s.request(series.OverlapQueue), series.RefusedPaused)
	s.settles(s.after(before), before, series.VerdictPaused)
	c := s.request(series.OverlapSkip)
	c.Anyway = true
	a := s.makes(c)
	equal(s, "paused", a.Series.Paused, true)
	s.claimed(s.next(1), series.KindPaused) // the pause goes on, and the run waits
	_, run := s.starts(series.RunRef{Key: s.key, Number: a.Number, Fence: a.Series.Fence})
	s.ended(run, series.RunUnstarted)
	s.resume()
	_, run = s.starts(run) // a resume leaves it
	s.ended(run, series.RunDone)
}

func manualCancelled(s *fixture) {
	s.open()
	waits := s.requested(series.OverlapSkip)
	s.makes(s.cancel(waits.Number))
	s.cancelledFor(waits, series.VerdictSuperseded)
	s.claimed(s.after(waits), series.KindPassed)
	equal(s, "the runs left", len(s.look().Runs), 0)
	_, run := s.starts(s.requested(series.OverlapSkip))
	s.makes(s.cancel(run.Number))
	equal(s, "cancelled", s.renew(run).Cancelled, true)
	s.ended(run, series.RunGivenBack)
	s.claimed(s.after(run), series.KindPassed)
}

func manualBounds(s *fixture) {
	s.open()
	for range series.MaxRequested {
		s.requested(series.OverlapQueue)
	}
	s.refuses(s.request(series.OverlapQueue), series.RefusedFull)
	s.refuses(s.change(series.ActionRetire), series.RefusedAlive)
	s.granted(s.next(1)) // none of them keeps a number of the spec from running
}

func skipNext(s *fixture) {
	s.open()
	c := s.change(series.ActionSkip)
	c.Number = s.due(2)
	first := s.makes(c)
	equal(s, "the number to skip", first.Series.Skip, s.due(2))
	equal(s, "the mark", first.Series.Mark, s.mark)
	s.repeats(c, first)
	equal(s, "the state after", s.audit()[0].After, fmt.Sprint("skip ", s.due(2)))
	_, run := s.granted(s.next(1))
	s.ended(run, series.RunDone)
	q := s.ask(s.due(2), s.due(1))
	s.claimed(q, series.KindOperator)
	s.reason(s.last(series.VerdictSkipped, s.due(1), s.due(2)), series.ReasonOperator)
	s.unchanged(func() { s.claimed(q, series.KindOperator) })
	equal(s, "the number to skip", s.look().Skip, 0)
	s.granted(s.ask(s.due(3), s.due(2)))
}

func skipBack(s *fixture) {
	s.open()
	c := s.change(series.ActionSkip)
	c.Number = s.due(1)
	s.makes(c)
	back := s.change(series.ActionSkip)
	equal(s, "the number to skip", s.makes(back).Series.Skip, 0)
	_, run := s.granted(s.next(1))
	c.Op = "decided"
	s.refuses(c, series.RefusedOver)
	ahead := s.change(series.ActionSkip)
	ahead.Number = s.look().Now + time.Hour.Milliseconds()
	s.makes(ahead)
	until := s.change(series.ActionPause)
	until.Until = s.look().Now + time.Hour.Milliseconds()
	equal(s, "the number to skip in a pause", s.makes(until).Series.Skip, ahead.Number)
	equal(s, "the number to skip after it", s.resume().Skip, ahead.Number)
	s.ended(run, series.RunDone)
}
