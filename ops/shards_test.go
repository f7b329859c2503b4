package ops

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock/series"
)

// The words for counts leave out each count of zero.
func TestShardCountInWords(t *testing.T) {
	for want, c := range map[string]ShardCount{
		"100 of 100 shards ok":                             {Of: 100, OK: 100},
		"98 of 100 shards ok, 1 failed, 1 lost":            {Of: 100, OK: 98, Failed: 1, Lost: 1},
		"0 of 1 shard ok, 1 missed":                        {Of: 1, Missed: 1},
		"1 of 4 shards ok, 1 lost, 2 cancelled":            {Of: 4, OK: 1, Lost: 1, Cancelled: 2},
		"2 of 9 shards ok, 1 failed, 4 running, 2 waiting": {Of: 9, OK: 2, Failed: 1, Running: 4, Waiting: 2},
		"3 of 3 shards ok, 2 needed another attempt":       {Of: 3, OK: 3, Rerun: 2},
		"9 shards": {Of: 9},
	} {
		if got := c.String(); got != want {
			t.Errorf("%+v: %s, want %s", c, got, want)
		}
	}
}

// The shards of a tick that has ended come from its line, wherever its end was written. Without the line of its opening
// it is not known how late they were. It is known how long a first attempt took, and of no later one.
func TestShardsInAJournal(t *testing.T) {
	const t0 = 1_800_000_000_000
	opens := series.Line{Verdict: series.VerdictRan, At: t0 + 5, From: t0 - 1000, To: t0, Node: "a", Attempt: 1, Fence: 70, Shards: 3}
	ends := series.Line{Verdict: series.VerdictEnded, At: t0 + 105, From: t0, To: t0, Node: "a", Attempt: 1, Fence: 70, Shards: 3, Outcome: "failed", Ended: t0 + 105,
		Sheet: "a;b|ok+,1,0,1,0,50;timeout,2,1,9,3,60,no route;missed"}
	folded := opens
	if !folded.Fold(ends) {
		t.Fatal("not folded")
	}
	gone := ends
	gone.Sheet = ""
	for name, c := range map[string]struct {
		lines []series.Line
		late  bool // it is known
		lost  bool // the verdicts of the shards are gone
	}{
		"in one line":       {[]series.Line{folded}, true, false},
		"in two lines":      {[]series.Line{opens, ends}, true, false},
		"the opening gone":  {[]series.Line{ends}, false, false},
		"the verdicts gone": {[]series.Line{opens, gone}, false, true},
	} {
		j, s := series.Journal{Lines: c.lines}, series.Series{Key: "job", Now: t0 + 1000}
		run, shards := Runs("shop", &j, &s)[0], Shards(&j, &s, t0)
		if c.lost {
			if shards != nil || *run.Shards != (ShardCount{Of: 3}) {
				t.Errorf("%s: %+v, %+v", name, run.Shards, shards)
			}
			continue
		}
		if run.State != Failing || *run.Shards != (ShardCount{Of: 3, OK: 1, Failed: 1, Missed: 1, Rerun: 1}) || len(shards) != 3 {
			t.Errorf("%s: %s %+v, %+v", name, run.State, run.Shards, shards)
			continue
		}
		h := shards[1]
		if h.Verdict != "timeout" || h.Node != "b" || h.Attempt != 2 || h.Fence != 79 || h.TookMs != nil || h.Error != "no route" || run.Error != "shard 1: no route" || (h.LateMs != nil) != c.late || c.late && *h.LateMs != 8 {
			t.Errorf("%s: %+v", name, h)
		}
		if h := shards[0]; h.Attempt != 1 || h.TookMs == nil || *h.TookMs != 50 {
			t.Errorf("%s: %+v", name, h)
		}
		if h := shards[2]; h.Verdict != "missed" || h.Node != "" || h.LateMs != nil || h.TookMs != nil {
			t.Errorf("%s: %+v", name, h)
		}
	}
	early := opens
	early.At, early.Sheet = t0-earlyGrant, "a|ok,1,0,1,0,50"
	if h := Shards(&series.Journal{Lines: []series.Line{early}}, &series.Series{}, t0)[0]; h.LateMs == nil || *h.LateMs != 0 {
		t.Errorf("a shard that was granted a little early: %+v", h)
	}
	if shards := Shards(&series.Journal{}, &series.Series{}, t0); shards != nil {
		t.Errorf("a tick without shards has %+v", shards)
	}
}

// A live broadcast lists each node that it expects, also those that have not started.
func TestShardsOfABroadcast(t *testing.T) {
	const t0 = 1_000_000
	sheet := series.Sheet{Shards: []series.Shard{{State: series.RunOpen, Owner: "web-1/x", Fence: 8, Attempt: 1, Until: t0 + 1000}, {}}, Params: []string{"web-1", "web-2"}, Broadcast: true}
	s := &series.Series{Runs: []series.Run{{Number: t0, State: series.RunOpen, Shards: 2}}, Sheet: sheet, Now: t0}
	shards := Shards(&series.Journal{}, s, t0)
	if len(shards) != 2 || shards[0].Node != "web-1" || shards[0].Verdict != "running" || shards[1].Node != "web-2" || shards[1].Verdict != "waiting" || shards[0].Param+shards[1].Param != "" {
		t.Errorf("%+v", shards)
	}
}

// While a tick goes on, each refresh counts its shards as they are then. The tick is alive while a lease of a shard is.
func TestShardsOfATickThatGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := opened(t, "rows")
		p := newProjection(s)
		time.Sleep(time.Second)
		tick := time.Now().Truncate(time.Second).UnixMilli()
		c := series.Claim{Key: "rows", Owner: "web-1/x", Number: tick, After: s.Store.ReadSeries(t.Context(), []string{"rows"})[0].Mark, TTL: 4 * time.Second, Deadline: time.Minute,
			Attempts: 2, Rerun: true, Window: time.Hour, Latest: tick + 60_000, Revision: "r", Sharding: &series.Sharding{Shards: 3, Params: []string{"north"}, Want: []int{0, 1}, Most: 2}}
		a := s.Claim(t.Context(), []series.Claim{c})[0]
		stands := func(want ShardCount, state State) []ShardRun {
			t.Helper()
			j := p.Refresh(t.Context()).Job("rows")
			if r := j.Last(); *r.Shards != want || r.State != state || r.Alive() != (state == Running) {
				t.Errorf("%s %+v, want %s %+v", r.State, r.Shards, state, want)
			}
			return Shards(&j.Journal, &j.Series, tick)
		}
		shards := stands(ShardCount{Of: 3, Running: 2, Waiting: 1}, Running)
		if len(shards) != 3 || shards[0].Verdict != "running" || shards[0].Param != "north" || shards[2].Verdict != "waiting" || shards[2].Node != "" || *shards[0].LateMs != 0 {
			t.Errorf("%+v", shards)
		}
		ref := series.RunRef{Key: "rows", Number: tick, Owner: c.Owner, Fence: a.Shards[1].Fence, Shard: 1, Shards: 3}
		if e := s.ReleaseRuns(t.Context(), []series.EndRequest{{RunRef: ref, Outcome: series.OutcomeOK, OK: true}})[0]; !e.Ended {
			t.Fatalf("%+v", e)
		}
		stands(ShardCount{Of: 3, OK: 1, Running: 1, Waiting: 1}, Running)
		time.Sleep(5 * time.Second) // the lease of the other one is over
		stands(ShardCount{Of: 3, OK: 1, Waiting: 2}, Waiting)
		c.Owner = "web-2/x"
		if a = s.Claim(t.Context(), []series.Claim{c})[0]; len(a.Shards) != 1 || a.Shards[0].Attempt != 2 {
			t.Fatalf("%+v", a)
		}
		stands(ShardCount{Of: 3, OK: 1, Running: 1, Waiting: 1, Rerun: 1}, Running)
	})
}
