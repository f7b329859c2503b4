package why_test

import (
	"testing"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/why"
)

// byHand is the second of the request for the manual run of the question.
const byHand = 3.417

// waiting returns the lines of the request for the manual run, with fence 7.
func waiting() []series.Line {
	asks := control(byHand, "run", "ann", 1)
	asks.Fence = 7
	return []series.Line{asks, {Verdict: series.VerdictWaiting, At: at(byHand), From: at(byHand), To: at(byHand), Fence: 7}}
}

// manual returns a line about the manual run, written some seconds after its request.
func manual(v series.Verdict, after float64, attempt int, fence int64) series.Line {
	return series.Line{Verdict: v, At: at(byHand + after), From: at(byHand), To: at(byHand), Attempt: attempt, Fence: fence}
}

// granted returns the line of a grant of the manual run to a node.
func granted(after float64, node string, attempt int, fence int64) series.Line {
	l := manual(series.VerdictRan, after, attempt, fence)
	l.Node, l.Revision = node, "r1"
	return l
}

func TestExplainManualRun(t *testing.T) {
	const asked = "A manual run, requested by ann at 03:00:03.417Z (the report was wrong)"
	audit := []series.AuditRecord{{Number: 1, Key: "report", Change: 1, Reason: "the report was wrong."}}
	waits := series.Run{Number: at(byHand), State: series.RunWaiting, Fence: 7, StartBy: at(63.417)}
	open := series.Run{Number: at(byHand), State: series.RunOpen, Owner: "pod-b/1", Fence: 8, Attempt: 1, Until: at(28), StartBy: at(63.417)}
	other := series.Run{Number: at(0), State: series.RunOpen, Owner: "pod-a/1", Fence: 6, Attempt: 1, Until: at(28)}
	later := control(5, "pause", "op@host", 2)
	earlier := control(1, "run", "bob", 3) // of another run
	earlier.Fence = 5
	sheet := series.Sheet{Shards: []series.Shard{{State: series.RunOpen, Fence: 7, Until: at(28)}}}
	cancel := cancelled(8, 7)
	cancel.Change, cancel.Audit = 2, 2
	for name, tc := range map[string]struct {
		lines     []series.Line // after those of the request
		runs      []series.Run
		now       float64 // 0: 20 seconds after 03:00
		paused    bool
		pause     series.Pause
		policies  string
		cause     string
		truncated bool // the lines of the request are gone
		unaudited bool
		removed   bool
		state     why.State
		want      string
		next      string
	}{
		"waits for a node": {runs: []series.Run{waits}, now: 4, state: why.Waiting,
			want: asked + ", waits for a node that starts it; it may start until 03:01:03.417Z."},
		"waits for a run": {lines: []series.Line{ran(0, "pod-a", 0, 1, 6)}, runs: []series.Run{other, waits}, now: 10, state: why.Waiting,
			want: asked + ", waits for the end of the run of 03:00:00Z on pod-a; it may start until 03:01:03.417Z."},
		"waits beside a run": {lines: []series.Line{ran(0, "pod-a", 0, 1, 6)}, runs: []series.Run{other, waits}, now: 10, policies: "overlap:allow", state: why.Waiting,
			want: asked + ", waits for a node that starts it; it may start until 03:01:03.417Z."},
		"waits in an earlier pause": {runs: []series.Run{waits}, now: 10, paused: true, pause: series.Pause{Who: "op@host", Reason: "moved", Since: at(-60)}, state: why.Waiting,
			want: asked + ", waits for a node that starts it; it may start until 03:01:03.417Z."},
		"the job is removed": {runs: []series.Run{waits}, now: 64, state: why.Waiting, removed: true,
			want: asked + ", waits for a node that starts it; the job was removed from every node that had it, and the node that retires it settles the run."},
		"a reload has removed the job": {runs: []series.Run{waits}, now: 20, state: why.Overdue, cause: "pod-a had this job", next: "cronce status overdue --job report",
			want: asked + ", was to start, and no node has started or settled it: pod-a had this job."},
		"waits in a later pause": {lines: []series.Line{later}, runs: []series.Run{waits}, now: 10, paused: true, pause: series.Pause{Who: "op@host", Reason: "moved", Since: at(5)}, state: why.Waiting,
			want: asked + ", waits, and the job was paused after the request. Paused by op@host since 03:00:05Z: moved. The next claim, or the end of the pause, records the run as paused.", next: "cronce resume report"},
		"its time is over": {runs: []series.Run{waits}, now: 64, state: why.Overdue, cause: "no node lives",
			want: asked + ", was to start, and no node has started or settled it: no node lives.", next: "cronce status overdue --job report"},
		"ran": {lines: []series.Line{with(granted(.003, "pod-b", 1, 8), "ok", .212, "")}, state: why.Ran,
			want: asked + ", ran on pod-b as attempt 1, 3ms after the request, ok in 212ms (fence 8)."},
		"ran, its request is gone": {truncated: true, lines: []series.Line{with(granted(.003, "pod-b", 1, 8), "ok", .212, "")}, state: why.Ran,
			want: "A manual run, whose request is gone from the journal, ran on pod-b as attempt 1, 3ms after the request, ok in 212ms (fence 8)."},
		"its time is just over": {runs: []series.Run{{Number: at(byHand), State: series.RunWaiting, Fence: 7, StartBy: at(8)}}, now: 9, state: why.Waiting,
			want: asked + ", was to start by 03:00:08Z, and no node started it. A node records that soon."},
		"waits beside runs that are not alive": {lines: []series.Line{ran(0, "pod-a", 0, 1, 6)}, now: 10, state: why.Waiting,
			runs: []series.Run{{Number: at(-300), State: series.RunGivenBack, Fence: 5, Attempt: 1, Until: at(28)}, {Number: at(0), State: series.RunOpen, Fence: 6, Attempt: 1, Until: at(9)}, waits},
			want: asked + ", waits for a node that starts it; it may start until 03:01:03.417Z."},
		"waits for the shards of a run": {lines: []series.Line{ran(0, "pod-a", 0, 1, 6)}, runs: []series.Run{{Number: at(0), State: series.RunOpen, Fence: 6, Until: at(5), Shards: 1}, waits}, now: 10, state: why.Waiting,
			want: asked + ", waits for the end of the run of 03:00:00Z on pod-a; it may start until 03:01:03.417Z."},
		"ran, without the audit": {unaudited: true, lines: []series.Line{with(granted(.003, "pod-b", 1, 8), "ok", .212, "")}, state: why.Ran,
			want: "A manual run, requested by ann at 03:00:03.417Z, ran on pod-b as attempt 1, 3ms after the request, ok in 212ms (fence 8)."},
		"failed": {lines: []series.Line{with(granted(.003, "pod-b", 1, 8), "failed", 9.1, "connection refused.")}, state: why.Failed,
			want: asked + ", ran on pod-b as attempt 1, 3ms after the request, and ended as failed after 9.1s: connection refused.", next: "cronce runs report"},
		"found nothing to do": {lines: []series.Line{with(granted(.003, "pod-b", 1, 8), "skipped", .5, "no file")}, state: why.Skipped,
			want: asked + ", ran on pod-b as attempt 1, 3ms after the request, and its function found nothing to do, after 500ms: no file."},
		"runs": {lines: []series.Line{granted(.003, "pod-b", 1, 8)}, runs: []series.Run{open}, state: why.Running,
			want: asked + ": it runs on pod-b as attempt 1, 3ms after the request (fence 8); its lease lives 8s more."},
		"its node died": {lines: []series.Line{granted(.003, "pod-b", 1, 8)}, runs: []series.Run{open}, now: 40, state: why.Overdue,
			want: asked + ": it was granted on pod-b as attempt 1, 3ms after the request; that lease ended 12s ago, and no node has settled the run or taken it over.", next: "cronce status overdue --job report"},
		"taken over": {lines: []series.Line{granted(.003, "pod-a", 1, 8), with(granted(10.9, "pod-c", 2, 9), "ok", 1, "")}, state: why.Ran,
			want: asked + ": pod-a was granted it at 03:00:03.420Z and did not end it before its lease was over; ran on pod-c as attempt 2, 10.9s after the request, ok in 1s (fence 9)."},
		"lost": {lines: []series.Line{granted(.003, "pod-a", 1, 8), manual(series.VerdictLost, 12, 1, 8)}, state: why.Lost,
			want: asked + ", was lost: pod-a was granted it at 03:00:03.420Z as attempt 1, and did not end it before its lease was over, and no other node may run it again."},
		"missed": {lines: []series.Line{manual(series.VerdictMissed, 61, 0, 7)}, now: 70, state: why.Missed,
			want: asked + ", was missed: no node had started it in time, and a node recorded that at 03:01:04.417Z.", next: "cronce runs report"},
		"paused": {lines: []series.Line{later, manual(series.VerdictPaused, 5, 0, 7)}, now: 70, paused: true, pause: series.Pause{Who: "op@host", Reason: "moved", Since: at(5)}, state: why.Paused,
			want: asked + ", was not started. Paused by op@host since 03:00:05Z: moved. It was recorded at 03:00:08.417Z."},
		"cancelled": {lines: []series.Line{manual(series.VerdictSuperseded, 4.583, 0, 7), cancel}, state: why.Superseded,
			want: asked + ", was cancelled before it began. Cancelled by op@host at 03:00:08Z."},
		"cancelled, its request is gone": {truncated: true, lines: []series.Line{waiting()[1], manual(series.VerdictSuperseded, 4.583, 0, 7), cancel}, state: why.Superseded,
			want: "A manual run, whose request is gone from the journal, was cancelled before it began. Cancelled by op@host at 03:00:08Z."},
	} {
		t.Run(name, func(t *testing.T) {
			now := tc.now
			if now == 0 {
				now = 20
			}
			lines := append([]series.Line{opened(), earlier}, append(waiting(), tc.lines...)...)
			if tc.truncated {
				lines = tc.lines
			}
			audit := audit
			if tc.unaudited {
				audit = nil
			}
			q := why.Question{
				Tick: time.UnixMilli(at(byHand)), Audit: audit, Cause: tc.cause, Removed: tc.removed,
				Journal: series.Journal{Key: "report", Lines: lines, Truncated: tc.truncated,
					Revisions: []series.RevisionUse{{Revision: "r1", Spec: "*/5 * * * *", Zone: "UTC", Policies: tc.policies, Node: "pod-a", First: at(-1800), Last: at(now)}}},
				State: series.Series{Key: "report", Now: at(now), Mark: at(0), Paused: tc.paused, Pause: tc.pause, Runs: tc.runs, Sheet: sheet},
			}
			got := why.Explain(q)
			if got.State != tc.state || got.Sentence != tc.want || got.Next != tc.next {
				t.Errorf("%s: %s Then %q\nwant %s: %s Then %q", got.State, got.Sentence, got.Next, tc.state, tc.want, tc.next)
			}
			evident(t, q, got)
		})
	}
}

// A number with a part of a second that no line has is neither a tick nor a manual run, unless older lines
// are gone.
func TestExplainUnknownManualRun(t *testing.T) {
	for name, tc := range map[string]struct {
		truncated bool
		lines     []series.Line
		state     why.State
		want      string
	}{
		"whole journal": {lines: []series.Line{opened(), ran(0, "pod-a", 0, 1, 6)}, state: why.NotATick,
			want: "Not a tick, and no manual run: ticks have whole seconds, and no manual run of the job has that instant."},
		"cut before": {truncated: true, lines: []series.Line{ran(0, "pod-a", 0, 1, 6)}, state: why.NotATick,
			want: "Not a tick, and no manual run: ticks have whole seconds, and no manual run of the job has that instant."},
		"cut after": {truncated: true, lines: []series.Line{ran(300, "pod-a", 0, 1, 6)}, state: why.NotKnown,
			want: "Not known: older lines of the journal are gone, and they may have had a manual run with that instant."},
		"a line cannot be read": {lines: []series.Line{opened(), series.UnreadableLine("?")}, state: why.NotKnown,
			want: "Not known: a line of the journal cannot be read, and it may be about this tick."},
	} {
		got := why.Explain(why.Question{Tick: time.UnixMilli(at(byHand)), State: series.Series{Key: "report", Now: at(320), Mark: at(0)},
			Journal: series.Journal{Key: "report", Truncated: tc.truncated, Lines: tc.lines,
				Revisions: []series.RevisionUse{{Revision: "r1", Spec: "*/5 * * * *", Zone: "UTC", Node: "pod-a", First: at(-1800), Last: at(320)}}}})
		next := ""
		if tc.state == why.NotKnown {
			next = "cronce verify --job report"
		}
		if got.State != tc.state || got.Sentence != tc.want || got.Next != next {
			t.Errorf("%s: %s: %s Then %q\nwant %s: %s Then %q", name, got.State, got.Sentence, got.Next, tc.state, tc.want, next)
		}
	}
}

// The sentence about a tick that an operator skips names the latest change before the verdict.
func TestExplainSkippedTick(t *testing.T) {
	skips := control(-90, "skip", "ann", 1)
	later := control(30, "skip", "bob", 2)
	skipped := series.Line{Verdict: series.VerdictSkipped, At: at(.1), From: at(-300), To: at(0), Reason: series.ReasonOperator, Node: "pod-b", Revision: "r1"}
	audit := []series.AuditRecord{{Number: 1, Key: "report", Change: 1, Reason: "a holiday"}}
	for name, tc := range map[string]struct {
		lines []series.Line
		skip  float64 // seconds after 03:00; 0: no tick is to be skipped
		tick  float64
		audit []series.AuditRecord
		state why.State
		want  string
	}{
		"skipped": {lines: []series.Line{opened(), skips, skipped, later}, audit: audit, state: why.Skipped,
			want: "Skipped for an operator: ann requested that at 02:58:30Z: a holiday."},
		"skipped, without the audit": {lines: []series.Line{opened(), skips, skipped}, state: why.Skipped,
			want: "Skipped for an operator: ann requested that at 02:58:30Z."},
		"skipped, and the change is gone": {lines: []series.Line{skipped}, state: why.Skipped,
			want: "Skipped for an operator: an operator requested that."},
		"will be skipped": {lines: []series.Line{opened(), skips}, skip: 300, tick: 300, audit: audit, state: why.Future,
			want: "Due in 4m20s. It will be skipped: ann requested that at 02:58:30Z: a holiday."},
		"another one will be skipped": {lines: []series.Line{opened(), skips}, skip: 300, tick: 600, audit: audit, state: why.Future,
			want: "Due in 9m20s."},
		"due, and will be skipped": {lines: []series.Line{opened(), skips}, skip: 30, tick: 30, audit: audit, state: why.Undecided,
			want: "Not decided yet: it was due 10s ago, and its deadline is not over. It will be skipped: ann requested that at 02:58:30Z: a holiday."},
	} {
		skip := int64(0)
		if tc.skip != 0 {
			skip = at(tc.skip)
		}
		got := why.Explain(why.Question{Tick: time.UnixMilli(at(tc.tick)), Audit: tc.audit, State: series.Series{Key: "report", Now: at(40), Mark: at(0), Skip: skip},
			Journal: series.Journal{Key: "report", Truncated: tc.lines[0].Verdict != series.VerdictOpened, Lines: tc.lines,
				Revisions: []series.RevisionUse{{Revision: "r1", Spec: "*/30 * * * * *", Zone: "UTC", Node: "pod-a", First: at(-1800), Last: at(40)}}}})
		if got.State != tc.state || got.Sentence != tc.want {
			t.Errorf("%s: %s: %s\nwant %s: %s", name, got.State, got.Sentence, tc.state, tc.want)
		}
	}
}
