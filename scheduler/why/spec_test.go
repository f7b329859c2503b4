package why_test

import (
	"errors"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/why"
)

// A tick of a job that had two specs is explained by the one that decided it, or else by the one in force: of
// these, by the one used last.
func TestExplainWithTwoSpecs(t *testing.T) {
	const every5, every10, next = "*/5 * * * *", "*/10 * * * *", "1-59/5 * * * *"
	missed := series.Line{Verdict: series.VerdictMissed, At: at(100), From: at(-300), To: at(0), Reason: series.ReasonDeadline, Revision: "r1"}
	respecified := missed
	respecified.Reason, respecified.Node = series.ReasonRespecified, "pod-b"
	passed := series.Line{Verdict: series.VerdictRan, At: at(61), From: at(-300), To: at(60), Node: "pod-b", Revision: "r2", Attempt: 1, Fence: 7, Outcome: "ok", Ended: at(62)}
	unknown := passed
	unknown.Revision = "r3"
	for name, tc := range map[string]struct {
		lines  []series.Line
		tick   float64
		newer  string // the spec of r2; r1 ticks every five minutes
		first  float64
		last   float64 // r1 was last used at 20
		state  why.State
		inUse  string
		phrase string
	}{
		"missed by its deadline": {lines: []series.Line{missed}, newer: every10, first: -900, last: 100, state: why.Missed, inUse: every5,
			phrase: "Missed: the first claim that could start it came 1m40s late, after its deadline."},
		"missed with another": {tick: -600, newer: every10, first: -900, last: 100, state: why.Missed, inUse: every5,
			lines:  []series.Line{{Verdict: series.VerdictRan, At: at(1), From: at(-900), To: at(0), Between: series.VerdictMissed, Revision: "r1", Node: "pod-a", Attempt: 1, Fence: 7, Outcome: "ok", Ended: at(2)}},
			phrase: "Missed with 1 other: no node claimed it between 02:45:00Z and 03:00:01Z, and the job's misfire policy ran at most the latest ones."},
		"replaced": {lines: []series.Line{respecified}, newer: next, first: 30, last: 100, state: why.Missed, inUse: every5,
			phrase: `Missed: no node decided it before its spec, "*/5 * * * *", was replaced. pod-b, which has the spec that took its place, recorded it at 03:01:40Z.`},
		"passed over": {lines: []series.Line{passed}, newer: next, first: 30, last: 100, state: why.Missed, inUse: every5,
			phrase: `Missed: its spec, "*/5 * * * *", was replaced by "1-59/5 * * * *" before a node decided it, and a later tick of that was decided at 03:01:01Z.`},
		"passed over by a spec that is not recorded": {lines: []series.Line{unknown}, newer: next, first: 30, last: 100, state: why.Missed, inUse: every5,
			phrase: `Missed: its spec, "*/5 * * * *", was replaced by "r3" before a node decided it, and a later tick of that was decided at 03:01:01Z.`},
		"ran": {lines: []series.Line{with(ran(0, "pod-a", 0, 1, 7), "ok", 1, "")}, newer: every10, first: -900, last: 100, state: why.Ran, inUse: every5,
			phrase: "Ran on pod-a as attempt 1, 0s after the tick, ok in 1s (fence 7)."},
		"due, and the older one was used last": {newer: every10, first: -900, last: 10, state: why.Undecided, inUse: every5,
			phrase: "Not decided yet: it was due 1m40s ago, and its deadline is not over."},
		"due, and the newer one was used last": {newer: every10, first: -900, last: 100, state: why.Undecided, inUse: every10,
			phrase: "Not decided yet: it was due 1m40s ago, and its deadline is not over."},
		"a tick to come of the older one": {tick: 300, newer: next, first: 30, last: 100, state: why.NotATick, inUse: next,
			phrase: `Not a tick: "1-59/5 * * * *" has none at that instant. The nearest: Fri 2027-03-26 03:01:00 +00:00 and Fri 2027-03-26 03:06:00 +00:00.`},
		"no tick before the newer one was in force": {tick: -60, newer: "* * * * *", first: 30, last: 100, state: why.NotATick, inUse: every5,
			phrase: `Not a tick: "*/5 * * * *" has none at that instant. The nearest: Fri 2027-03-26 02:55:00 +00:00 and Fri 2027-03-26 03:00:00 +00:00.`},
	} {
		t.Run(name, func(t *testing.T) {
			q := why.Question{Tick: time.UnixMilli(at(tc.tick)), State: series.Series{Key: "report", Now: at(100), Mark: at(-300)},
				Journal: series.Journal{Key: "report", Lines: append([]series.Line{opened()}, tc.lines...), Revisions: []series.RevisionUse{
					{Revision: "r1", Spec: every5, Zone: "UTC", Node: "pod-a", First: at(-1800), Last: at(20)},
					{Revision: "r2", Spec: tc.newer, Zone: "UTC", Node: "pod-b", First: at(tc.first), Last: at(tc.last)}}}}
			got := why.Explain(q)
			if got.State != tc.state || got.Sentence != tc.phrase || got.Spec != tc.inUse {
				t.Errorf("%s by %q: %s\nwant %s by %q: %s", got.State, got.Spec, got.Sentence, tc.state, tc.inUse, tc.phrase)
			}
			evident(t, q, got)
		})
	}
}

// Without a spec or a state that can be read, the answer says so.
func TestExplainUnreadable(t *testing.T) {
	const noSpec = "Not known: no spec of the job is recorded that can be read."
	state := series.Series{Key: "report", Now: at(20), Mark: at(-300)}
	decided := state
	decided.Mark = at(0)
	for name, tc := range map[string]struct {
		tick  float64
		lines []series.Line
		state series.Series
		want  string
		next  string
	}{
		"before the opening": {tick: -3600, lines: []series.Line{opened()}, state: state, want: "Not due: the job was opened at 02:30:00Z, and has no ticks before."},
		"due":                {lines: []series.Line{opened()}, state: state, want: "Not a tick: no spec of the job that is recorded was in force at that instant."},
		"no line":            {state: decided, want: noSpec, next: "cronce doctor"},
		"no state":           {lines: []series.Line{opened()}, state: series.Series{Key: "report", Err: errors.New("cut off")}, want: "Not known: the state of the job cannot be read.", next: "cronce doctor"},
	} {
		for _, uses := range [][]series.RevisionUse{nil, {{Revision: "r1", Spec: "*/5 * * * *", Zone: "Nowhere/Else"}}, {{Revision: "r1", Spec: "often", Zone: "UTC"}}} {
			got := why.Explain(why.Question{Tick: time.UnixMilli(at(tc.tick)), State: tc.state, Journal: series.Journal{Key: "report", Lines: tc.lines, Revisions: uses}})
			if got.Sentence != tc.want || got.Next != tc.next {
				t.Errorf("%s, %v: %s: %s Then %q\nwant %s Then %q", name, uses, got.State, got.Sentence, got.Next, tc.want, tc.next)
			}
		}
	}
	if got := why.Explain(why.Question{Tick: tick, State: series.Series{Key: "report", Now: at(20)}, Journal: series.Journal{Key: "report"}}); got.Sentence != noSpec {
		t.Errorf("a job that was never opened: %s\nwant %s", got.Sentence, noSpec)
	}
}
