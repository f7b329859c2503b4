package locktest

import (
	"slices"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

var shardTests = []test{
	{"a number is divided once, and each shard is granted once", shardGranted},
	{"claims of one batch share the shards of a number", shardBatch},
	{"a repeated claim of shards gets the same shards and fences", shardRepeated},
	{"an owner that was granted no shard asks as if for the first time", shardNone},
	{"the first claim of a number fixes its layout", shardLayout},
	{"a store divides a number into as many shards as it says", shardMost},
	{"a shard that is granted before its number is due waits for it", shardEarly},
	{"a shard whose node died is taken over with a higher fence, or is lost", shardDead},
	{"a shard that was given back runs again, and an unstarted one has the attempt before it", shardGivenBack},
	{"a free shard starts in the window of its opening, to the millisecond", shardWindow},
	{"an older number with free shards, of which none runs, is offered first", shardOrphan},
	{"a number that is due while a shard runs is judged by its overlap, although others may start", shardOverlap},
	{"a waiting number is opened after the sum", shardWaiting},
	{"a waiting number is opened by the claim that settles the shards before it", shardWaitingSettled},
	{"the shards of a replaced number do not run again", shardReplaced},
	{"a manual run is divided like a number", shardManual},
	{"the fences of shards lie below the bound of a day, too", shardFurthest},
}

// divide returns the claim of due(i) that divides it into n shards, and takes those in want.
func (s *fixture) divide(i int64, n int, want ...int) series.Claim {
	c := s.next(i)
	c.Rerun = true
	c.Sharding = &series.Sharding{Shards: n, Want: want, Most: max(1, len(want))}
	return c
}

// shared sends a claim that must be granted, and returns the shards that it was granted.
func (s *fixture) shared(c series.Claim) (series.Answer, []series.RunRef) {
	s.Helper()
	a := s.claimed(c, series.KindGranted)
	refs := make([]series.RunRef, len(a.Shards))
	for i, g := range a.Shards {
		s.within("left", g.Left, c.TTL)
		refs[i] = series.RunRef{Key: c.Key, Number: c.Number, Owner: c.Owner, Fence: g.Fence, TTL: c.TTL, Shard: g.Shard, Shards: a.Of}
	}
	return a, refs
}

// takesOne sends a claim that must be granted one shard, and returns it.
func (s *fixture) takesOne(c series.Claim) (series.Answer, series.RunRef) {
	s.Helper()
	a, refs := s.shared(c)
	equal(s, "granted shards", len(refs), 1)
	return a, refs[0]
}

// indexes returns the granted shards of an answer.
func indexes(a series.Answer) (all []int) {
	for _, g := range a.Shards {
		all = append(all, g.Shard)
	}
	return all
}

// hasShards fails the test unless the answer grants these shards.
func (s *fixture) hasShards(a series.Answer, want ...int) {
	s.Helper()
	if got := indexes(a); !slices.Equal(got, want) {
		s.Fatalf("the granted shards are %v, want %v\nanswer %+v", got, want, a)
	}
}

func shardGranted(s *fixture) {
	s.open()
	c := s.divide(1, 4, 2, 7, 0) // the number has no shard 7
	c.Sharding.Params = []string{"north", "south", "east|;,+"}
	a, mine := s.shared(c)
	s.hasShards(a, 0, 2)
	equal(s, "the mark before", a.From, s.mark)
	equal(s, "the mark", a.Mark, c.Number)
	equal(s, "shards", a.Of, 4)
	equal(s, "free ones", a.Free, 2)
	equal(s, "the parameter", a.Shards[1].Param, "east|;,+")
	if a.Fence >= mine[1].Fence || mine[1].Fence >= mine[0].Fence {
		s.Fatalf("the fences do not rise from the opening on in the order of the choice: %+v", a)
	}
	other := s.divide(1, 4, 0, 1, 2, 3)
	other.Sharding.Most = 1
	b, _ := s.shared(other)
	s.hasShards(b, 1)
	equal(s, "the fence of the number", b.Fence, a.Fence)
	equal(s, "free ones", b.Free, 1)
	if b.Shards[0].Fence <= mine[0].Fence {
		s.Fatalf("the fence is %d, after %d", b.Shards[0].Fence, mine[0].Fence)
	}
	last := s.divide(1, 4, 0, 1, 2, 3)
	last.From = a.Fence // as after an orphan
	b, _ = s.shared(last)
	s.hasShards(b, 3)
	equal(s, "the parameter", b.Shards[0].Param, "")
	s.unchanged(func() {
		b = s.claimed(s.divide(1, 4, 0, 1, 2, 3), series.KindPassed)
		equal(s, "free ones", b.Free, 0)
		equal(s, "the state", b.State, series.RunOpen)
		s.within("left", b.Left, long)
		s.claimed(s.next(1), series.KindPassed)
		s.claimed(s.after(series.RunRef{Number: c.Number, Fence: a.Fence}), series.KindPassed)
	})
	equal(s, "shards of the run", s.look().Runs[0].Shards, 4)
	equal(s, "shards of its sheet", len(s.look().Sheet.Shards), 4)
	if l := s.last(series.VerdictRan, s.mark, c.Number); s.journaled != nil {
		equal(s, "the fence in the journal", l.Fence, a.Fence)
		equal(s, "shards in the journal", l.Shards, 4)
	}
}

func shardBatch(s *fixture) {
	s.open()
	cs := make([]series.Claim, 4)
	for i := range cs {
		cs[i] = s.divide(1, 3, 0, 1, 2)
		cs[i].Sharding.Most = 1
	}
	for i, a := range s.numbered.Claim(s.ctx, cs) {
		if a.Err != nil {
			s.Fatal(a.Err)
		}
		if i == 3 {
			equal(s, "the kind", name(a.Kind), "passed")
			continue
		}
		equal(s, "the kind", name(a.Kind), "granted")
		s.hasShards(a, i)
	}
}

func shardRepeated(s *fixture) {
	s.open()
	c := s.divide(1, 4, 3, 1)
	a, refs := s.shared(c)
	again := func(want ...int) {
		s.Helper()
		s.unchanged(func() {
			b, same := s.shared(c)
			s.hasShards(b, want...)
			for _, r := range same {
				if !slices.Contains(refs, r) {
					s.Fatalf("asked again, the claim is granted %+v, at first %+v", r, refs)
				}
			}
			equal(s, "the fence of the number", b.Fence, a.Fence)
		})
	}
	again(1, 3)
	c.Sharding.Want, c.Sharding.Most = []int{0, 1, 2, 3}, 4
	again(1, 3)
	c.Sharding.Most = 1 // the caller has given its slots to others meanwhile
	again(1, 3)
	s.ended(refs[0], series.RunGivenBack)
	again(3)
	s.ended(refs[1], series.RunDone)
	s.unchanged(func() { equal(s, "granted shards", len(s.claimed(c, series.KindOver).Shards), 0) })
}

func shardNone(s *fixture) {
	s.open()
	c := s.divide(1, 2, 5)
	a, _ := s.shared(c)
	s.hasShards(a)
	equal(s, "free ones", a.Free, 2)
	equal(s, "the mark", a.Mark, c.Number)
	s.unchanged(func() { s.claimed(c, series.KindPassed) })
	c.Sharding.Want = []int{1}
	a, _ = s.shared(c)
	s.hasShards(a, 1)
}

func shardLayout(s *fixture) {
	s.open()
	first := s.divide(1, 2, 0)
	first.Sharding.Params = []string{"a", "b"}
	_, one := s.takesOne(first)
	other := s.divide(1, 4, 3, 2, 1, 0)
	other.Sharding.Params, other.Sharding.FailAll = []string{"w", "x", "y", "z"}, true
	a, two := s.takesOne(other)
	s.hasShards(a, 1)
	equal(s, "shards", a.Of, 2)
	equal(s, "the parameter", a.Shards[0].Param, "b")
	s.fails(one)
	s.summed(s.ended(two, series.RunDone).Sum, series.Sum{Number: first.Number, Outcome: series.OutcomeFailed, Shards: 2, OK: 1, Failed: 1})
	a, _ = s.shared(s.divide(2, 4, 3))
	equal(s, "shards of the next number", a.Of, 4)
}

func shardMost(s *fixture) {
	s.open()
	most := s.driver.(series.Sharder).MostShards()
	c := s.divide(1, most+1, 0)
	s.refused(s.front().Claim(s.done(), []series.Claim{c})[0].Err, "shards")
	c = s.divide(1, most)
	for i := range most {
		c.Sharding.Want = append(c.Sharding.Want, most-1-i)
	}
	c.Sharding.Most = most
	_, refs := s.shared(c)
	equal(s, "granted shards", len(refs), most)
	es := make([]series.EndRequest, most)
	for i := range es {
		es[i] = series.EndRequest{RunRef: refs[i], Outcome: series.OutcomeOK, OK: true}
	}
	var sums []*series.Sum // a store may split the batch, in any order
	for i, a := range s.numbered.ReleaseRuns(s.ctx, es) {
		if a.Err != nil || !a.Ended {
			s.Fatalf("the end of shard %d is answered %+v", i, a)
		}
		if a.Sum != nil {
			sums = append(sums, a.Sum)
		}
	}
	equal(s, "sums", len(sums), 1)
	s.summed(sums[0], series.Sum{Number: c.Number, Outcome: series.OutcomeOK, Shards: most, OK: most})
	equal(s, "shards in the journal", len(s.sheet(c.Number, most)), most)
}

func shardEarly(s *fixture) {
	if !s.env.exact() {
		return
	}
	s.open()
	now := s.look().Now
	c, other := s.divide(1, 2, 0), s.divide(1, 2, 1)
	c.Number, other.Number = now+15, now+15
	a, _ := s.takesOne(c)
	equal(s, "the wait of the first shard", a.Wait, 15*time.Millisecond)
	s.env.Wait(5 * time.Millisecond)
	a, _ = s.takesOne(other)
	equal(s, "the wait of the second shard", a.Wait, 10*time.Millisecond)
	equal(s, "the wait of the first shard, asked again", s.claimed(c, series.KindGranted).Wait, 10*time.Millisecond)
}

func shardDead(s *fixture) {
	s.open()
	_, dead := s.takesOne(s.divide(1, 2, 0))
	s.dies(dead)
	c := s.divide(1, 2, 0)
	c.Sharding.Most = 2
	a, second := s.takesOne(c)
	equal(s, "the attempt", a.Shards[0].Attempt, 2)
	equal(s, "free ones", a.Free, 1)
	if second.Fence <= dead.Fence {
		s.Fatalf("the fence is %d, after %d", second.Fence, dead.Fence)
	}
	s.unchanged(func() {
		equal(s, "alive", s.renew(dead).Alive, false)
		equal(s, "ended", s.end(dead, series.RunDone).Ended, false)
	})
	s.dies(second)
	c = s.divide(1, 2, 0)
	c.Attempts = 2
	equal(s, "free ones", s.claimed(c, series.KindPassed).Free, 1) // the attempts are used up
	equal(s, "the shard", s.look().Sheet.Shards[0].Outcome, string(series.VerdictLost))
	equal(s, "its end is accepted", s.end(second, series.RunDone).Ended, false)
	_, last := s.takesOne(s.divide(1, 2, 0, 1))
	s.dies(last)
	c = s.divide(1, 2, 1)
	c.Rerun = false
	s.summed(s.claimed(c, series.KindPassed).Sum, series.Sum{Number: c.Number, Outcome: series.OutcomeLost, Shards: 2, Lost: 2})
	equal(s, "the runs left", len(s.look().Runs), 0)
	equal(s, "the last success", s.look().Last, 0)
}

func shardGivenBack(s *fixture) {
	s.open()
	_, back := s.takesOne(s.divide(1, 2, 0))
	s.ended(back, series.RunGivenBack)
	s.unchanged(func() { s.ended(back, series.RunGivenBack) })
	c := s.divide(1, 2, 0)
	c.Rerun = false
	a, second := s.takesOne(c)
	equal(s, "the attempt", a.Shards[0].Attempt, 2)
	s.ended(second, series.RunUnstarted)
	s.unchanged(func() {
		s.ended(second, series.RunUnstarted)
		equal(s, "ended", s.end(second, series.RunDone).Ended, false)
		equal(s, "alive", s.renew(second).Alive, false)
	})
	c = s.divide(1, 2, 0)
	c.Rerun, c.Attempts = false, 2
	a, _ = s.takesOne(c)
	equal(s, "the attempt", a.Shards[0].Attempt, 2)
}

func shardWindow(s *fixture) {
	if !s.env.exact() {
		return
	}
	s.open()
	c := s.divide(1, 3, 0)
	c.Window = time.Second
	opening, one := s.takesOne(c)
	s.env.Wait(time.Second - time.Duration(s.look().Now-opening.Now)*time.Millisecond)
	c = s.divide(1, 3, 1) // the opening fixed the window
	c.Window = time.Hour
	a, two := s.takesOne(c)
	equal(s, "after the opening", a.Now-opening.Now, 1000)
	s.env.Wait(time.Millisecond)
	equal(s, "free ones", s.claimed(s.divide(1, 3, 2), series.KindPassed).Free, 0)
	s.ended(one, series.RunDone)
	s.summed(s.ended(two, series.RunDone).Sum, series.Sum{Number: c.Number, Outcome: series.OutcomeFailed, Shards: 3, OK: 2, Missed: 1})
	if sheet := s.sheet(c.Number, 3); sheet != nil {
		equal(s, "the outcome of the third shard", sheet[2].Outcome, string(series.VerdictMissed))
	}
}

func shardOrphan(s *fixture) {
	s.open()
	older := s.divide(1, 2, 0)
	opening, one := s.takesOne(older)
	s.env.Wait(5 * time.Millisecond)
	newer := s.divide(2, 2, 0, 1)
	newer.Number, newer.After = s.look().Now, older.Number
	s.ended(one, series.RunGivenBack)
	s.unchanged(func() {
		for _, overlap := range []series.Overlap{series.OverlapSkip, series.OverlapQueue, series.OverlapReplace} {
			newer.Overlap = overlap
			a := s.claimed(newer, series.KindOrphan)
			equal(s, "the number", a.Number, older.Number)
			equal(s, "the fence", a.Fence, opening.Fence)
			equal(s, "shards", a.Of, 2)
			equal(s, "free ones", a.Free, 2)
		}
	})
	newer.Overlap = series.OverlapSkip
	_, two := s.takesOne(s.divide(1, 2, 1))
	s.claimed(newer, series.KindSkipped)
	_, one = s.takesOne(s.divide(1, 2, 0))
	s.ended(one, series.RunDone)
	s.ended(two, series.RunDone)
	s.env.Wait(5 * time.Millisecond)
	c := s.ask(s.look().Now, newer.Number)
	s.granted(c)
}

func shardOverlap(s *fixture) {
	s.open()
	older := s.divide(1, 2, 0)
	_, one := s.takesOne(older)
	s.env.Wait(5 * time.Millisecond)
	newer := s.divide(2, 2, 0, 1)
	newer.Number, newer.After, newer.Overlap = s.look().Now, older.Number, series.OverlapReplace
	s.claimed(newer, series.KindWaiting)
	equal(s, "shards that may start", s.claimed(s.divide(1, 2, 1), series.KindPassed).Free, 0)
	s.summed(s.ended(one, series.RunDone).Sum, series.Sum{Number: older.Number, Outcome: series.OutcomeFailed, Shards: 2, OK: 1, Missed: 1})
	equal(s, "the run that waited", len(s.look().Runs), 1)
}

// behindShards opens due(1) with two shards, and returns them, and the takeover of a number that waits for their ends.
func (s *fixture) behindShards(o series.Overlap) (one, two series.RunRef, c series.Claim) {
	s.Helper()
	s.open()
	_, refs := s.shared(s.divide(1, 2, 0, 1))
	s.env.Wait(5 * time.Millisecond)
	c = s.divide(2, 3, 2)
	c.Number, c.After, c.Overlap = s.look().Now, s.due(1), o
	c.From = s.claimed(c, series.KindWaiting).Fence
	c.Owner = s.owner()
	return refs[0], refs[1], c
}

func shardWaiting(s *fixture) {
	one, two, c := s.behindShards(series.OverlapQueue)
	equal(s, "the number that waits", s.ended(one, series.RunDone).Waiting, 0)
	s.unchanged(func() { equal(s, "the number of the run", s.claimed(c, series.KindHeld).Number, one.Number) })
	s.ended(two, series.RunGivenBack)
	s.unchanged(func() { s.claimed(c, series.KindHeld) }) // a shard of the older number may start
	_, two = s.takesOne(s.divide(1, 2, 1))
	e := s.ended(two, series.RunDone)
	equal(s, "the number that waits", e.Waiting, c.Number)
	equal(s, "its fence", e.Fence, c.From)
	s.unchanged(func() { equal(s, "asked again, the number that waits", s.ended(two, series.RunDone).Waiting, c.Number) })
	a, third := s.takesOne(c)
	equal(s, "shards", a.Of, 3)
	s.hasShards(a, 2)
	s.unchanged(func() {
		equal(s, "alive", s.renew(two).Alive, false)
		s.end(one, series.RunDone)
	})
	s.ended(third, series.RunDone)
	equal(s, "free ones", s.claimed(s.divide(1, 2, 0), series.KindPassed).Free, 0)
	equal(s, "shards of the sheet", len(s.look().Sheet.Shards), 3)
}

func shardWaitingSettled(s *fixture) {
	one, two, c := s.behindShards(series.OverlapQueue)
	s.ended(one, series.RunDone)
	s.dies(two)
	c.Rerun = false
	a, _ := s.takesOne(c)
	s.summed(a.Sum, series.Sum{Number: one.Number, Outcome: series.OutcomeLost, Shards: 2, OK: 1, Lost: 1})
	equal(s, "shards", a.Of, 3)
	equal(s, "the runs", len(s.look().Runs), 1)
	equal(s, "ended", s.end(two, series.RunDone).Ended, false)
}

func shardReplaced(s *fixture) {
	one, two, c := s.behindShards(series.OverlapReplace)
	equal(s, "replaced", s.renew(one).Replaced, true)
	s.ended(one, series.RunGivenBack)
	equal(s, "free ones", s.claimed(s.divide(1, 2, 0), series.KindPassed).Free, 0)
	equal(s, "the number that waits", s.ended(two, series.RunGivenBack).Waiting, c.Number)
	a, _ := s.takesOne(c)
	s.summed(a.Sum, series.Sum{Number: one.Number, Outcome: series.OutcomeLost, Shards: 2, Lost: 2})
}

func shardManual(s *fixture) {
	s.open()
	q := s.change(series.ActionRun)
	q.Until = s.look().Now + time.Hour.Milliseconds()
	a := s.makes(q)
	c := s.ask(a.Number, s.mark)
	c.From, c.Sharding, c.Latest = a.Series.Fence, &series.Sharding{Shards: 2, Want: []int{0, 1}, Most: 2}, driver.MaxNumber
	b, refs := s.shared(c)
	s.hasShards(b, 0, 1)
	equal(s, "the mark", b.Mark, s.mark)
	equal(s, "the wait", b.Wait, 0)
	s.ended(refs[0], series.RunDone)
	s.summed(s.ended(refs[1], series.RunDone).Sum, series.Sum{Number: c.Number, Outcome: series.OutcomeOK, Shards: 2, OK: 2})
	equal(s, "the last success", s.look().Last, 0)
}
