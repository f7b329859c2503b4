package verify_test

import (
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/verify"
)

// sharded returns the line of a tick with three shards, whose end was written into it.
func sharded(to float64, outcome, sheet string) series.Line {
	l := ran(to)
	l.Outcome, l.Shards, l.Sheet = outcome, 3, sheet
	return l
}

// Every fault in the shards of a tick is found, and nothing else. Shards that are not on record are no fault.
func TestShardsAreChecked(t *testing.T) {
	const good = "a;b|ok+,1,0,1,0,5;ok+,1,1,2,1,4;ok+,2,0,9,0,5"
	const mixed = "a;b|ok+,1,0,1,0,5;failed,1,1,2,1,4;lost,2,0,9,0,5"
	opens := with(granted(10), func(l *series.Line) { l.Shards = 3 })
	ends := func(change func(*series.Line)) series.Line {
		return with(word(series.VerdictEnded, 15, opens, series.OutcomeOK), func(l *series.Line) { l.Shards, l.Sheet = 3, good; change(l) })
	}
	for name, c := range map[string]struct {
		journal series.Journal
		want    string // the invariant, and part of the text; empty: none is broken
	}{
		"all ok":                       {journal(sharded(10, "ok", good)), ""},
		"the end in a line of its own": {journal(opens, ends(func(*series.Line) {})), ""},
		"one failed and one is lost":   {journal(sharded(10, "failed", mixed)), ""},
		"one good shard is enough":     {journal(sharded(10, "ok", mixed)), ""},
		"lost":                         {journal(sharded(10, "lost", "a|ok+,1,0,1,0,5;lost,1,0,2,0,5;missed")), ""},
		"lost, as its own node says":   {journal(sharded(10, "failed", "a|ok+,1,0,1,0,5;lost,1,0,2,0,5;missed")), ""},
		"cancelled":                    {journal(sharded(10, "cancelled", "a|ok+,1,0,1,0,5;cancelled,1,0,2,0,5;cancelled")), ""},
		"none was granted":             {journal(sharded(10, "failed", "|missed;missed;paused")), ""},
		"not on record":                {journal(sharded(10, "ok", "")), ""},

		"ok, and a shard is not":   {journal(sharded(10, "ok", "a|failed,1,0,1,0,5;missed;missed")), "S3 ended ok, and of its 3 shards 0 are ok, 1 failed, 0 lost, 2 missed and 0 cancelled"},
		"failed, and all are ok":   {journal(sharded(10, "failed", good)), "S3 ended failed, and of its 3 shards 3 are ok"},
		"lost, and a shard failed": {journal(sharded(10, "lost", mixed)), "S3 ended lost"},
		"cancelled, and none is":   {journal(sharded(10, "cancelled", mixed)), "S3 ended cancelled"},
		"a verdict is left out":    {journal(sharded(10, "ok", "a|ok+,1,0,1,0,5;ok+,1,0,2,0,5")), "S3 ended ok with the verdicts of 2 shards, and has 3"},
		"two have one fence":       {journal(sharded(10, "ok", "a|ok+,1,0,1,0,5;ok+,1,0,2,0,5;ok+,1,0,1,0,5")), "S2 shards 0 and 2 have the fence 1767571210000001"},
		"the fence of the tick":    {journal(sharded(10, "ok", "a|ok+,1,0,0,0,5;ok+,1,0,2,0,5;ok+,1,0,1,0,5")), "S2 fence 1767571210000000 of shard 0 is not above 1767571210000000"},
		"above the next tick":      {journal(sharded(10, "ok", "a|ok+,1,0,1,0,5;ok+,1,0,2,0,5;ok+,1,0,10000000,0,5"), ran(20)), "S4 fence 1767571220000000 is not above 1767571220000000"},
		"the number changes":       {journal(opens, ends(func(l *series.Line) { l.Shards, l.Sheet = 2, "" })), "S5 ended ok with 2 shards, and was granted with 3"},
	} {
		got := verify.Job(c.journal, verify.Options{Exclusive: true})
		switch invariant, text, broken := strings.Cut(c.want, " "); {
		case !broken && !got.OK():
			t.Errorf("%s: %v, %v", name, got.Violations, got.Faults)
		case broken && (len(got.Violations) != 1 || got.Broken(invariant) != 1 || !strings.Contains(got.Violations[0].Text, text)):
			t.Errorf("%s: %v, want %s", name, got.Violations, c.want)
		case got.Once != got.Due || got.Once == 0:
			t.Errorf("%s: the tick does not count once: %+v", name, got)
		}
	}
}

// The shards that had another attempt count once they are settled, if their tick counts.
func TestRerunShardsCount(t *testing.T) {
	const again = "a;b|ok+,2,0,1,0,5;ok+,1,1,2,1,4;failed,3,0,9,0,5"
	opens := with(granted(20), func(l *series.Line) { l.Shards = 3 })
	lines := journal(sharded(10, "failed", again), opens, with(word(series.VerdictEnded, 25, opens, series.OutcomeFailed), func(l *series.Line) { l.Shards, l.Sheet = 3, again }),
		sharded(30, "ok", "a|ok+,1,0,1,0,5;ok+,1,0,2,0,5;ok+,1,0,3,0,5"), sharded(40, "ok", ""))
	for since, want := range map[float64]int{0: 4, 15: 2, 30: 0} {
		got := verify.Job(lines, verify.Options{Since: time.UnixMilli(at(since)), Exclusive: true})
		if !got.OK() || got.RerunShards != want || got.TakenOver != 0 {
			t.Errorf("since %v: %d shards, want %d: %+v", since, got.RerunShards, want, got)
		}
	}
	if total := verify.Sum(verify.Job(lines, verify.Options{}), verify.Job(lines, verify.Options{})).Total; total.RerunShards != 8 {
		t.Errorf("%d shards of two jobs, want 8", total.RerunShards)
	}
}

// Shards that cannot be read are a fault of the data, and break no invariant.
func TestUnreadableShards(t *testing.T) {
	got := verify.Job(journal(sharded(10, "ok", "a|ok+,1,7,1,0,5;ok;ok")), verify.Options{Exclusive: true})
	if !got.Sound() || len(got.Faults) != 1 || !strings.Contains(got.Faults[0], "the shards of the tick 2026-01-05T00:00:10.000Z cannot be read") || got.Once != 1 {
		t.Errorf("%+v", got)
	}
}

// A sharded tick goes on while a lease of a shard is alive, or until its free shards may not start any more. It is
// overdue when it was left after that.
func TestShardsThatWereLeft(t *testing.T) {
	free := series.Shard{}
	settled := series.Shard{State: series.RunDone, Fence: 5, Until: at(12), Outcome: series.OutcomeOK, OK: true}
	late := series.Shard{State: series.RunDone, Fence: 5, Until: at(95), Ended: at(90), Outcome: series.OutcomeOK, OK: true}
	lease := func(state series.RunState, until float64) series.Shard {
		return series.Shard{State: state, Owner: "b/1", Fence: 6, Attempt: 1, Until: at(until)}
	}
	for name, c := range map[string]struct {
		shards []series.Shard
		now    float64
		want   verify.TickState
	}{
		"alive":                               {[]series.Shard{settled, lease(series.RunOpen, 41), free}, 40, verify.TickRunning},
		"alive, and none may start any more":  {[]series.Shard{settled, lease(series.RunOpen, 101), free}, 100, verify.TickRunning},
		"free":                                {[]series.Shard{settled, free}, 40, verify.TickRunning},
		"free, and may not start any more":    {[]series.Shard{settled, free}, 65, verify.TickWaiting},
		"free, and left":                      {[]series.Shard{settled, free}, 71, verify.TickOverdue},
		"free, and another has ended":         {[]series.Shard{late, free}, 100, verify.TickWaiting},
		"free, and left since another ended":  {[]series.Shard{late, free}, 101, verify.TickOverdue},
		"a lease is over":                     {[]series.Shard{lease(series.RunOpen, 13), free}, 20, verify.TickWaiting},
		"a lease is over, and left":           {[]series.Shard{lease(series.RunOpen, 13), free}, 24, verify.TickOverdue},
		"one is given back":                   {[]series.Shard{lease(series.RunGivenBack, 13), settled}, 20, verify.TickWaiting},
		"one is given back, and left":         {[]series.Shard{lease(series.RunGivenBack, 13), settled}, 24, verify.TickOverdue},
		"one has not started, another runs":   {[]series.Shard{lease(series.RunUnstarted, 13), lease(series.RunOpen, 25)}, 24, verify.TickRunning},
		"one has not started, and it is left": {[]series.Shard{lease(series.RunUnstarted, 13)}, 24, verify.TickOverdue},
	} {
		state := series.Series{Key: "job", Now: at(c.now), Mark: at(10), Sheet: series.Sheet{Shards: c.shards},
			Runs: []series.Run{{Number: at(10), State: series.RunOpen, Fence: 4, Attempt: 1, Until: at(60), Shards: len(c.shards)}}}
		opens := with(granted(10), func(l *series.Line) { l.Shards = len(c.shards) })
		judge := verify.NewJudge(journal(opens), verify.Options{State: &state, Exclusive: true})
		if got, _ := judge.Tick(time.UnixMilli(at(10))); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
