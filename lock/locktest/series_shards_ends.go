package locktest

import (
	"fmt"
	"strings"

	"github.com/cronce/cronce/lock/series"
)

var shardEndTests = []test{
	{"the last end settles the number, with its sum in the journal", shardSummed},
	{"a number fails if any shard failed, or with FailAll only if none was ok", shardFailed},
	{"a shard that was skipped is no failure", shardSkipped},
	{"a shard counts by its outcome, whoever settled it", shardCounted},
	{"the errors of the first shards that end badly are kept", shardErrors},
	{"a repeated end of a shard gets the same answer after the sum", shardEndedTwice},
	{"a renewal moves the deadline of its shard alone", shardRenewed},
	{"a renewal or an end under another owner, fence or shard is lost and changes nothing", shardByOther},
	{"a pause grants no shard", shardPaused},
	{"a resume settles the shards that are not alive", shardResumed},
	{"a cancel ends all shards", shardCancelled},
	{"a series with an alive shard is not retired", shardRetired},
}

// fails ends a shard that failed.
func (s *fixture) fails(r series.RunRef) series.EndAnswer {
	s.Helper()
	out := s.numbered.ReleaseRuns(s.ctx, []series.EndRequest{{RunRef: r, Outcome: series.OutcomeFailed}})
	if out[0].Err != nil || !out[0].Ended {
		s.Fatalf("the end of shard %d: %+v", r.Shard, out[0])
	}
	return out[0]
}

// summed fails the test unless the number was settled with this sum, and its sheet is in the journal.
func (s *fixture) summed(got *series.Sum, want series.Sum) {
	s.Helper()
	if got == nil {
		s.Fatalf("the number %d is not settled: %+v", want.Number, s.look())
	}
	if got.Fence == 0 || got.Took < 0 {
		s.Fatalf("the sum is %+v", *got)
	}
	want.Fence, want.Took = got.Fence, got.Took
	equal(s, "the sum", *got, want)
	sheet := s.sheet(want.Number, want.Shards)
	if sheet == nil {
		return
	}
	count := (&series.Sheet{Shards: sheet}).Count()
	count.Number, count.Fence, count.Took = want.Number, want.Fence, want.Took
	count.Outcome = want.Outcome // the journal does not have whether one good shard is enough
	equal(s, "the sum of the shards in the journal", count, want)
	for _, l := range s.lines() {
		if l.To == want.Number && l.Sheet != "" {
			equal(s, "the outcome in the journal", l.Outcome, want.Outcome)
			equal(s, "the fence in the journal", l.Fence, want.Fence)
		}
	}
}

// sheet returns the shards of a number that the journal has, which must be n, or nil if the store keeps no journal.
func (s *fixture) sheet(number int64, n int) []series.Shard {
	s.Helper()
	for _, l := range s.lines() {
		if l.To != number || l.Sheet == "" {
			continue
		}
		sheet, err := series.ReadSheet(l.Sheet, l.Fence, l.At)
		if err != nil || len(sheet) != n || l.Shards != n {
			s.Fatalf("the sheet of %d has %d shards, %v: %+v", number, len(sheet), err, l)
		}
		return sheet
	}
	if s.journaled != nil {
		s.Fatalf("the journal has no sheet of %d: %+v", number, s.lines())
	}
	return nil
}

func shardSummed(s *fixture) {
	s.open()
	a, refs := s.shared(s.divide(1, 3, 0, 1))
	b, last := s.takesOne(s.divide(1, 3, 2))
	for _, r := range []series.RunRef{refs[1], last} {
		if e := s.ended(r, series.RunDone); e.Sum != nil {
			s.Fatalf("a shard is alive, and the sum is %+v", e.Sum)
		}
	}
	is := s.look()
	equal(s, "the shard", is.Sheet.Shards[1].State, series.RunDone)
	equal(s, "the last success", is.Last, 0)
	s.summed(s.ended(refs[0], series.RunDone).Sum, series.Sum{Number: s.due(1), Fence: a.Fence, Outcome: series.OutcomeOK, Shards: 3, OK: 3})
	is = s.look()
	equal(s, "the runs left", len(is.Runs), 0)
	equal(s, "shards left", len(is.Sheet.Shards), 0)
	equal(s, "the last success", is.Last, s.due(1))
	s.claimed(s.divide(1, 3, 0), series.KindPassed)
	if s.journaled == nil {
		return
	}
	lines := s.lines()
	equal(s, "lines", len(lines), 1)
	equal(s, "the verdict", lines[0].Verdict, series.VerdictRan)
	sheet := s.sheet(s.due(1), 3)
	for i, g := range append(a.Shards, b.Shards...) {
		equal(s, fmt.Sprintf("the fence of shard %d", i), sheet[i].Fence, g.Fence)
		equal(s, fmt.Sprintf("the attempts of shard %d", i), sheet[i].Attempt, 1)
		equal(s, fmt.Sprintf("shard %d is ok", i), sheet[i].OK, true)
	}
	equal(s, "the node of the first shard", sheet[0].Owner, "node-1/")
	equal(s, "the node of the last shard", sheet[2].Owner, "node-2/")
}

func shardFailed(s *fixture) {
	for i, c := range []struct {
		failAll bool
		bad     int // how many of three shards failed
		want    string
	}{
		{false, 0, series.OutcomeOK}, {false, 1, series.OutcomeFailed}, {false, 3, series.OutcomeFailed},
		{true, 0, series.OutcomeOK}, {true, 1, series.OutcomeOK}, {true, 2, series.OutcomeOK}, {true, 3, series.OutcomeFailed},
	} {
		s.key = fmt.Sprint("job ", i)
		s.open()
		q := s.divide(1, 3, 0, 1, 2)
		q.Sharding.FailAll = c.failAll
		_, refs := s.shared(q)
		var e series.EndAnswer
		for j, r := range refs {
			if j < c.bad {
				e = s.fails(r)
			} else {
				e = s.ended(r, series.RunDone)
			}
		}
		s.summed(e.Sum, series.Sum{Number: q.Number, Outcome: c.want, Shards: 3, OK: 3 - c.bad, Failed: c.bad})
		last := int64(0)
		if c.want == series.OutcomeOK {
			last = q.Number
		}
		equal(s, "the last success", s.look().Last, last)
	}
}

func shardSkipped(s *fixture) {
	s.open()
	q := s.divide(1, 2, 0, 1)
	_, refs := s.shared(q)
	s.ended(refs[0], series.RunDone)
	e := s.numbered.ReleaseRuns(s.ctx, []series.EndRequest{{RunRef: refs[1], Outcome: series.OutcomeSkipped, OK: true}})[0]
	s.summed(e.Sum, series.Sum{Number: q.Number, Outcome: series.OutcomeOK, Shards: 2, OK: 2})
	lines := s.lines()
	shards, err := series.ReadSheet(lines[len(lines)-1].Sheet, 0, 0)
	if err != nil || len(shards) != 2 || shards[1].Outcome != series.OutcomeSkipped || !shards[1].OK {
		s.Fatalf("the journal has the shards %+v, %v", shards, err)
	}
}

func shardCounted(s *fixture) {
	for outcome, want := range map[string]series.Sum{
		series.OutcomeLost:      {Outcome: series.OutcomeLost, Lost: 1},
		series.OutcomeCancelled: {Outcome: series.OutcomeCancelled, Cancelled: 1},
		series.OutcomeTimeout:   {Outcome: series.OutcomeFailed, Failed: 1},
	} {
		s.key = outcome
		s.open()
		_, refs := s.shared(s.divide(1, 2, 0, 1))
		s.ended(refs[0], series.RunDone)
		e := s.numbered.ReleaseRuns(s.ctx, []series.EndRequest{{RunRef: refs[1], Outcome: outcome}})[0]
		want.Number, want.Shards, want.OK = s.due(1), 2, 1
		s.summed(e.Sum, want)
	}
}

func shardErrors(s *fixture) {
	s.open()
	const n = series.MaxShardErrors + 3
	var want []int
	for i := range n {
		want = append(want, i)
	}
	_, refs := s.shared(s.divide(1, n, want...))
	texts := make([]string, n)
	for i, r := range refs {
		e := series.EndRequest{RunRef: r, Outcome: series.OutcomeFailed, OK: i == 1, Error: fmt.Sprintf("shard %d: a|b;c,d+e %%7C\n\"é\"", i)}
		switch i {
		case 0:
			e.Error = strings.Repeat("é", series.MaxErrorText/2)
			texts[i] = strings.Repeat("é", series.MaxShardErrorText/2)
		case 1, n - 2, n - 1: // it is ok, or one of those behind the first
		default:
			texts[i] = e.Error
		}
		if i == n-1 {
			for k, h := range s.look().Sheet.Shards {
				equal(s, fmt.Sprintf("the error of shard %d", k), h.Error, texts[k])
			}
		}
		if a := s.numbered.ReleaseRuns(s.ctx, []series.EndRequest{e})[0]; !a.Ended {
			s.Fatalf("the end of shard %d: %+v", i, a)
		}
	}
	for k, h := range s.sheet(s.due(1), n) {
		equal(s, fmt.Sprintf("the error of shard %d in the journal", k), h.Error, texts[k])
	}
}

func shardEndedTwice(s *fixture) {
	s.open()
	_, refs := s.shared(s.divide(1, 2, 0, 1))
	s.ended(refs[0], series.RunDone)
	s.unchanged(func() {
		if e := s.ended(refs[0], series.RunDone); e.Sum != nil {
			s.Fatalf("a shard is alive, and the sum is %+v", e.Sum)
		}
	})
	s.ended(refs[1], series.RunDone)
	s.unchanged(func() {
		for _, r := range refs {
			e := s.ended(r, series.RunDone)
			equal(s, "the number that waits", e.Waiting, 0)
			for _, how := range []series.RunState{series.RunGivenBack, series.RunUnstarted} {
				equal(s, "ended as another", s.end(r, how).Ended, false)
			}
		}
	})
}

func shardRenewed(s *fixture) {
	s.open()
	c := s.divide(1, 2, 0, 1)
	c.TTL = short
	_, refs := s.shared(c)
	refs[1].TTL = long
	equal(s, "left", s.renew(refs[1]).Left, long)
	s.env.Wait(short + slack)
	s.unchanged(func() { equal(s, "alive", s.renew(refs[0]).Alive, false) })
	a, _ := s.takesOne(s.divide(1, 2, 0, 1))
	s.hasShards(a, 0)
	equal(s, "alive", s.renew(refs[1]).Alive, true)
}

func shardByOther(s *fixture) {
	s.open()
	a, refs := s.shared(s.divide(1, 3, 0, 1))
	run := series.RunRef{Key: s.key, Number: s.due(1), Owner: refs[0].Owner, Fence: a.Fence, TTL: long}
	s.unchanged(func() {
		for _, spoil := range []func(r *series.RunRef){
			func(r *series.RunRef) { r.Owner = "other/1" },
			func(r *series.RunRef) { r.Fence++ },
			func(r *series.RunRef) { r.Fence = a.Fence },
			func(r *series.RunRef) { r.Number++ },
			func(r *series.RunRef) { r.Key = "other" },
			func(r *series.RunRef) { r.Shard = 1 },
			func(r *series.RunRef) { r.Shard = 2 },
			func(r *series.RunRef) { r.Shards = 2 },
			func(r *series.RunRef) { r.Shards = 4 },
			func(r *series.RunRef) { r.Shards = 0 },
			func(r *series.RunRef) { *r = run }, // the run as a whole has no lease
		} {
			r := refs[0]
			spoil(&r)
			equal(s, "alive", s.renew(r).Alive, false)
			for _, how := range []series.RunState{series.RunDone, series.RunGivenBack, series.RunUnstarted} {
				equal(s, "ended", s.end(r, how).Ended, false)
			}
		}
	})
	equal(s, "alive", s.renew(refs[0]).Alive, true)
}

func shardPaused(s *fixture) {
	s.open()
	opening, refs := s.shared(s.divide(1, 4, 0, 1))
	s.ended(refs[1], series.RunGivenBack)
	s.pause()
	equal(s, "alive", s.renew(refs[0]).Alive, true)
	equal(s, "free ones", s.claimed(s.divide(1, 4, 0, 1, 2, 3), series.KindPassed).Free, 0)
	c := s.divide(1, 4, 0, 1, 2, 3)
	c.From = opening.Fence
	equal(s, "free ones", s.claimed(c, series.KindPassed).Free, 0)
	sheet := s.look().Sheet.Shards
	equal(s, "the shard that was given back", sheet[1].Outcome, string(series.VerdictLost))
	equal(s, "a free shard", sheet[2].Outcome, string(series.VerdictPaused))
	s.summed(s.ended(refs[0], series.RunDone).Sum, series.Sum{Number: s.due(1), Outcome: series.OutcomeLost, Shards: 4, OK: 1, Lost: 1, Missed: 2})
	s.resume()
	s.claimed(s.divide(1, 4, 2), series.KindPassed)
}

func shardResumed(s *fixture) {
	s.open()
	_, refs := s.shared(s.divide(1, 3, 0, 1))
	s.dies(refs[1])
	s.pause()
	is := s.resume()
	equal(s, "the runs", len(is.Runs), 1)
	equal(s, "the shard whose node died", is.Sheet.Shards[1].Outcome, string(series.VerdictLost))
	equal(s, "the free shard", is.Sheet.Shards[2].Outcome, string(series.VerdictPaused))
	s.unchanged(func() { equal(s, "free ones", s.claimed(s.divide(1, 3, 1, 2), series.KindPassed).Free, 0) })
	s.dies(refs[0])
	s.pause()
	equal(s, "the runs", len(s.resume().Runs), 0)
	if sheet := s.sheet(s.due(1), 3); sheet != nil {
		equal(s, "the first shard", sheet[0].Outcome, string(series.VerdictLost))
	}
}

func shardCancelled(s *fixture) {
	s.open()
	c := s.divide(1, 4, 0, 1, 2)
	_, refs := s.shared(c)
	s.ended(refs[2], series.RunGivenBack)
	s.makes(s.cancel(c.Number))
	sheet := s.look().Sheet.Shards
	equal(s, "the shard that was given back", sheet[2].Outcome, series.OutcomeCancelled)
	equal(s, "the free shard", sheet[3].Outcome, series.OutcomeCancelled)
	s.unchanged(func() {
		s.claimed(c, series.KindOver) // its reply was lost
		equal(s, "free ones", s.claimed(s.divide(1, 4, 0, 1, 2, 3), series.KindPassed).Free, 0)
	})
	equal(s, "cancelled", s.renew(refs[0]).Cancelled, true)
	s.ended(refs[0], series.RunDone) // its end is accepted as it is
	e := s.ended(refs[1], series.RunGivenBack)
	s.summed(e.Sum, series.Sum{Number: c.Number, Outcome: series.OutcomeCancelled, Shards: 4, OK: 1, Cancelled: 3})
	s.unchanged(func() { s.ended(refs[1], series.RunGivenBack) })
	s.key = "free"
	s.open()
	c = s.divide(1, 2, 5)
	s.shared(c)
	equal(s, "the runs left", len(s.makes(s.cancel(c.Number)).Series.Runs), 0)
	if s.journaled != nil {
		equal(s, "the outcome", s.sheet(c.Number, 2)[0].Outcome, series.OutcomeCancelled)
	}
}

func shardRetired(s *fixture) {
	s.open()
	_, one := s.takesOne(s.divide(1, 2, 0))
	s.refuses(s.change(series.ActionRetire), series.RefusedAlive)
	s.dies(one)
	s.makes(s.change(series.ActionRetire)) // a free shard keeps no series
	equal(s, "the runs left", len(s.look().Runs), 0)
	if sheet := s.sheet(s.due(1), 2); sheet != nil {
		equal(s, "the shard whose node died", sheet[0].Outcome, string(series.VerdictLost))
	}
}
