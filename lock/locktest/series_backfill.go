package locktest

import (
	"time"

	"github.com/cronce/cronce/lock/series"
)

var backfillTests = []test{
	{"the runs of a backfill follow one another, each for its number", backfillRuns},
	{"a backfill is made once, and has one record", backfillOnce},
	{"a run of a backfill is not granted shortly before the next number of the spec", backfillRoom},
	{"a number of the spec goes before the next run of a backfill", backfillWaits},
	{"a run of a backfill whose node died is taken over, and the next one follows its last attempt", backfillDead},
	{"an ended backfill leaves no run that waits", backfillEnds},
	{"a pause ends a backfill, and one may be requested in it", backfillPaused},
	{"a number of the spec is never skipped because of a run of a backfill", backfillBlocks},
	{"a backfill has decided numbers, and a series one at a time", backfillBounds},
	{"a backfill waits with all its numbers while no fence is left below the bound of a day", backfillFurthest},
}

// fill returns the request for a backfill of n numbers, each a second apart. The last one is decided.
func (s *fixture) fill(n int) series.Control {
	s.Helper()
	c := s.change(series.ActionBackfill)
	last := s.look().Mark / 1000
	for i := range n {
		c.Numbers = append(c.Numbers, (last-int64(n-1-i))*1000)
	}
	return c
}

// filled sends a request for a backfill, and returns its first run as it waits.
func (s *fixture) filled(c series.Control) series.RunRef {
	s.Helper()
	a := s.makes(c)
	return series.RunRef{Key: s.key, Number: a.Number, Fence: a.Series.Fence}
}

// following returns the run of a backfill that waits, and fails the test unless it is for the number.
func (s *fixture) following(number int64, left int) series.RunRef {
	s.Helper()
	is := s.look()
	for _, r := range is.Runs {
		if r.State == series.RunWaiting && r.For == number && r.Manual() {
			equal(s, "the numbers left", is.Left, left)
			return series.RunRef{Key: s.key, Number: r.Number, Fence: r.Fence}
		}
	}
	s.Fatalf("no run waits for the number %d: %+v", number, is)
	return series.RunRef{}
}

func backfillRuns(s *fixture) {
	s.open()
	c := s.fill(3)
	waits := s.filled(c)
	equal(s, "the first run", s.following(c.Numbers[0], 2), waits)
	for i, number := range c.Numbers {
		q := s.after(waits)
		a, run := s.granted(q)
		equal(s, "the number of its work", a.For, number)
		equal(s, "the mark", a.Mark, s.mark)
		s.unchanged(func() { equal(s, "asked again, its work", s.claimed(q, series.KindGranted).For, number) })
		e := s.ended(run, series.RunDone)
		if i == len(c.Numbers)-1 {
			equal(s, "the number that waits", e.Waiting, 0)
			break
		}
		waits = s.following(c.Numbers[i+1], len(c.Numbers)-2-i)
		equal(s, "the number that waits", e.Waiting, waits.Number)
		equal(s, "its fence", e.Fence, waits.Fence)
		if waits.Number <= run.Number || waits.Number%1000 == 0 || waits.Fence <= run.Fence {
			s.Fatalf("%+v follows %+v", waits, run)
		}
	}
	is := s.look()
	equal(s, "the runs left", len(is.Runs), 0)
	equal(s, "the last success", is.Last, 0)
	s.refuses(s.change(series.ActionBackfill), series.RefusedOver)
	s.granted(s.next(1))
}

// backfillFurthest needs a clock that stands still. While no fence is left below the bound of a day, a backfill has all its numbers
// left, and no run. The first claim after that makes its run.
func backfillFurthest(s *fixture) {
	if !s.env.exact() {
		return
	}
	s.open()
	c := s.fill(2)
	last := s.ask(s.look().Now, s.mark)
	last.Fence = s.look().Now*1000 + day - 1
	_, run := s.granted(last)
	s.ended(run, series.RunDone)
	made := s.makes(c)
	equal(s, "the numbers left", made.Series.Left, 2)
	equal(s, "the number of the first run", made.Number, 0)
	s.env.Wait(time.Millisecond)
	s.claimed(s.ask(last.Number, last.After), series.KindPassed)
	s.following(c.Numbers[0], 1)
}

func backfillOnce(s *fixture) {
	s.open()
	c := s.fill(2)
	c.Scope = "02:00 to 06:00, room 5s"
	first := s.makes(c)
	s.repeats(c, first)
	for _, other := range []func(c *series.Control){
		func(c *series.Control) { c.Numbers = c.Numbers[1:] },
		func(c *series.Control) { c.Room = 1 },
		func(c *series.Control) { c.Anyway = true },
		func(c *series.Control) { c.Scope = "02:00 to 07:00, room 5s" },
		func(c *series.Control) { c.Scope = "" },
	} {
		c := c
		other(&c)
		s.refuses(c, series.RefusedOp)
	}
	records := s.audit()
	equal(s, "records", len(records), 1)
	equal(s, "the state after", records[0].After, "backfill of 2: 02:00 to 06:00, room 5s")
	if s.journaled == nil {
		return
	}
	lines := s.lines()
	equal(s, "lines", len(lines), 2)
	equal(s, "the line of the change", lines[0], series.Line{At: lines[0].At, Verdict: series.VerdictControl, From: s.mark, To: s.mark, Reason: string(series.ActionBackfill),
		Node: c.Who, Change: 1, Audit: 1})
	equal(s, "the line of the run", lines[1], series.Line{At: lines[1].At, Verdict: series.VerdictWaiting, From: first.Number, To: first.Number,
		Fence: first.Series.Fence, For: c.Numbers[0]})
}

func backfillRoom(s *fixture) {
	s.open()
	c := s.fill(1)
	c.Room = time.Minute.Milliseconds()
	waits := s.filled(c)
	q := s.after(waits)
	q.Next = s.look().Now + time.Minute.Milliseconds() - 1000
	s.unchanged(func() {
		if a := s.claimed(q, series.KindEarly); a.Wait > time.Minute-time.Second || a.Wait <= 0 {
			s.Fatalf("it waits for %v, want the next number of the spec", a.Wait)
		}
	})
	q.Overlap = series.OverlapAllow
	q.Next = s.look().Now + time.Hour.Milliseconds()
	_, run := s.granted(q)
	s.ended(run, series.RunGivenBack)
	q = s.after(run)
	q.Next = s.look().Now + time.Second.Milliseconds()
	s.unchanged(func() { s.claimed(q, series.KindEarly) }) // another attempt does not start then either
	q.Overlap, q.Attempts = series.OverlapAllow, 2
	s.granted(q)
}

func backfillWaits(s *fixture) {
	s.open()
	c := s.fill(2)
	_, run := s.starts(s.filled(c))
	s.env.Wait(5 * time.Millisecond)
	next := s.ask(s.look().Now, s.mark)
	next.Overlap = series.OverlapQueue
	number := s.claimed(next, series.KindWaiting)
	equal(s, "the number that waits", s.ended(run, series.RunDone).Waiting, next.Number)
	waits := s.following(c.Numbers[1], 0)
	_, run = s.granted(s.takes(next, number.Fence))
	equal(s, "the number that waits", s.ended(run, series.RunDone).Waiting, waits.Number)
}

func backfillDead(s *fixture) {
	s.open()
	c := s.fill(2)
	_, run := s.starts(s.filled(c))
	s.dies(run)
	a, second := s.starts(run)
	equal(s, "the attempt", a.Attempt, 2)
	equal(s, "the number of its work", a.For, c.Numbers[0])
	s.dies(second)
	q := s.after(second)
	q.Attempts = 2
	lost := s.claimed(q, series.KindPassed)
	s.settled(lost, second, series.VerdictLost)
	waits := s.following(c.Numbers[1], 0)
	s.makes(s.cancel(waits.Number))
	equal(s, "the runs left", len(s.look().Runs), 0)
}

func backfillEnds(s *fixture) {
	s.open()
	c := s.fill(3)
	_, run := s.starts(s.filled(c))
	s.makes(s.change(series.ActionBackfill))
	is := s.look()
	equal(s, "the numbers left", is.Left, 0)
	equal(s, "the runs left", len(is.Runs), 1)
	equal(s, "cancelled", s.renew(run).Cancelled, false)
	s.refuses(s.change(series.ActionBackfill), series.RefusedOver)
	s.ended(run, series.RunDone)
	waits := s.filled(s.fill(2))
	s.makes(s.change(series.ActionBackfill))
	s.cancelledFor(waits, series.VerdictSuperseded)
	equal(s, "the runs left", len(s.look().Runs), 0)
	s.claimed(s.after(waits), series.KindPassed)
}

func backfillPaused(s *fixture) {
	s.open()
	waits := s.filled(s.fill(3))
	s.env.Wait(slack)
	s.pause()
	s.refuses(s.fill(1), series.RefusedPaused)
	equal(s, "the numbers left", s.look().Left, 0)
	equal(s, "the runs left", len(s.look().Runs), 0)
	s.cancelledFor(waits, series.VerdictSuperseded)
	s.claimed(s.after(waits), series.KindPassed)
	s.env.Wait(slack)
	c := s.fill(2)
	c.Anyway = true
	_, run := s.starts(s.filled(c))
	s.ended(run, series.RunDone)
	s.resume()
	_, run = s.starts(s.following(c.Numbers[1], 0)) // a resume leaves it
	s.ended(run, series.RunDone)
}

func backfillBounds(s *fixture) {
	s.open()
	c := s.fill(2)
	c.Numbers[1] += time.Hour.Milliseconds()
	s.refuses(c, series.RefusedUndecided)
	c = s.fill(series.MaxBackfill)
	waits := s.filled(c)
	equal(s, "the numbers left", s.look().Left, series.MaxBackfill-1)
	s.refuses(s.fill(1), series.RefusedFull)
	a, run := s.starts(waits)
	s.refuses(s.change(series.ActionRetire), series.RefusedAlive)
	equal(s, "the number of its work", a.For, c.Numbers[0])
	s.ended(run, series.RunDone)
	s.following(c.Numbers[1], series.MaxBackfill-2)
	s.makes(s.change(series.ActionRetire)) // the next run waits, and ends with it
	equal(s, "the runs left", len(s.look().Runs), 0)
}

func backfillBlocks(s *fixture) {
	s.open()
	_, run := s.starts(s.filled(s.fill(1)))
	s.env.Wait(5 * time.Millisecond)
	next := s.ask(s.look().Now, s.mark)
	equal(s, "the run before", s.claimed(next, series.KindHeld).Number, run.Number)
	s.ended(run, series.RunDone)
	s.granted(next)
}
