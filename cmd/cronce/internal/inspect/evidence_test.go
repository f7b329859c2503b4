package inspect

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/cronce/cronce/lock/series"
)

// Each attempt without an end whose node died gets a remark; one that runs, has ended, or was given
// back, does not.
func TestKilledAttempts(t *testing.T) {
	t.Parallel()
	grant := func(tick int64, attempt int, node, outcome string) series.Line {
		return series.Line{Verdict: series.VerdictRan, To: tick, At: tick, Attempt: attempt, Fence: tick*10 + int64(attempt), Node: node, Outcome: outcome}
	}
	word := func(v series.Verdict, tick int64) series.Line {
		return series.Line{Verdict: v, To: tick, From: tick, At: tick + 9}
	}
	lines := []series.Line{
		0:  grant(1000, 1, "a", "ok"),
		1:  grant(2000, 1, "a", ""), // and b took it over
		2:  grant(2000, 2, "b", ""), // which died as well
		3:  word(series.VerdictLost, 2000),
		4:  grant(3000, 1, "a", ""), // ended by the next line
		5:  word(series.VerdictEnded, 3000),
		6:  grant(4000, 1, "a", series.OutcomeInterrupted),
		7:  grant(4000, 1, "b", "ok"),
		8:  grant(5000, 1, "a", ""), // its lease is over
		9:  grant(6000, 1, "a", ""), // it is alive
		10: grant(7000, 2, "a", ""), // the state has another attempt
		11: grant(8000, 1, "a", ""), // it has shards, whose leases are their own
		12: grant(9000, 1, "a", ""), // it waits for a node
	}
	s := &series.Series{Now: 8000, Runs: []series.Run{
		{Number: 5000, State: series.RunOpen, Fence: 50001, Until: 8000},
		{Number: 6000, State: series.RunOpen, Fence: 60001, Until: 8001},
		{Number: 7000, State: series.RunOpen, Fence: 70003, Until: 7500},
		{Number: 8000, State: series.RunOpen, Fence: 80001, Shards: 2},
		{Number: 9000, State: series.RunWaiting, Fence: 90001},
	}}
	want := map[int]string{1: "b took it over", 2: "its tick was lost", 8: "its lease is over since 1970-01-01T00:00:08Z"}
	got := killedAttempts(lines, s)
	for i, part := range want {
		if !strings.Contains(got[i], part) {
			t.Errorf("line %d: %q, want %q", i, got[i], part)
		}
	}
	if len(got) != len(want) {
		t.Errorf("remarks on %v", got)
	}
	if shown := evidenceOf(&series.Journal{Lines: lines}, s, []int{7, 8}); len(shown) != 2 || *shown[1].Line != lines[8] || shown[1].killed != got[8] {
		t.Errorf("the evidence is %v", shown)
	}
}

func TestRemark(t *testing.T) {
	for want, l := range map[string]series.Line{
		"":                                {},
		"ok in 2.0ms":                     {Verdict: series.VerdictRan, Outcome: "ok", At: 1000, Ended: 1002},
		"ok":                              {Verdict: series.VerdictRan, Outcome: "ok", At: 1002, Ended: 1001},
		"failed; no route":                {Verdict: series.VerdictEnded, Outcome: "failed", Error: "no route"},
		"change 3, number 7 of the audit": {Verdict: series.VerdictControl, Change: 3, Audit: 7},
		"failed":                          {Verdict: series.VerdictEnded, Outcome: "failed", At: 1002, Ended: 1002},
		"overlap; with all ticks after 00:00:01Z":                                 {Verdict: series.VerdictSkipped, Reason: "overlap", Between: series.VerdictSkipped, From: 1000, To: 3000, At: 3000},
		"ticks after 00:00:01Z: missed":                                           {Verdict: series.VerdictRan, Between: series.VerdictMissed, From: 1000, To: 3000, At: 3000},
		"deadline; with all ticks after 00:00:01Z":                                {Verdict: series.VerdictMissed, Reason: "deadline", Between: series.VerdictMissed, From: 1000, To: 3000, At: 3000},
		"for the tick of 00:00:01Z; because of the run of 00:00:02Z with fence 7": {For: 1000, Blocker: 2000, BlockerFence: 7, At: 3000},
	} {
		if got := remark(&shownLine{Line: &l}); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A run that was granted a little before its tick is not late.
func TestLate(t *testing.T) {
	t.Parallel()
	for at, want := range map[int64]string{999: "0µs", 1000: "0µs", 1008: "8.0ms"} {
		l := series.Line{Verdict: series.VerdictRan, To: 1000, At: at}
		if got := lateOf(&l); got != want || lateMs(&l) < 0 {
			t.Errorf("granted at %d: %s, want %s", at, got, want)
		}
	}
}

// A line for machines has each fact that was recorded, and no other.
func TestJournalLines(t *testing.T) {
	for want, l := range map[string]series.Line{
		`[{"at":"1970-01-01T00:00:03Z","verdict":"ran","from":"1970-01-01T00:00:01Z","tick":"1970-01-01T00:00:02Z","node":"a","fence":12,"attempt":1,"outcome":"failed","ended":"1970-01-01T00:00:04Z","error":"no route","killed":"cut off","late_ms":1000,"for":"1970-01-01T00:00:01Z"}]`: {Verdict: series.VerdictRan, At: 3000, From: 1000, To: 2000, Node: "a", Fence: 12, Attempt: 1, Outcome: "failed", Ended: 4000, Error: "no route", For: 1000},
		`[{"at":"1970-01-01T00:00:03Z","verdict":"skipped","from":"1970-01-01T00:00:01Z","tick":"1970-01-01T00:00:02Z","reason":"overlap","killed":"cut off","blocker":"1970-01-01T00:00:01Z","blocker_fence":7}]`:                                                                          {Verdict: series.VerdictSkipped, At: 3000, From: 1000, To: 2000, Reason: "overlap", Blocker: 1000, BlockerFence: 7},
		`[{"at":"1970-01-01T00:00:03Z","verdict":"control","from":"1970-01-01T00:00:01Z","tick":"1970-01-01T00:00:01Z","killed":"cut off","change":3,"audit":9}]`:                                                                                                                           {Verdict: series.VerdictControl, At: 3000, From: 1000, To: 1000, Change: 3, Audit: 9},
	} {
		got, err := json.Marshal(journalLines([]shownLine{{&l, "cut off"}}))
		if err != nil || string(got) != want {
			t.Errorf("%v, %s\nwant %s", err, got, want)
		}
	}
}

// The reason for which a line cannot be read is a remark, as of each other line.
func TestUnreadableLine(t *testing.T) {
	var b strings.Builder
	lines := []shownLine{{Line: &series.Line{Verdict: series.VerdictUnreadable, Error: "no verdict"}}, {Line: &series.Line{Verdict: series.VerdictRan, To: 1000, At: 3000, Outcome: "ok", Fence: 12}}}
	if err := printLines(&b, lines); err != nil {
		t.Fatal(err)
	}
	shown := strings.Split(b.String(), "\n")
	if at := strings.Index(shown[0], "REMARK"); strings.Index(shown[1], "no verdict") != at || !strings.HasPrefix(shown[2][at:], "ok") {
		t.Errorf("\n%s", b.String())
	}
}
