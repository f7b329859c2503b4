package ops

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/series"
)

// Exceptions count by their verdicts or outcomes, the ticks of a range one by one; a takeover counts in addition.
func TestExceptions(t *testing.T) {
	const second, t0 = int64(1000), int64(1_800_000_000_000)
	at := func(n int64, l series.Line) series.Line {
		l.To, l.At = t0+n*second, t0+n*second
		if l.From == 0 {
			l.From = l.To - second
		}
		return l
	}
	ran := func(n int64, outcome string, attempt int) series.Line {
		return at(n, series.Line{Verdict: series.VerdictRan, Attempt: attempt, Fence: n, Node: "n", Outcome: outcome, Ended: t0 + n*second + 1})
	}
	between := func(n, from int64, v series.Verdict, reason string) series.Line {
		return at(n, series.Line{Verdict: v, From: t0 + from*second, Between: v, Reason: reason})
	}
	for _, c := range []struct {
		name string
		line series.Line
		from int64 // seconds
		want map[string]int
	}{
		{"ok", ran(100, series.OutcomeOK, 1), 0, nil},
		{"failed", ran(100, series.OutcomeFailed, 1), 0, map[string]int{"failed": 1}},
		{"timeout", ran(100, series.OutcomeTimeout, 1), 0, map[string]int{"timeout": 1}},
		{"cancelled", ran(100, series.OutcomeCancelled, 1), 0, map[string]int{"cancelled": 1}},
		{"taken over, then ok", ran(100, series.OutcomeOK, 2), 0, map[string]int{Takeover: 1}},
		{"taken over, then failed", ran(100, series.OutcomeFailed, 2), 0, map[string]int{"failed": 1, Takeover: 1}},
		{"taken over, runs", at(100, series.Line{Verdict: series.VerdictRan, Attempt: 2, Fence: 9, Node: "n"}), 0, map[string]int{Takeover: 1}},
		{"interrupted by a drain", ran(100, series.OutcomeInterrupted, 1), 0, nil},
		{"lost", at(100, series.Line{Verdict: series.VerdictLost}), 0, map[string]int{"lost": 1}},
		{"one missed", at(100, series.Line{Verdict: series.VerdictMissed}), 0, map[string]int{"missed": 1}},
		{"ten missed", between(100, 90, series.VerdictMissed, ""), 0, map[string]int{"missed": 10}},
		{"ten missed, from the sixth on", between(100, 90, series.VerdictMissed, ""), 96, map[string]int{"missed": 5}},
		{"paused", between(100, 90, series.VerdictPaused, ""), 0, map[string]int{"paused": 10}},
		{"skipped behind a run", at(100, series.Line{Verdict: series.VerdictSkipped, Reason: series.ReasonOverlap}), 0, nil},
		{"skipped behind a run for long", between(100, 30, series.VerdictSkipped, series.ReasonOverlap), 0, map[string]int{"skipped": 70}},
		{"skipped for an operator", at(100, series.Line{Verdict: series.VerdictSkipped, Reason: series.ReasonOperator}), 0, map[string]int{"skipped": 1}},
		{"before the time", ran(100, series.OutcomeFailed, 1), 101, map[string]int{}},
	} {
		j := series.Journal{Key: "a", Lines: []series.Line{c.line}, Revisions: []series.RevisionUse{{Revision: "r", Spec: "@every 1s", Zone: "UTC", First: t0 - 1, Last: t0}}}
		s := series.Series{Key: "a", Now: t0 + 100*second, Mark: t0 + 100*second}
		job := newJob("shop", j, s, NewNodeList(series.MemberList{Now: s.Now}, nil), nil)
		got := (&Snapshot{Jobs: []*Job{job}}).Exceptions(utc(t0 + c.from*second))
		if !maps.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
		for i := range job.Runs {
			if r := &job.Runs[i]; r.exception() != (c.want != nil) {
				t.Errorf("%s: an exception: %v", c.name, r.exception())
			}
			for verdict := range got {
				if f := (RunFilter{Verdict: verdict}); !slices.Contains(Verdicts, verdict) || !f.Lets(&job.Runs[i]) {
					t.Errorf("%s: the list of the runs that are %s lacks it", c.name, verdict)
				}
			}
		}
	}
}

// Of the exceptions of a job those before the instant do not count.
func TestExceptionsOfAPeriod(t *testing.T) {
	failed := func(n int64) series.Line {
		return series.Line{Verdict: series.VerdictRan, At: n, From: n - 1000, To: n, Attempt: 1, Outcome: series.OutcomeFailed, Ended: n + 1}
	}
	job := newJob("shop", series.Journal{Lines: []series.Line{failed(10_000), failed(50_000), failed(90_000)}}, series.Series{Key: "a", Now: 100_000, Mark: 90_000}, &NodeList{}, nil)
	for from, want := range map[int64]int{10_000: 3, 10_001: 2, 50_001: 1} {
		if got := (&Snapshot{Jobs: []*Job{job}}).Exceptions(utc(from))["failed"]; got != want {
			t.Errorf("from %d on: %d failed, want %d", from, got, want)
		}
	}
}

// Of each job the newest verdict alone decides which jobs have the newest ones.
func TestLatest(t *testing.T) {
	s := new(Snapshot)
	for i, recorded := range [][]int64{{9, 8, 7}, {}, {3}, {12, 1}, {5, 4}, {12}} {
		j := &Job{Name: string(rune('a' + i))}
		for k, n := range recorded {
			j.Runs = append(j.Runs, Run{ID: fmt.Sprint(j.Name, k), Recorded: InstantOf(time.Unix(n, 0))})
		}
		s.Jobs = append(s.Jobs, j)
	}
	for n, want := range []string{"f", "fd", "fda", "fdae", "fdaec", "fdaec"} {
		names := ""
		for _, j := range s.Latest(n + 1) {
			names += j.Name
		}
		if names != want {
			t.Errorf("the latest %d jobs: %s, want %s", n+1, names, want)
		}
	}
}
