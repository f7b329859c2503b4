package inspect

import (
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/series"
)

// A filter shows what was decided in the time that is asked for, to the millisecond, also by
// a line that was written later, and what cannot be read.
func TestJournalFilter(t *testing.T) {
	t.Parallel()
	ran := series.Line{Verdict: series.VerdictRan, At: 5001, From: 4000, To: 5000}
	missed := series.Line{Verdict: series.VerdictMissed, Between: series.VerdictMissed, At: 9000, From: 1000, To: 5000}
	caught := series.Line{Verdict: series.VerdictRan, Between: series.VerdictMissed, At: 9000, From: 1000, To: 5000}
	late := series.Line{Verdict: series.VerdictEnded, At: 9000, From: 5000, To: 5000}
	bad := series.UnreadableLine("x")
	for _, c := range []struct {
		line             *series.Line
		ShortTime, until int64 // ms; 0: none
		verdict          series.Verdict
		want             bool
	}{
		{&ran, 0, 0, "", true},
		{&ran, 5001, 0, "", true}, // written then
		{&ran, 5002, 0, "", false},
		{&ran, 0, 5000, "", true},
		{&ran, 0, 4999, "", false},
		{&ran, 0, 0, series.VerdictRan, true},
		{&ran, 0, 0, series.VerdictMissed, false},
		{&missed, 2000, 3000, "", true}, // inside its range
		{&missed, 0, 1001, "", true},
		{&missed, 0, 1000, "", false}, // the mark before it is not part of it
		{&missed, 5001, 8999, "", false},
		{&missed, 9000, 9000, "", true},
		{&caught, 2000, 3000, series.VerdictMissed, true},
		{&caught, 2000, 3000, series.VerdictSkipped, false},
		{&late, 5001, 8999, "", false}, // its tick is before, and it was written after
		{&late, 8999, 9001, "", true},
		{&bad, 5000, 6000, series.VerdictRan, true},
	} {
		f := journalFilter{verdict: c.verdict}
		if c.ShortTime != 0 {
			f.since = time.UnixMilli(c.ShortTime)
		}
		if c.until != 0 {
			f.until = time.UnixMilli(c.until)
		}
		if got := f.shows(c.line); got != c.want {
			t.Errorf("%+v since %d until %d verdict %q: %v", *c.line, c.ShortTime, c.until, c.verdict, got)
		}
	}
}

// Each attempt that has no end because its node died is remarked on; one that runs, that
// ended, or that was given back, is not.
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
	}
	s := &series.Series{Now: 8000, Runs: []series.Run{
		{Number: 5000, State: series.RunOpen, Fence: 50001, Until: 8000},
		{Number: 6000, State: series.RunOpen, Fence: 60001, Until: 8001},
		{Number: 7000, State: series.RunOpen, Fence: 70003, Until: 7500},
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
	f := journalFilter{verdict: series.VerdictRan}
	if shown := f.shown(&series.Journal{Lines: lines}, s, 3); len(shown) != 3 || shown[0].Line != &lines[8] || shown[0].killed != got[8] {
		t.Errorf("the newest three are %v", shown)
	}
}

func TestRemark(t *testing.T) {
	for want, l := range map[string]series.Line{
		"":                                  {},
		"ok in 2.0ms":                       {Verdict: series.VerdictRan, Outcome: "ok", At: 1000, Ended: 1002},
		"failed":                            {Verdict: series.VerdictEnded, Outcome: "failed", At: 1002, Ended: 1002},
		"overlap; with all after 00:00:01":  {Verdict: series.VerdictSkipped, Reason: "overlap", Between: series.VerdictSkipped, From: 1000, To: 3000, At: 3000},
		"those after 00:00:01 missed":       {Verdict: series.VerdictRan, Between: series.VerdictMissed, From: 1000, To: 3000, At: 3000},
		"deadline; with all after 00:00:01": {Verdict: series.VerdictMissed, Reason: "deadline", Between: series.VerdictMissed, From: 1000, To: 3000, At: 3000},
	} {
		if got := remark(&shownLine{Line: &l}); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
