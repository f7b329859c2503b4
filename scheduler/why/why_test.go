package why_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/why"
)

// The job ticks every five minutes. Its journal begins at 02:30, and the tick of the question is
// 03:00, unless a case names another.
var tick = time.Date(2027, 3, 26, 3, 0, 0, 0, time.UTC)

// at returns an instant in seconds after the tick.
func at(seconds float64) int64 { return tick.UnixMilli() + int64(seconds*1000) }

func opened() series.Line {
	return series.Line{Verdict: series.VerdictOpened, At: at(-1800), From: at(-1800), To: at(-1800), Revision: "r1"}
}

// ran returns the line of a grant of the tick to a node; of is in seconds after 03:00, and late
// after the tick.
func ran(of float64, node string, late float64, attempt int, fence int64) series.Line {
	return series.Line{Verdict: series.VerdictRan, At: at(of + late), From: at(of - 300), To: at(of), Node: node, Revision: "r1", Attempt: attempt, Fence: fence}
}

// with returns a grant that ended took seconds after it.
func with(l series.Line, outcome string, took float64, text string) series.Line {
	l.Outcome, l.Error, l.Ended = outcome, text, l.At+int64(took*1000)
	return l
}

// control returns the line of a change by an operator, in seconds after 03:00.
func control(seconds float64, action, who string, number int64) series.Line {
	return series.Line{Verdict: series.VerdictControl, At: at(seconds), From: at(-300), To: at(-300), Reason: action, Node: who, Change: number, Audit: number}
}

// cancelled returns the line of the cancel of the run with a fence.
func cancelled(seconds float64, fence int64) series.Line {
	l := control(seconds, "cancel", "op@host", 1)
	l.Fence, l.Attempt = fence, 1
	return l
}

func TestExplain(t *testing.T) {
	alive := func(fence int64, left float64) series.Run {
		return series.Run{Number: at(0), State: series.RunOpen, Fence: fence, Attempt: 1, Until: at(20 + left)}
	}
	for name, tc := range map[string]struct {
		lines     []series.Line
		runs      []series.Run
		tick      float64 // seconds after 03:00
		now       float64 // 0: 20 seconds after 03:00
		mark      float64 // seconds after 03:00
		paused    bool
		pause     series.Pause
		audit     []series.AuditRecord
		truncated bool
		cause     string
		spec      string // empty: every five minutes
		zone      string // empty: UTC
		crontab   bool   // commands in crontabs claim the ticks
		removed   bool   // from all nodes that had the job
		state     why.State
		want      string
	}{
		"ran": {lines: []series.Line{with(ran(0, "pod-b", .003, 1, 7), "ok", .212, "")},
			state: why.Ran, want: "Ran on pod-b as attempt 1, 3ms after the tick, ok in 212ms (fence 7)."},
		"ran after a takeover": {lines: []series.Line{ran(0, "pod-a", .004, 1, 7), with(ran(0, "pod-c", 10.9, 2, 8), "ok", 1, "")},
			state: why.Ran, want: "pod-a was granted it at 03:00:00.004Z and did not end it before its lease was over; ran on pod-c as attempt 2, 10.9s after the tick, ok in 1s (fence 8)."},
		"ran again after a drain": {lines: []series.Line{with(ran(0, "pod-a", .004, 1, 7), "interrupted", 2, ""), with(ran(0, "pod-c", 3, 2, 8), "ok", 1, "")},
			state: why.Ran, want: "pod-a was granted it at 03:00:00.004Z and was drained during the run; ran on pod-c as attempt 2, 3s after the tick, ok in 1s (fence 8)."},
		"failed": {lines: []series.Line{with(ran(0, "pod-b", .003, 1, 7), "failed", 9.1, "connection refused.")},
			state: why.Failed, want: "Ran on pod-b as attempt 1, 3ms after the tick, and ended as failed after 9.1s: connection refused."},
		"found nothing to do": {lines: []series.Line{with(ran(0, "pod-b", .003, 1, 7), "skipped", .5, "no file")},
			state: why.Skipped, want: "Ran on pod-b as attempt 1, 3ms after the tick, and its function found nothing to do, after 500ms: no file."},
		"failed, the end in a line of its own": {lines: []series.Line{ran(0, "pod-b", .003, 1, 7), {Verdict: series.VerdictEnded, At: at(60), From: at(0), To: at(0), Attempt: 1, Fence: 7, Outcome: "timeout"}},
			now: 70, state: why.Failed, want: "Ran on pod-b as attempt 1, 3ms after the tick, and ended as timeout after 59.997s."},
		"runs": {lines: []series.Line{ran(0, "pod-b", .003, 1, 7)}, runs: []series.Run{alive(7, 8)},
			state: why.Running, want: "It runs on pod-b as attempt 1, 3ms after the tick (fence 7); its lease lives 8s more."},
		"its node died": {lines: []series.Line{ran(0, "pod-b", .003, 1, 7)}, runs: []series.Run{alive(7, -12)}, cause: "no node lives: pod-b fell silent before 03:00:10Z",
			state: why.Overdue, want: "It was granted on pod-b as attempt 1, 3ms after the tick; that lease ended 12s ago, and no node has settled the tick or taken it over: no node lives: pod-b fell silent before 03:00:10Z."},
		"skipped": {lines: []series.Line{ran(-300, "pod-a", 0, 1, 6), {Verdict: series.VerdictSkipped, At: at(.1), From: at(-300), To: at(0), Reason: "overlap", Node: "pod-b", Revision: "r1", Blocker: at(-300), BlockerFence: 6}},
			state: why.Skipped, want: "Skipped: the run of 02:55:00Z on pod-a was alive, and overlap is skip."},
		"skipped with others": {lines: []series.Line{ran(-300, "pod-a", 0, 1, 6), {Verdict: series.VerdictSkipped, At: at(300), From: at(-300), To: at(300), Between: series.VerdictSkipped, Reason: "overlap", Revision: "r1", Blocker: at(-300), BlockerFence: 6}},
			now: 310, mark: 300, state: why.Skipped, want: "Skipped: the run of 02:55:00Z on pod-a was alive, and overlap is skip."},
		"waits": {lines: []series.Line{ran(-300, "pod-a", 0, 1, 6), {Verdict: series.VerdictWaiting, At: at(.1), From: at(-300), To: at(0), Revision: "r1", Fence: 7, Blocker: at(-300), BlockerFence: 6}},
			runs:  []series.Run{{Number: at(-300), State: series.RunOpen, Fence: 6, Until: at(28)}, {Number: at(0), State: series.RunWaiting, Fence: 7}},
			state: why.Waiting, want: "Waits since 03:00:00.100Z for the end of the run of 02:55:00Z on pod-a."},
		"superseded": {lines: []series.Line{ran(-300, "pod-a", 0, 1, 6), {Verdict: series.VerdictWaiting, At: at(.1), From: at(-300), To: at(0), Revision: "r1", Fence: 7, Blocker: at(-300), BlockerFence: 6},
			{Verdict: series.VerdictSuperseded, At: at(300), From: at(0), To: at(0), Revision: "r1", Fence: 7}}, now: 310, mark: 300,
			state: why.Superseded, want: "Superseded: it waited for the run of 02:55:00Z on pod-a, and before that ended, a later tick took its place."},
		"missed by its deadline": {lines: []series.Line{{Verdict: series.VerdictMissed, At: at(61.2), From: at(-300), To: at(0), Reason: "deadline", Revision: "r1"}},
			now: 70, state: why.Missed, want: "Missed: the first claim that could start it came 1m1.2s late, after its deadline."},
		"missed with others": {lines: []series.Line{{Verdict: series.VerdictRan, At: at(901), From: at(-600), To: at(900), Between: series.VerdictMissed, Revision: "r1", Node: "pod-a", Attempt: 1, Fence: 9, Outcome: "ok", Ended: at(902)}},
			now: 910, mark: 900, state: why.Missed, want: "Missed with 3 others: no node claimed it between 02:50:00Z and 03:15:01Z, and the job's misfire policy ran at most the latest ones."},
		"missed before a pause": {lines: []series.Line{control(-400, "retire", "other", 1), {Verdict: series.VerdictMissed, At: at(600), From: at(-300), To: at(300), Between: series.VerdictMissed, Reason: series.ReasonMisfire, Revision: "r1"}, control(600, "pause", "op@host", 2), control(600, "pause", "later", 3)},
			now: 610, mark: 300, state: why.Missed, want: "Missed: no node decided it before the job was paused at 03:10:00Z, by op@host."},
		"missed before a retire": {lines: []series.Line{control(-400, "retire", "other", 1), {Verdict: series.VerdictMissed, At: at(600), From: at(-300), To: at(300), Between: series.VerdictMissed, Reason: series.ReasonMisfire, Revision: "r1"}, control(600, "retire", "op@host", 2), control(600, "pause", "later", 3)},
			now: 610, mark: 300, state: why.Missed, want: "Missed: no node decided it before the job was retired at 03:10:00Z, by op@host."},
		"missed before a pause whose line is gone": {lines: []series.Line{{Verdict: series.VerdictMissed, At: at(600), From: at(-300), To: at(300), Between: series.VerdictMissed, Reason: series.ReasonMisfire, Revision: "r1"}},
			now: 610, mark: 300, state: why.Missed, want: "Missed: no node decided it before the job was paused at 03:10:00Z."},
		"paused": {lines: []series.Line{{Verdict: series.VerdictPaused, At: at(1), From: at(-300), To: at(0), Revision: "r1"}},
			state: why.Paused, want: "Paused: the job was paused. A node recorded it at 03:00:01Z."},
		"paused with others": {lines: []series.Line{{Verdict: series.VerdictPaused, At: at(86400), From: at(-600), To: at(86400), Between: series.VerdictPaused, Revision: "r1"}},
			now: 86410, mark: 86400, state: why.Paused, want: "Paused: the job was paused. It was recorded at 2027-03-27 03:00:00Z, with all ticks after 02:50:00Z."},
		"paused by an operator": {lines: []series.Line{control(-17400, "pause", "op@host", 1), {Verdict: series.VerdictPaused, At: at(1), From: at(-300), To: at(0), Revision: "r1"}},
			audit: []series.AuditRecord{{Number: 1, Key: "report", Change: 1, Reason: "gateway maintenance", After: fmt.Sprint("paused until ", at(18000))}},
			state: why.Paused, want: "Paused by op@host since 2027-03-25 22:10:00Z until 08:00:00Z: gateway maintenance. A node recorded it at 03:00:01Z."},
		"paused by an operator, beside records of other changes": {lines: []series.Line{control(-600, "pause", "op@host", 1), {Verdict: series.VerdictPaused, At: at(1), From: at(-300), To: at(0), Revision: "r1"}},
			audit: []series.AuditRecord{{Number: 1, Key: "report", Change: 1, Reason: "gateway maintenance"}, {Number: 1, Key: "of another partition", Change: 1, Reason: "other job"},
				{Number: 1, Key: "report", Change: 2, Reason: "other change"}, {Number: 2, Key: "report", Change: 1, Reason: "other number"}},
			state: why.Paused, want: "Paused by op@host since 02:50:00Z: gateway maintenance. A node recorded it at 03:00:01Z."},
		"due in a pause that began on this day a year ago": {now: 2, mark: -300, paused: true, pause: series.Pause{Who: "op@host", Reason: "moved", Since: at(-365 * 86400)}, state: why.Paused,
			want: "Paused by op@host since 2026-03-26 03:00:00Z: moved. The next claim, or the end of the pause, records that."},
		"paused by an operator, without the audit": {lines: []series.Line{control(-600, "pause", "op@host", 1), {Verdict: series.VerdictPaused, At: at(1), From: at(-300), To: at(0), Revision: "r1"}, control(2, "resume", "bob", 2)},
			state: why.Paused, want: "Paused by op@host since 02:50:00Z. A node recorded it at 03:00:01Z."},
		"due in a pause with an end": {now: 2, mark: -300, paused: true, pause: series.Pause{Who: "op@host", Reason: "moved.", Since: at(-60), Until: at(60)}, state: why.Paused,
			want: "Paused by op@host since 02:59:00Z until 03:01:00Z: moved. The next claim, or the end of the pause, records that."},
		"due after the end of a pause": {now: 2, mark: -300, paused: true, pause: series.Pause{Who: "op@host", Reason: "moved", Since: at(-60), Until: at(-1)}, state: why.Undecided,
			want: "Not decided yet: it was due 2s ago, and its deadline is not over."},
		"lost": {lines: []series.Line{ran(0, "pod-a", .004, 1, 7), {Verdict: series.VerdictLost, At: at(12), From: at(0), To: at(0), Fence: 7, Attempt: 1, Revision: "r1"}},
			state: why.Lost, want: "Lost: pod-a was granted it at 03:00:00.004Z as attempt 1, and did not end it before its lease was over, and no other node may run the tick again."},
		"cancelled": {lines: []series.Line{with(ran(0, "pod-a", .004, 1, 7), "cancelled", 9, "context canceled"), cancelled(8, 7)},
			audit: []series.AuditRecord{{Number: 1, Key: "report", Change: 1, Reason: "it hangs."}},
			state: why.Failed, want: "Ran on pod-a as attempt 1, 4ms after the tick, and ended as cancelled after 9s: context canceled. Cancelled by op@host at 03:00:08Z: it hangs."},
		"cancelled, and its node died": {lines: []series.Line{ran(0, "pod-a", .004, 1, 7), cancelled(8, 7), {Verdict: series.VerdictLost, At: at(12), From: at(0), To: at(0), Fence: 7, Attempt: 1, Reason: "cancelled", Revision: "r1"}},
			state: why.Lost, want: "Lost: pod-a was granted it at 03:00:00.004Z as attempt 1, and did not end it before its lease was over, and no other node may run the tick again. Cancelled by op@host at 03:00:08Z."},
		"cancelled, and still runs": {lines: []series.Line{ran(0, "pod-b", .003, 1, 7), cancelled(8, 7), cancelled(9, 6)}, runs: []series.Run{alive(7, 8)},
			state: why.Running, want: "It runs on pod-b as attempt 1, 3ms after the tick (fence 7); its lease lives 8s more. Cancelled by op@host at 03:00:08Z."},
		"cancelled before it began": {lines: []series.Line{ran(-300, "pod-a", 0, 1, 6), {Verdict: series.VerdictWaiting, At: at(.1), From: at(-300), To: at(0), Revision: "r1", Fence: 7, Blocker: at(-300), BlockerFence: 6},
			{Verdict: series.VerdictSuperseded, At: at(8), From: at(0), To: at(0), Reason: "cancelled", Fence: 7}, cancelled(8, 7)},
			state: why.Superseded, want: "Superseded: its run was cancelled before it began. Cancelled by op@host at 03:00:08Z."},
		"overdue": {tick: 0, now: 720, mark: -300, cause: "no node lives", state: why.Overdue,
			want: "Overdue: it was due 12m0s ago, and no node has decided it: no node lives."},
		"due after the job was removed": {removed: true, now: 720, mark: -300, state: why.Undecided,
			want: "Not decided: it was due 12m0s ago, and the job was removed from every node that had it. A node retires the job soon."},
		"left before the job was removed": {removed: true, lines: []series.Line{ran(0, "pod-a", .004, 1, 7)}, runs: []series.Run{alive(7, -12)}, now: 100, state: why.Waiting,
			want: "It was granted on pod-a as attempt 1, 4ms after the tick; that lease ended 1m32s ago; the job was removed from every node that had it, and the node that retires it settles the tick."},
		"not decided yet": {now: 2, mark: -300, state: why.Undecided, want: "Not decided yet: it was due 2s ago, and its deadline is not over."},
		"due in a pause":  {now: 2, mark: -300, paused: true, state: why.Paused, want: "The job is paused. The next claim, or the end of the pause, records that."},
		"due, behind a run": {lines: []series.Line{ran(-300, "pod-a", 0, 1, 6)}, runs: []series.Run{{Number: at(-300), State: series.RunOpen, Fence: 6, Until: at(28)}}, now: 2, mark: -300,
			state: why.Undecided, want: "Not decided yet: it was due 2s ago, and the run of 02:55:00Z on pod-a is alive."},
		"drained, and left": {lines: []series.Line{with(ran(0, "pod-a", .004, 1, 7), "interrupted", 2, "")}, runs: []series.Run{{Number: at(0), State: series.RunGivenBack, Fence: 7, Attempt: 1, Until: at(2)}}, now: 5,
			state: why.Waiting, want: "It ran on pod-a as attempt 1, 4ms after the tick and was interrupted by a drain; a node runs it again soon."},
		"never began": {lines: []series.Line{with(ran(0, "pod-a", .004, 1, 7), "unstarted", 2, "")}, runs: []series.Run{{Number: at(0), State: series.RunUnstarted, Fence: 7, Until: at(2)}}, now: 60, cause: "no node lives",
			state: why.Overdue, want: "It was granted on pod-a as attempt 1, 4ms after the tick, and never began; no node starts it: no node lives."},
		"not a tick": {tick: 60, now: 70, state: why.NotATick, want: `Not a tick: "*/5 * * * *" has none at that instant. The nearest: Fri 2027-03-26 03:00:00 +00:00 and Fri 2027-03-26 03:05:00 +00:00.`},
		"excluded": {spec: "*/5 * * * * exclude=2027-03-26", now: 70, state: why.NotATick,
			want: `Not a tick: 2027-03-26 is excluded. The spec is "*/5 * * * * exclude=2027-03-26". The nearest: Thu 2027-03-25 23:55:00 +00:00 and Sat 2027-03-27 00:00:00 +00:00.`},
		"before the first": {spec: "*/5 * * * * not_before=2027-03-26T03:05", now: 70, state: why.NotATick,
			want: `Not a tick: it is before not_before, 2027-03-26T03:05:00Z. The spec is "*/5 * * * * not_before=2027-03-26T03:05". The nearest: Fri 2027-03-26 03:05:00 +00:00.`},
		"future": {tick: 300, now: 50, state: why.Future, want: "Due in 4m10s."},
		"future of a paused job": {tick: 300, now: 50, paused: true, state: why.Future,
			want: "Due in 4m10s. The job is paused. Unless the job is resumed before, the tick is recorded as paused."},
		"future after the end of a pause":          {tick: 300, now: 50, paused: true, pause: series.Pause{Who: "op@host", Since: at(-60), Until: at(200)}, state: why.Future, want: "Due in 4m10s."},
		"at the opening of the job":                {tick: -1800, state: why.NotATick, want: "Not due: the job was opened at 02:30:00Z, and has no ticks before. If it ran ticks before, the store has lost their records since: nodes then opened it again."},
		"at the beginning of the proof":            {tick: -1800, truncated: true, state: why.NotKnown, want: "Not known: the journal begins at 02:30:00Z. Of the older lines it has the exceptions, and none is about this tick."},
		"before the job was opened":                {tick: -3600, state: why.NotATick, want: "Not due: the job was opened at 02:30:00Z, and has no ticks before. If it ran ticks before, the store has lost their records since: nodes then opened it again."},
		"between ticks, before the job was opened": {tick: -3601, state: why.NotATick, want: "Not due: the job was opened at 02:30:00Z, and has no ticks before."},
		"before the proof":                         {tick: -3600, truncated: true, state: why.NotKnown, want: "Not known: the journal begins at 02:30:00Z. Of the older lines it has the exceptions, and none is about this tick."},
		"a line cannot be read": {lines: []series.Line{series.UnreadableLine("?")}, now: 20,
			state: why.NotKnown, want: "Not known: a line of the journal cannot be read, and it may be about this tick."},
		"a line cannot be read, and the mark is before the tick": {lines: []series.Line{series.UnreadableLine("?")}, now: 20, mark: -300,
			state: why.Undecided, want: "Not decided yet: it was due 20s ago, and its deadline is not over."},
		"passed without a line": {mark: 0, state: why.NotKnown, want: "Not known: later ticks are decided, and no line of the journal is about this one."},
		"no crontab asks for it": {crontab: true, now: 4000, mark: -300,
			state: why.Undecided, want: "Not decided: it was due 1h6m40s ago, and no crontab has asked for it."},
		"no crontab asked for it": {crontab: true, lines: []series.Line{{Verdict: series.VerdictRan, At: at(301), From: at(-300), To: at(300), Between: series.VerdictMissed, Revision: "r1", Attempt: 1, Fence: 8}}, now: 310, mark: 300,
			state: why.Missed, want: "Missed: no crontab asked for it between 02:55:00Z and 03:05:01Z, when a later tick was decided."},
		"the machine of a crontab died": {crontab: true, lines: []series.Line{ran(0, "db-1", .003, 1, 7)}, runs: []series.Run{alive(7, -12)}, now: 100,
			state: why.Waiting, want: "It was granted on db-1 as attempt 1, 3ms after the tick; that lease ended 1m32s ago; the next call of a crontab settles the tick."},
		"in the zone of the spec": {zone: "Europe/Berlin", lines: []series.Line{{Verdict: series.VerdictPaused, At: at(1), From: at(-300), To: at(0), Revision: "r1"}},
			state: why.Paused, want: "Paused: the job was paused. A node recorded it at 04:00:01+01:00."},
	} {
		t.Run(name, func(t *testing.T) {
			now := tc.now
			if now == 0 {
				now = 20
			}
			use := series.RevisionUse{Revision: "r1", Spec: "*/5 * * * *", Zone: "UTC", Node: "pod-a", First: at(-1800), Last: at(now)}
			if tc.spec != "" {
				use.Spec = tc.spec
			}
			if tc.zone != "" {
				use.Zone = tc.zone
			}
			if tc.crontab {
				use.Policies = "overlap:skip/callers:crontab"
			}
			got := why.Explain(why.Question{
				Tick: time.UnixMilli(at(tc.tick)), Cause: tc.cause, Audit: tc.audit, Removed: tc.removed,
				Journal: series.Journal{Key: "report", Lines: append([]series.Line{opened()}, tc.lines...), Revisions: []series.RevisionUse{use}, Truncated: tc.truncated},
				State:   series.Series{Key: "report", Now: at(now), Mark: at(tc.mark), Paused: tc.paused, Pause: tc.pause, Runs: tc.runs},
			})
			if got.State != tc.state || got.Sentence != tc.want {
				t.Errorf("%s: %s\nwant %s: %s", got.State, got.Sentence, tc.state, tc.want)
			}
		})
	}
}

// A run that was left in a pause waits for the end of the pause, and for no later resume.
func TestLeftInAPauseWithAnEnd(t *testing.T) {
	for _, c := range []struct {
		until      int64
		want, next string
	}{
		{at(5), "no node runs it again while the job is paused.", "cronce resume report"},
		{at(5) - 1, "a node runs it again soon.", ""},
	} {
		got := why.Explain(why.Question{Tick: tick,
			Journal: series.Journal{Key: "report", Lines: []series.Line{opened(), with(ran(0, "pod-a", .004, 1, 7), "interrupted", 2, "")},
				Revisions: []series.RevisionUse{{Revision: "r1", Spec: "*/5 * * * *", Zone: "UTC", Node: "pod-a", First: at(-1800), Last: at(5)}}},
			State: series.Series{Key: "report", Now: at(5), Mark: at(0), Paused: true, Pause: series.Pause{Who: "ann", Since: at(1), Until: c.until},
				Runs: []series.Run{{Number: at(0), State: series.RunGivenBack, Fence: 7, Attempt: 1, Until: at(2)}}}})
		if want := "It ran on pod-a as attempt 1, 4ms after the tick and was interrupted by a drain; " + c.want; got.State != why.Waiting || got.Sentence != want || got.Next != c.next {
			t.Errorf("%s: %s Then %q\nwant %s Then %q", got.State, got.Sentence, got.Next, want, c.next)
		}
	}
}

// A spec that is in force since the instant of a tick, for the first time or again, has only later
// ticks.
func TestSpecInForceSinceTheTick(t *testing.T) {
	for _, newer := range []series.RevisionUse{
		{Revision: "r2", Spec: "*/10 * * * *", Zone: "UTC", Node: "pod-b", First: at(0), Last: at(10)},
		{Revision: "r2", Spec: "*/10 * * * *", Zone: "UTC", Node: "pod-b", First: at(-7200), Since: at(0), Last: at(10)},
	} {
		got := why.Explain(why.Question{Tick: tick, State: series.Series{Key: "report", Now: at(10), Mark: at(-300)},
			Journal: series.Journal{Key: "report", Lines: []series.Line{opened()},
				Revisions: []series.RevisionUse{{Revision: "r1", Spec: "*/5 * * * *", Zone: "UTC", Node: "pod-a", First: at(-1800), Last: at(5)}, newer}}})
		if got.Spec != "*/5 * * * *" {
			t.Errorf("%s of %q, want the tick of the spec from before", got.State, got.Spec)
		}
	}
}

func ExampleExplain() {
	start := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
	at := func(seconds int) int64 { return start.Add(time.Duration(seconds) * time.Second).UnixMilli() }
	a := why.Explain(why.Question{
		Tick: start.Add(5 * time.Second),
		Journal: series.Journal{
			Key:       "sendSms",
			Revisions: []series.RevisionUse{{Revision: "5f1c", Spec: "0/5 * * * * ?", Zone: "UTC", First: at(0), Last: at(21)}},
			Lines: []series.Line{
				{Verdict: series.VerdictOpened, At: at(0), From: at(0), To: at(0), Revision: "5f1c"},
				{Verdict: series.VerdictRan, At: at(5), From: at(0), To: at(5), Node: "a", Revision: "5f1c", Fence: 101, Attempt: 1, Outcome: "ok", Ended: at(6)},
			},
		},
		State: series.Series{Key: "sendSms", Now: at(8), Mark: at(5)},
	})
	fmt.Println(a.State)
	fmt.Println(a.Sentence)
	// Output:
	// ran
	// Ran on a as attempt 1, 0s after the tick, ok in 1s (fence 101).
}

// A journal that was cut may begin with any line about a tick, without the grant.
func TestExplainCutJournal(t *testing.T) {
	use := series.RevisionUse{Revision: "r1", Spec: "*/5 * * * *", Zone: "UTC", Node: "pod-a", First: at(-36000), Last: at(20)}
	base := series.Line{At: at(200), From: at(0), To: at(0), Node: "pod-a", Fence: 7, Attempt: 1}
	line := func(v series.Verdict, outcome string) series.Line {
		l := base
		if l.Verdict, l.Outcome = v, outcome; outcome != "" {
			l.Ended = l.At
		}
		return l
	}
	for name, tc := range map[string]struct {
		line  series.Line
		runs  []series.Run
		state why.State
		want  string
	}{
		"ended ok":   {line(series.VerdictEnded, "ok"), nil, why.Ran, "Its run on pod-a, attempt 1, ended as ok at 03:03:20Z (fence 7); the line of its grant is gone from the journal."},
		"failed":     {line(series.VerdictEnded, "failed"), nil, why.Failed, "Its run on pod-a, attempt 1, ended as failed at 03:03:20Z (fence 7); the line of its grant is gone from the journal."},
		"superseded": {line(series.VerdictSuperseded, ""), nil, why.Superseded, "Superseded: it waited for an earlier run, and before that ended, a later tick took its place."},
		"lost":       {line(series.VerdictLost, ""), nil, why.Lost, "Lost: the node that was granted it did not end it, and no other node may run the tick again."},
		"missed":     {line(series.VerdictMissed, ""), nil, why.Missed, "Missed: the first claim that could start it came 3m20s late, after its deadline."},
		"interrupted": {line(series.VerdictEnded, "interrupted"), []series.Run{{Number: at(0), State: series.RunGivenBack, Owner: "pod-a/1", Fence: 7, Attempt: 1, Granted: at(1), Until: at(200)}}, why.Overdue,
			"It ran on pod-a as attempt 1 and was interrupted by a drain; no node runs it again."},
		"alive, of another tick": {series.Line{Verdict: series.VerdictEnded, At: at(200), From: at(-300), To: at(-300), Node: "pod-a", Fence: 6, Attempt: 1, Outcome: "ok", Ended: at(200)},
			[]series.Run{{Number: at(0), State: series.RunOpen, Owner: "pod-a/1", Fence: 7, Attempt: 1, Granted: at(1), Until: at(410)}}, why.Running,
			"It runs on pod-a as attempt 1 (fence 7); its lease lives 10s more."},
		"not about it": {series.Line{Verdict: series.VerdictEnded, At: at(320), From: at(300), To: at(300), Node: "pod-a", Fence: 8, Attempt: 1, Outcome: "ok", Ended: at(320)}, nil, why.NotKnown,
			"Not known: the journal begins at 03:05:00Z. Of the older lines it has the exceptions, and none is about this tick."},
	} {
		t.Run(name, func(t *testing.T) {
			got := why.Explain(why.Question{Tick: tick, State: series.Series{Key: "report", Now: at(400), Mark: at(300), Runs: tc.runs},
				Journal: series.Journal{Key: "report", Truncated: true, Revisions: []series.RevisionUse{use}, Lines: []series.Line{tc.line}}})
			if got.State != tc.state || got.Sentence != tc.want {
				t.Errorf("%s: %s\nwant %s: %s", got.State, got.Sentence, tc.state, tc.want)
			}
		})
	}
}

// A tick before the lines of the journal is explained from an exception. Evidence counts the exceptions
// first. Without an exception its verdict is not known, whether exceptions were deleted too or not.
func TestExplainExceptions(t *testing.T) {
	use := series.RevisionUse{Revision: "r1", Spec: "*/5 * * * *", Zone: "UTC", Node: "pod-a", First: at(-36000), Last: at(20)}
	missed := series.Line{Verdict: series.VerdictMissed, At: at(-2000), From: at(-2400), To: at(-2100), Revision: "r1"}
	again := with(ran(-1200, "pod-b", 40, 2, 5), "ok", 3, "")
	for name, tc := range map[string]struct {
		tick     float64
		since    int64
		state    why.State
		want     string
		evidence []int
	}{
		"missed":     {-2100, 0, why.Missed, "Missed: the first claim that could start it came 1m40s late, after its deadline.", []int{0}},
		"taken over": {-1200, 0, why.Ran, "Ran on pod-b as attempt 2, 40s after the tick, ok in 3s (fence 5).", []int{1}},
		"no exception": {-1500, 0, why.NotKnown,
			"Not known: the journal begins at 02:55:00Z. Of the older lines it has the exceptions, and none is about this tick.", nil},
		"older than the exceptions": {-3000, at(-2500), why.NotKnown, "Not known: the journal begins at 02:55:00Z, and older lines are gone.", nil},
		"a tick of the lines":       {0, 0, why.Ran, "Ran on pod-a as attempt 1, 4ms after the tick, ok in 2s (fence 7).", []int{2}},
	} {
		t.Run(name, func(t *testing.T) {
			got := why.Explain(why.Question{Tick: time.UnixMilli(at(tc.tick)), State: series.Series{Key: "report", Now: at(20), Mark: at(0)},
				Journal: series.Journal{Key: "report", Truncated: true, Exceptions: []series.Line{missed, again}, ExceptionsSince: tc.since,
					Revisions: []series.RevisionUse{use}, Lines: []series.Line{with(ran(0, "pod-a", .004, 1, 7), "ok", 2, "")}}})
			if got.State != tc.state || got.Sentence != tc.want || !slices.Equal(got.Evidence, tc.evidence) {
				t.Errorf("%s: %s %v\nwant %s: %s %v", got.State, got.Sentence, got.Evidence, tc.state, tc.want, tc.evidence)
			}
		})
	}
}

// If the run that blocked a tick has no end, the sentence speaks of its lease, and names the node
// with its last heartbeat.
func TestSkippedBehindADeadNode(t *testing.T) {
	grant := ran(-300, "pod-a", 0, 1, 6)
	skip := series.Line{Verdict: series.VerdictSkipped, At: at(.1), From: at(-300), To: at(0), Reason: "overlap", Node: "pod-b", Revision: "r1", Blocker: at(-300), BlockerFence: 6}
	lost := series.Line{Verdict: series.VerdictLost, At: at(12), From: at(-300), To: at(-300), Fence: 6, Attempt: 1}
	use := series.RevisionUse{Revision: "r1", Spec: "*/5 * * * *", Zone: "UTC", Node: "pod-a", First: at(-1800), Last: at(20)}
	seen := func(string) time.Time { return time.UnixMilli(at(-20)) }
	for name, tc := range map[string]struct {
		lines []series.Line
		runs  []series.Run
		want  string
	}{
		"settled": {[]series.Line{opened(), grant, skip, lost}, nil,
			"Skipped: the lease of the run of 02:55:00Z on pod-a was alive until 03:00:12Z at the latest, and overlap is skip. The journal has no end of that run; pod-a was last seen at 02:59:40Z."},
		"not settled": {[]series.Line{opened(), grant, skip}, []series.Run{{Number: at(-300), State: series.RunOpen, Fence: 6, Until: at(8)}},
			"Skipped: the lease of the run of 02:55:00Z on pod-a was alive until 03:00:08Z at the latest, and overlap is skip. The journal has no end of that run; pod-a was last seen at 02:59:40Z."},
		"alive":    {[]series.Line{opened(), grant, skip}, []series.Run{{Number: at(-300), State: series.RunOpen, Fence: 6, Until: at(30)}}, "Skipped: the run of 02:55:00Z on pod-a was alive, and overlap is skip."},
		"ended ok": {[]series.Line{opened(), with(grant, "ok", 305, ""), skip}, nil, "Skipped: the run of 02:55:00Z on pod-a was alive, and overlap is skip."},
	} {
		got := why.Explain(why.Question{Tick: tick, Seen: seen, Journal: series.Journal{Key: "report", Lines: tc.lines, Revisions: []series.RevisionUse{use}},
			State: series.Series{Key: "report", Now: at(20), Mark: at(0), Runs: tc.runs}})
		if got.State != why.Skipped || got.Sentence != tc.want {
			t.Errorf("%s: %s\nwant %s", name, got.Sentence, tc.want)
		}
	}
}

// A job whose state the store has lost is explained by its journal and specs, and the answer says that the state is lost.
func TestExplainLostState(t *testing.T) {
	const lost = " The store has no state of the job any more: the store lost it, or it was deleted. A node that has the job opens it again, and until then no tick runs."
	use := series.RevisionUse{Revision: "r1", Spec: "*/5 * * * *", Zone: "UTC", Node: "pod-a", First: at(-1800), Last: at(20)}
	for name, tc := range map[string]struct {
		tick  float64
		state why.State
		want  string
	}{
		"decided": {0, why.Ran, "Ran on pod-a as attempt 1, 4ms after the tick, ok in 2s (fence 7)."},
		"due":     {300, why.Overdue, "Overdue: it was due 11m40s ago, and no node has decided it."},
		"future":  {1200, why.Future, "Due in 3m20s."},
	} {
		got := why.Explain(why.Question{Tick: time.UnixMilli(at(tc.tick)), State: series.Series{Key: "report", Now: at(1000)},
			Journal: series.Journal{Key: "report", Revisions: []series.RevisionUse{use}, Lines: []series.Line{opened(), with(ran(0, "pod-a", .004, 1, 7), "ok", 2, "")}}})
		if got.State != tc.state || got.Sentence != tc.want+lost {
			t.Errorf("%s: %s: %s\nwant %s: %s", name, got.State, got.Sentence, tc.state, tc.want+lost)
		}
	}
}
