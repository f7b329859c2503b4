package why_test

import (
	"testing"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/why"
)

// A run of a backfill names the tick whose work it does, and that tick names the latest run that did its
// work, or else the latest that was to do it.
func TestExplainBackfill(t *testing.T) {
	const asked = "A run of a backfill, for the tick of 02:55:00Z, requested by ann at 03:00:03Z (the data was wrong)"
	audit := []series.AuditRecord{{Number: 1, Key: "report", Change: 1, Reason: "the data was wrong."}}
	missed := series.Line{Verdict: series.VerdictMissed, At: at(-200), From: at(-600), To: at(-300), Reason: series.ReasonMisfire, Node: "pod-a", Revision: "r1"}
	waits := manual(series.VerdictWaiting, 0, 0, 7)
	waits.For = at(-300)
	later := waits
	later.From, later.To, later.At = at(5.417), at(5.417), at(5.5)
	again := with(series.Line{Verdict: series.VerdictRan, At: at(5.5), From: later.To, To: later.To, Node: "pod-b", Revision: "r1", Attempt: 1, Fence: 9}, "ok", 1, "")
	request := control(3, "backfill", "ann", 1)
	run := series.Run{Number: at(byHand), State: series.RunWaiting, Fence: 7, StartBy: 1 << 52, For: at(-300), Room: 20_000}
	ok := with(granted(.003, "pod-b", 1, 8), "ok", .212, "")
	stopped := manual(series.VerdictSuperseded, 2, 0, 7)
	stopped.Reason = series.ReasonCancelled
	const was = "Missed: no node claimed it before 02:56:40Z, and the job's misfire policy did not run it later."
	for name, tc := range map[string]struct {
		lines []series.Line
		runs  []series.Run
		tick  float64
		state why.State
		want  string
	}{
		"waits": {lines: []series.Line{opened(), missed, request, waits}, runs: []series.Run{run}, tick: byHand, state: why.Waiting,
			want: asked + ", waits for a node that starts it, at least 20s before the next tick."},
		"waits for a run": {lines: []series.Line{opened(), missed, request, waits}, runs: []series.Run{{Number: at(0), State: series.RunOpen, Fence: 6, Until: at(28)}, run}, tick: byHand, state: why.Waiting,
			want: asked + ", waits for the end of the run of 03:00:00Z."},
		"waits, and its lines are gone": {lines: []series.Line{missed}, runs: []series.Run{run}, tick: byHand, state: why.Waiting,
			want: "A run of a backfill, for the tick of 02:55:00Z, whose request is gone from the journal, waits for a node that starts it, at least 20s before the next tick."},
		"of a later request, without the audit": {lines: []series.Line{opened(), missed, request, waits, ok, control(5, "backfill", "bob", 2), control(5.2, "skip", "eve", 3), later}, tick: 5.417, state: why.Waiting,
			runs: []series.Run{{Number: at(5.417), State: series.RunWaiting, Fence: 7, StartBy: 1 << 52, For: at(-300), Room: 20_000}},
			want: "A run of a backfill, for the tick of 02:55:00Z, requested by bob at 03:00:05Z, waits for a node that starts it, at least 20s before the next tick."},
		"ran": {lines: []series.Line{opened(), missed, request, waits, ok}, tick: byHand, state: why.Ran,
			want: asked + ", ran on pod-b as attempt 1, 3ms after its turn, ok in 212ms (fence 8)."},
		"ran, its request is gone": {lines: []series.Line{missed, waits, ok}, tick: byHand, state: why.Ran,
			want: "A run of a backfill, for the tick of 02:55:00Z, whose request is gone from the journal, ran on pod-b as attempt 1, 3ms after its turn, ok in 212ms (fence 8)."},
		"ended before it began": {lines: []series.Line{opened(), missed, request, waits, stopped, control(5.417, "backfill", "bob", 2)}, tick: byHand, state: why.Superseded,
			want: asked + ", was cancelled before it began."},
		"its tick, whose work is to be done again": {lines: []series.Line{opened(), missed, request, waits, ok, later}, tick: -300, state: why.Missed,
			want: was + " Its work was done later by the run of 03:00:03.417Z, for a backfill (ok)."},
		"its tick, whose work is to be done after all": {lines: []series.Line{opened(), missed, request, waits, stopped, later}, tick: -300, state: why.Missed,
			want: was + " A backfill gave its work to the run of 03:00:05.417Z (waiting)."},
		"its tick, whose work was done twice": {lines: []series.Line{opened(), missed, request, waits, ok, later, again}, tick: -300, state: why.Missed,
			want: was + " Its work was done later by the run of 03:00:05.417Z, for a backfill (ok)."},
		"its tick": {lines: []series.Line{opened(), missed, request, waits, ok}, tick: -300, state: why.Missed,
			want: was + " Its work was done later by the run of 03:00:03.417Z, for a backfill (ok)."},
		"the tick of a run that waits": {lines: []series.Line{opened(), missed, request, waits}, runs: []series.Run{run}, tick: -300, state: why.Missed,
			want: was + " A backfill gave its work to the run of 03:00:03.417Z (waiting)."},
		"the tick of a run that did not begin": {lines: []series.Line{opened(), missed, request, waits, stopped}, tick: -300, state: why.Missed,
			want: was + " A backfill gave its work to the run of 03:00:03.417Z (superseded)."},
		"1970, which no run of a backfill names": {lines: []series.Line{opened(), missed, request, waits}, tick: -float64(at(0)) / 1000, state: why.NotATick,
			want: "Not due: the job was opened at 2027-03-26 02:30:00Z, and has no ticks before. If it ran ticks before, the store has lost their records since: nodes then opened it again."},
	} {
		t.Run(name, func(t *testing.T) {
			q := why.Question{Tick: time.UnixMilli(at(tc.tick)), Audit: audit,
				State: series.Series{Key: "report", Now: at(8), Mark: at(-300), Runs: tc.runs},
				Journal: series.Journal{Key: "report", Truncated: tc.lines[0].Verdict != series.VerdictOpened, Lines: tc.lines,
					Revisions: []series.RevisionUse{{Revision: "r1", Spec: "*/5 * * * *", Zone: "UTC", Node: "pod-a", First: at(-1800), Last: at(40)}}}}
			got := why.Explain(q)
			if got.State != tc.state || got.Sentence != tc.want {
				t.Errorf("%s: %s\nwant %s: %s", got.State, got.Sentence, tc.state, tc.want)
			}
			evident(t, q, got)
		})
	}
}
