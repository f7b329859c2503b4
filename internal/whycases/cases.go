// Package whycases has questions about ticks, each with its answer. The tests of all that explain ticks share them.
package whycases

import (
	"fmt"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/why"
)

// Tick is the tick of the question, unless a case names another. The job ticks every five minutes, and its journal begins at 02:30.
var Tick = time.Date(2027, 3, 26, 3, 0, 0, 0, time.UTC)

// At returns an instant in seconds after the tick.
func At(seconds float64) int64 { return Tick.UnixMilli() + int64(seconds*1000) }

// Opened returns the line of the opening of the job.
func Opened() series.Line {
	return series.Line{Verdict: series.VerdictOpened, At: At(-1800), From: At(-1800), To: At(-1800), Revision: "r1"}
}

// Ran returns the line of a grant of the tick to a node; of is in seconds after 03:00, and late
// after the tick.
func Ran(of float64, node string, late float64, attempt int, fence int64) series.Line {
	return series.Line{Verdict: series.VerdictRan, At: At(of + late), From: At(of - 300), To: At(of), Node: node, Revision: "r1", Attempt: attempt, Fence: fence}
}

// With returns a grant that ended took seconds after it.
func With(l series.Line, outcome string, took float64, text string) series.Line {
	l.Outcome, l.Error, l.Ended = outcome, text, l.At+int64(took*1000)
	return l
}

// Control returns the line of a change by an operator, in seconds after 03:00.
func Control(seconds float64, action, who string, number int64) series.Line {
	return series.Line{Verdict: series.VerdictControl, At: At(seconds), From: At(-300), To: At(-300), Reason: action, Node: who, Change: number, Audit: number}
}

// Cancelled returns the line of the cancel of the run with a fence.
func Cancelled(seconds float64, fence int64) series.Line {
	l := Control(seconds, "cancel", "op@host", 1)
	l.Fence, l.Attempt = fence, 1
	return l
}

// alive is the run of the tick that is open with fence 7, and whose lease lives for some seconds after 03:00:20.
func alive(left float64) series.Run {
	return series.Run{Number: At(0), State: series.RunOpen, Fence: 7, Attempt: 1, Until: At(20 + left)}
}

// A Case is a question, and the state, the sentence and the next step of its answer.
type Case struct {
	Question why.Question
	State    why.State
	Want     string
	Next     string
}

// All returns the cases by their names.
func All() map[string]Case {
	all := map[string]Case{}
	for name, r := range rows {
		now := r.now
		if now == 0 {
			now = 20
		}
		use := series.RevisionUse{Revision: "r1", Spec: "*/5 * * * *", Zone: "UTC", Policies: r.policies, Node: "pod-a", First: At(-1800), Last: At(now)}
		if r.spec != "" {
			use.Spec = r.spec
		}
		if r.zone != "" {
			use.Zone = r.zone
		}
		all[name] = Case{State: r.state, Want: r.want, Next: r.next, Question: why.Question{
			Tick: time.UnixMilli(At(r.tick)), Cause: r.cause, Audit: r.audit, Removed: r.removed,
			Journal: series.Journal{Key: "report", Lines: append([]series.Line{Opened()}, r.lines...), Revisions: []series.RevisionUse{use}, Truncated: r.truncated},
			State:   series.Series{Key: "report", Now: At(now), Mark: At(r.mark), Paused: r.paused, Pause: r.pause, Runs: r.runs},
		}}
	}
	return all
}

// A row is a case in short.
type row struct {
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
	policies  string
	removed   bool // from all nodes that had the job
	state     why.State
	want      string
	next      string
}

var rows = map[string]row{
	"ran": {lines: []series.Line{With(Ran(0, "pod-b", .003, 1, 7), "ok", .212, "")},
		state: why.Ran, want: "Ran on pod-b as attempt 1, 3ms after the tick, ok in 212ms (fence 7)."},
	"ran after a takeover": {lines: []series.Line{Ran(0, "pod-a", .004, 1, 7), With(Ran(0, "pod-c", 10.9, 2, 8), "ok", 1, "")},
		state: why.Ran, want: "pod-a was granted it at 03:00:00.004Z and did not end it before its lease was over; ran on pod-c as attempt 2, 10.9s after the tick, ok in 1s (fence 8)."},
	"ran again after a drain": {lines: []series.Line{With(Ran(0, "pod-a", .004, 1, 7), "interrupted", 2, ""), With(Ran(0, "pod-c", 3, 2, 8), "ok", 1, "")},
		state: why.Ran, want: "pod-a was granted it at 03:00:00.004Z and was drained during the run; ran on pod-c as attempt 2, 3s after the tick, ok in 1s (fence 8)."},
	"failed": {lines: []series.Line{With(Ran(0, "pod-b", .003, 1, 7), "failed", 9.1, "connection refused.")},
		state: why.Failed, want: "Ran on pod-b as attempt 1, 3ms after the tick, and ended as failed after 9.1s: connection refused.", next: "cronce runs report"},
	"ended well after its lease was lost": {lines: []series.Line{With(Ran(0, "pod-b", .003, 1, 7), "lost", 9.1, "")},
		state: why.Failed, want: "Ran on pod-b as attempt 1, 3ms after the tick, and ended after 9.1s, when its lease was lost already.", next: "cronce runs report"},
	"found nothing to do": {lines: []series.Line{With(Ran(0, "pod-b", .003, 1, 7), "skipped", .5, "no file")},
		state: why.Skipped, want: "Ran on pod-b as attempt 1, 3ms after the tick, and its function found nothing to do, after 500ms: no file."},
	"failed, the end in a line of its own": {lines: []series.Line{Ran(0, "pod-b", .003, 1, 7), {Verdict: series.VerdictEnded, At: At(60), From: At(0), To: At(0), Attempt: 1, Fence: 7, Outcome: "timeout"}},
		now: 70, state: why.Failed, want: "Ran on pod-b as attempt 1, 3ms after the tick, and ended as timeout after 59.997s.", next: "cronce runs report"},
	"runs": {lines: []series.Line{Ran(0, "pod-b", .003, 1, 7)}, runs: []series.Run{alive(8)},
		state: why.Running, want: "It runs on pod-b as attempt 1, 3ms after the tick (fence 7); its lease lives 8s more."},
	"runs beside a later run": {lines: []series.Line{Ran(-300, "pod-a", 0, 1, 6), Ran(0, "pod-b", .003, 1, 7)}, runs: []series.Run{{Number: At(-300), State: series.RunOpen, Fence: 6, Attempt: 1, Until: At(30)}, alive(8)},
		tick: -300, state: why.Running, want: "It runs on pod-a as attempt 1, 0s after the tick (fence 6); its lease lives 10s more."},
	"runs, and ended after the journal was read": {lines: []series.Line{Ran(0, "pod-b", .003, 1, 7)}, policies: "limit:reports*2",
		state: why.Running, want: "It was granted on pod-b as attempt 1, 3ms after the tick, and the journal has no end of it."},
	"its node died": {lines: []series.Line{Ran(0, "pod-b", .003, 1, 7)}, runs: []series.Run{alive(-12)}, cause: "no node lives: pod-b fell silent before 03:00:10Z",
		state: why.Overdue, want: "It was granted on pod-b as attempt 1, 3ms after the tick; that lease ended 12s ago, and no node has settled the tick or taken it over: no node lives: pod-b fell silent before 03:00:10Z.", next: "cronce status overdue --job report"},
	"skipped": {lines: []series.Line{Ran(-300, "pod-a", 0, 1, 6), {Verdict: series.VerdictSkipped, At: At(.1), From: At(-300), To: At(0), Reason: "overlap", Node: "pod-b", Revision: "r1", Blocker: At(-300), BlockerFence: 6}},
		state: why.Skipped, want: "Skipped: the run of 02:55:00Z on pod-a was alive, and overlap is skip."},
	"skipped with others": {lines: []series.Line{Ran(-300, "pod-a", 0, 1, 6), {Verdict: series.VerdictSkipped, At: At(300), From: At(-300), To: At(300), Between: series.VerdictSkipped, Reason: "overlap", Revision: "r1", Blocker: At(-300), BlockerFence: 6}},
		now: 310, mark: 300, state: why.Skipped, want: "Skipped: the run of 02:55:00Z on pod-a was alive, and overlap is skip."},
	"skipped for a run during which a manual run was requested": {lines: []series.Line{Ran(-300, "pod-a", 0, 1, 6), {Verdict: series.VerdictControl, At: At(-200), From: At(-300), To: At(-300), Reason: "run", Node: "op@host", Change: 1, Audit: 1, Fence: 7},
		{Verdict: series.VerdictSkipped, At: At(.1), From: At(-300), To: At(0), Reason: "overlap", Node: "pod-b", Revision: "r1", Blocker: At(-300), BlockerFence: 6}},
		state: why.Skipped, want: "Skipped: the run of 02:55:00Z on pod-a was alive, and overlap is skip."},
	"skipped for a run whose grant is gone": {lines: []series.Line{{Verdict: series.VerdictSkipped, At: At(.1), From: At(-300), To: At(0), Reason: "overlap", Node: "pod-b", Revision: "r1", Blocker: At(-300), BlockerFence: 6}},
		state: why.Skipped, want: "Skipped: the run of 02:55:00Z was alive, and overlap is skip."},
	"waits for a run that was taken over": {lines: []series.Line{Ran(-300, "pod-a", 0, 1, 5), Ran(-300, "pod-c", 20, 2, 6), {Verdict: series.VerdictWaiting, At: At(.1), From: At(-300), To: At(0), Revision: "r1", Fence: 7, Blocker: At(-300), BlockerFence: 6}},
		runs:  []series.Run{{Number: At(-300), State: series.RunOpen, Fence: 6, Until: At(28)}, {Number: At(0), State: series.RunWaiting, Fence: 7}},
		state: why.Waiting, want: "Waits since 03:00:00.100Z for the end of the run of 02:55:00Z on pod-c."},
	"waits for a run that is not known": {lines: []series.Line{Ran(-300, "pod-a", 0, 1, 6), {Verdict: series.VerdictWaiting, At: At(.1), From: At(-300), To: At(0), Revision: "r1", Fence: 7}},
		runs:  []series.Run{{Number: At(-300), State: series.RunOpen, Fence: 6, Until: At(28)}, {Number: At(0), State: series.RunWaiting, Fence: 7}},
		state: why.Waiting, want: "Waits since 03:00:00.100Z for the end of an earlier run."},
	"waited, and was paused": {lines: []series.Line{Ran(-300, "pod-a", 0, 1, 6), {Verdict: series.VerdictWaiting, At: At(.1), From: At(-300), To: At(0), Revision: "r1", Fence: 7, Blocker: At(-300), BlockerFence: 6},
		Control(5, "pause", "op@host", 1), {Verdict: series.VerdictPaused, At: At(10), From: At(0), To: At(0), Fence: 7}},
		state: why.Paused, want: "Paused by op@host since 03:00:05Z. A node recorded it at 03:00:10Z."},
	"waits": {lines: []series.Line{Ran(-300, "pod-a", 0, 1, 6), {Verdict: series.VerdictWaiting, At: At(.1), From: At(-300), To: At(0), Revision: "r1", Fence: 7, Blocker: At(-300), BlockerFence: 6}},
		runs:  []series.Run{{Number: At(-300), State: series.RunOpen, Fence: 6, Until: At(28)}, {Number: At(0), State: series.RunWaiting, Fence: 7}},
		state: why.Waiting, want: "Waits since 03:00:00.100Z for the end of the run of 02:55:00Z on pod-a."},
	"superseded": {lines: []series.Line{Ran(-300, "pod-a", 0, 1, 6), {Verdict: series.VerdictWaiting, At: At(.1), From: At(-300), To: At(0), Revision: "r1", Fence: 7, Blocker: At(-300), BlockerFence: 6},
		{Verdict: series.VerdictSuperseded, At: At(300), From: At(0), To: At(0), Revision: "r1", Fence: 7}}, now: 310, mark: 300,
		state: why.Superseded, want: "Superseded: it waited for the run of 02:55:00Z on pod-a, and before that ended, a later tick took its place."},
	"missed by its deadline": {lines: []series.Line{{Verdict: series.VerdictMissed, At: At(61.2), From: At(-300), To: At(0), Reason: "deadline", Revision: "r1"}},
		now: 70, state: why.Missed, want: "Missed: the first claim that could start it came 1m1.2s late, after its deadline."},
	"missed by its deadline, when a crontab asked for it": {policies: "overlap:skip/callers:crontab", lines: []series.Line{{Verdict: series.VerdictMissed, At: At(61.2), From: At(-300), To: At(0), Reason: "deadline", Revision: "r1"}},
		now: 70, state: why.Missed, want: "Missed: the first claim that could start it came 1m1.2s late, after its deadline."},
	"missed alone": {lines: []series.Line{{Verdict: series.VerdictRan, At: At(301), From: At(-300), To: At(300), Between: series.VerdictMissed, Revision: "r1", Node: "pod-a", Attempt: 1, Fence: 9, Outcome: "ok", Ended: At(302)}},
		now: 310, mark: 300, state: why.Missed, want: "Missed: no node claimed it between 02:55:00Z and 03:05:01Z, and the job's misfire policy ran at most the latest ones."},
	"missed with others": {lines: []series.Line{{Verdict: series.VerdictRan, At: At(901), From: At(-600), To: At(900), Between: series.VerdictMissed, Revision: "r1", Node: "pod-a", Attempt: 1, Fence: 9, Outcome: "ok", Ended: At(902)}},
		now: 910, mark: 900, state: why.Missed, want: "Missed with 3 others: no node claimed it between 02:50:00Z and 03:15:01Z, and the job's misfire policy ran at most the latest ones."},
	"missed before a pause": {lines: []series.Line{Control(-400, "retire", "other", 1), {Verdict: series.VerdictMissed, At: At(600), From: At(-300), To: At(300), Between: series.VerdictMissed, Reason: series.ReasonMisfire, Revision: "r1"}, Control(600, "pause", "op@host", 2), Control(600, "pause", "later", 3)},
		now: 610, mark: 300, state: why.Missed, want: "Missed: no node decided it before the job was paused at 03:10:00Z, by op@host."},
	"missed before a retire": {lines: []series.Line{Control(-400, "retire", "other", 1), {Verdict: series.VerdictMissed, At: At(600), From: At(-300), To: At(300), Between: series.VerdictMissed, Reason: series.ReasonMisfire, Revision: "r1"}, Control(600, "retire", "op@host", 2), Control(600, "pause", "later", 3)},
		now: 610, mark: 300, state: why.Missed, want: "Missed: no node decided it before the job was retired at 03:10:00Z, by op@host."},
	"missed before a pause whose line is gone": {lines: []series.Line{{Verdict: series.VerdictMissed, At: At(600), From: At(-300), To: At(300), Between: series.VerdictMissed, Reason: series.ReasonMisfire, Revision: "r1"}},
		now: 610, mark: 300, state: why.Missed, want: "Missed: no node decided it before the job was paused at 03:10:00Z."},
	"paused": {lines: []series.Line{{Verdict: series.VerdictPaused, At: At(1), From: At(-300), To: At(0), Revision: "r1"}},
		state: why.Paused, want: "Paused: the job was paused. A node recorded it at 03:00:01Z."},
	"paused with others": {lines: []series.Line{{Verdict: series.VerdictPaused, At: At(86400), From: At(-600), To: At(86400), Between: series.VerdictPaused, Revision: "r1"}},
		now: 86410, mark: 86400, state: why.Paused, want: "Paused: the job was paused. It was recorded at 2027-03-27 03:00:00Z, with all ticks after 02:50:00Z."},
	"paused by an operator": {lines: []series.Line{Control(-17400, "pause", "op@host", 1), {Verdict: series.VerdictPaused, At: At(1), From: At(-300), To: At(0), Revision: "r1"}},
		audit: []series.AuditRecord{{Number: 1, Key: "report", Change: 1, Reason: "gateway maintenance", After: fmt.Sprint("paused until ", At(18000))}},
		state: why.Paused, want: "Paused by op@host since 2027-03-25 22:10:00Z until 08:00:00Z: gateway maintenance. A node recorded it at 03:00:01Z."},
	"paused by an operator, beside records of other changes": {lines: []series.Line{Control(-600, "pause", "op@host", 1), {Verdict: series.VerdictPaused, At: At(1), From: At(-300), To: At(0), Revision: "r1"}},
		audit: []series.AuditRecord{{Number: 1, Key: "of another partition", Change: 1, Reason: "other job"}, {Number: 1, Key: "report", Change: 2, Reason: "other change"},
			{Number: 2, Key: "report", Change: 1, Reason: "other number"}, {Number: 1, Key: "report", Change: 1, Reason: "gateway maintenance"}},
		state: why.Paused, want: "Paused by op@host since 02:50:00Z: gateway maintenance. A node recorded it at 03:00:01Z."},
	"due in a pause that began on this day a year ago": {now: 2, mark: -300, paused: true, pause: series.Pause{Who: "op@host", Reason: "moved", Since: At(-365 * 86400)}, state: why.Paused,
		want: "Paused by op@host since 2026-03-26 03:00:00Z: moved. The next claim, or the end of the pause, records that.", next: "cronce resume report"},
	"due in a retirement": {now: 2, mark: -300, paused: true, pause: series.Pause{Who: "op@host", Reason: "moved", Since: At(-60), Until: driver.MaxNumber}, state: why.Paused,
		want: "Retired by op@host since 02:59:00Z: moved. The next claim, or the end of the pause, records that.", next: "cronce resume report"},
	"paused by a retirement that is over": {lines: []series.Line{Control(-600, "retire", "op@host", 1), {Verdict: series.VerdictPaused, At: At(1), From: At(-300), To: At(0), Revision: "r1"}},
		audit: []series.AuditRecord{{Number: 1, Key: "report", Change: 1, Reason: "moved", After: "retired"}},
		state: why.Paused, want: "Retired by op@host since 02:50:00Z: moved. A node recorded it at 03:00:01Z."},
	"paused by an operator, without the audit": {lines: []series.Line{Control(-600, "pause", "op@host", 1), Control(-500, "skip", "ann", 2), {Verdict: series.VerdictPaused, At: At(1), From: At(-300), To: At(0), Revision: "r1"}, Control(2, "resume", "bob", 3), Control(5, "pause", "bob", 4)},
		paused: true, pause: series.Pause{Who: "bob", Reason: "again", Since: At(5)},
		state: why.Paused, want: "Paused by op@host since 02:50:00Z. A node recorded it at 03:00:01Z."},
	"due in a pause with an end": {now: 2, mark: -300, paused: true, pause: series.Pause{Who: "op@host", Reason: "moved.", Since: At(-60), Until: At(60)}, state: why.Paused,
		want: "Paused by op@host since 02:59:00Z until 03:01:00Z: moved. The next claim, or the end of the pause, records that.", next: "cronce resume report"},
	"due after the end of a pause": {now: 2, mark: -300, paused: true, pause: series.Pause{Who: "op@host", Reason: "moved", Since: At(-60), Until: At(-1)}, state: why.Undecided,
		want: "Not decided yet: it was due 2s ago, and its deadline is not over."},
	"lost": {lines: []series.Line{Ran(0, "pod-a", .004, 1, 7), {Verdict: series.VerdictLost, At: At(12), From: At(0), To: At(0), Fence: 7, Attempt: 1, Revision: "r1"}},
		state: why.Lost, want: "Lost: pod-a was granted it at 03:00:00.004Z as attempt 1, and did not end it before its lease was over, and no other node may run the tick again."},
	"cancelled": {lines: []series.Line{With(Ran(0, "pod-a", .004, 1, 7), "cancelled", 9, "context canceled"), Cancelled(8, 7)},
		audit: []series.AuditRecord{{Number: 1, Key: "report", Change: 1, Reason: "it hangs."}},
		state: why.Failed, want: "Ran on pod-a as attempt 1, 4ms after the tick, and ended as cancelled after 9s: context canceled. Cancelled by op@host at 03:00:08Z: it hangs.", next: "cronce runs report"},
	"cancelled, and its node died": {lines: []series.Line{Ran(0, "pod-a", .004, 1, 7), Cancelled(8, 7), {Verdict: series.VerdictLost, At: At(12), From: At(0), To: At(0), Fence: 7, Attempt: 1, Reason: "cancelled", Revision: "r1"}},
		state: why.Lost, want: "Lost: pod-a was granted it at 03:00:00.004Z as attempt 1, and did not end it before its lease was over, and no other node may run the tick again. Cancelled by op@host at 03:00:08Z."},
	"cancelled, and still runs": {lines: []series.Line{Ran(0, "pod-b", .003, 1, 7), Cancelled(8, 7), Cancelled(9, 6)}, runs: []series.Run{alive(8)},
		state: why.Running, want: "It runs on pod-b as attempt 1, 3ms after the tick (fence 7); its lease lives 8s more. Cancelled by op@host at 03:00:08Z."},
	"cancelled before it began": {lines: []series.Line{Ran(-300, "pod-a", 0, 1, 6), {Verdict: series.VerdictWaiting, At: At(.1), From: At(-300), To: At(0), Revision: "r1", Fence: 7, Blocker: At(-300), BlockerFence: 6},
		{Verdict: series.VerdictSuperseded, At: At(8), From: At(0), To: At(0), Reason: "cancelled", Fence: 7}, Cancelled(8, 7)},
		state: why.Superseded, want: "Superseded: its run was cancelled before it began. Cancelled by op@host at 03:00:08Z."},
	"overdue": {tick: 0, now: 720, mark: -300, cause: "no node lives", state: why.Overdue,
		want: "Overdue: it was due 12m0s ago, and no node has decided it: no node lives.", next: "cronce status overdue --job report"},
	"due after the job was removed": {removed: true, now: 720, mark: -300, state: why.Undecided,
		want: "Not decided: it was due 12m0s ago, and the job was removed from every node that had it. A node retires the job soon."},
	"left before the job was removed": {removed: true, lines: []series.Line{Ran(0, "pod-a", .004, 1, 7)}, runs: []series.Run{alive(-12)}, now: 100, state: why.Waiting,
		want: "It was granted on pod-a as attempt 1, 4ms after the tick; that lease ended 1m32s ago; the job was removed from every node that had it, and the node that retires it settles the tick."},
	"not decided yet": {now: 2, mark: -300, state: why.Undecided, want: "Not decided yet: it was due 2s ago, and its deadline is not over."},
	"due in a pause":  {now: 2, mark: -300, paused: true, state: why.Paused, want: "The job is paused. The next claim, or the end of the pause, records that.", next: "cronce resume report"},
	"due, behind a run": {lines: []series.Line{Ran(-300, "pod-a", 0, 1, 6)}, runs: []series.Run{{Number: At(-300), State: series.RunOpen, Fence: 6, Until: At(28)}}, now: 2, mark: -300,
		state: why.Undecided, want: "Not decided yet: it was due 2s ago, and the run of 02:55:00Z on pod-a is alive."},
	"due, behind runs that are not alive": {lines: []series.Line{With(Ran(-600, "pod-a", 0, 1, 5), "interrupted", 2, ""), Ran(-300, "pod-a", 0, 1, 6)}, now: 2, mark: -300,
		runs:  []series.Run{{Number: At(-600), State: series.RunGivenBack, Fence: 5, Until: At(28)}, {Number: At(-300), State: series.RunOpen, Fence: 6, Until: At(1)}},
		state: why.Undecided, want: "Not decided yet: it was due 2s ago, and its deadline is not over."},
	"due, beside a run": {policies: "overlap:allow", lines: []series.Line{Ran(-300, "pod-a", 0, 1, 6)}, runs: []series.Run{{Number: At(-300), State: series.RunOpen, Fence: 6, Until: At(28)}}, now: 2, mark: -300,
		state: why.Undecided, want: "Not decided yet: it was due 2s ago, and its deadline is not over."},
	"past its deadline, behind a run": {lines: []series.Line{Ran(-300, "pod-a", 310, 1, 6)}, runs: []series.Run{{Number: At(-300), State: series.RunOpen, Fence: 6, Granted: At(10), Until: At(400)}}, now: 320, mark: -300,
		state: why.Waiting, want: "Not decided yet: it was due 5m20s ago, and the run of 02:55:00Z on pod-a is alive."},
	"past its deadline, in a backlog": {policies: "misfire:all", lines: []series.Line{With(Ran(-300, "pod-a", 3395, 1, 6), "ok", 3, "")}, now: 3100, mark: -300,
		state: why.Waiting, want: "Not decided yet: it was due 51m40s ago, and the ticks before it are worked off."},
	"drained, and left": {lines: []series.Line{With(Ran(0, "pod-a", .004, 1, 7), "interrupted", 2, "")}, runs: []series.Run{{Number: At(0), State: series.RunGivenBack, Fence: 7, Attempt: 1, Until: At(2)}}, now: 5,
		state: why.Waiting, want: "It ran on pod-a as attempt 1, 4ms after the tick and was interrupted by a drain; a node runs it again soon."},
	"never began": {lines: []series.Line{With(Ran(0, "pod-a", .004, 1, 7), "unstarted", 2, "")}, runs: []series.Run{{Number: At(0), State: series.RunUnstarted, Fence: 7, Until: At(2)}}, now: 60, cause: "no node lives",
		state: why.Overdue, want: "It was granted on pod-a as attempt 1, 4ms after the tick, and never began; no node starts it: no node lives.", next: "cronce status overdue --job report"},
	"not a tick": {tick: 60, now: 70, state: why.NotATick, want: `Not a tick: "*/5 * * * *" has none at that instant. The nearest: Fri 2027-03-26 03:00:00 +00:00 and Fri 2027-03-26 03:05:00 +00:00.`},
	"excluded": {spec: "*/5 * * * * exclude=2027-03-26", now: 70, state: why.NotATick,
		want: `Not a tick: 2027-03-26 is excluded. The spec is "*/5 * * * * exclude=2027-03-26". The nearest: Thu 2027-03-25 23:55:00 +00:00 and Sat 2027-03-27 00:00:00 +00:00.`},
	"before the first": {spec: "*/5 * * * * not_before=2027-03-26T03:05", now: 70, state: why.NotATick,
		want: `Not a tick: it is before not_before, 2027-03-26T03:05:00Z. The spec is "*/5 * * * * not_before=2027-03-26T03:05". The nearest: Fri 2027-03-26 03:05:00 +00:00.`},
	"future": {tick: 300, now: 50, state: why.Future, want: "Due in 4m10s."},
	"future of a paused job": {tick: 300, now: 50, paused: true, state: why.Future,
		want: "Due in 4m10s. The job is paused. Unless the job is resumed before, the tick is recorded as paused."},
	"future after the end of a pause":          {tick: 300, now: 50, paused: true, pause: series.Pause{Who: "op@host", Since: At(-60), Until: At(200)}, state: why.Future, want: "Due in 4m10s."},
	"at the opening of the job":                {tick: -1800, state: why.NotATick, want: "Not due: the job was opened at 02:30:00Z, and has no ticks before. If it ran ticks before, the store has lost their records since: nodes then opened it again."},
	"at the beginning of the proof":            {tick: -1800, truncated: true, state: why.NotKnown, want: "Not known: the journal begins at 02:30:00Z. Of the older lines it has the exceptions, and none is about this tick."},
	"before the job was opened":                {tick: -3600, state: why.NotATick, want: "Not due: the job was opened at 02:30:00Z, and has no ticks before. If it ran ticks before, the store has lost their records since: nodes then opened it again."},
	"between ticks, before the job was opened": {tick: -3601, state: why.NotATick, want: "Not due: the job was opened at 02:30:00Z, and has no ticks before."},
	"before the proof":                         {tick: -3600, truncated: true, state: why.NotKnown, want: "Not known: the journal begins at 02:30:00Z. Of the older lines it has the exceptions, and none is about this tick."},
	"a line cannot be read": {lines: []series.Line{series.UnreadableLine("?")}, now: 20,
		state: why.NotKnown, want: "Not known: a line of the journal cannot be read, and it may be about this tick.", next: "cronce verify --job report"},
	"a line cannot be read, and the mark is before the tick": {lines: []series.Line{series.UnreadableLine("?")}, now: 20, mark: -300,
		state: why.Undecided, want: "Not decided yet: it was due 20s ago, and its deadline is not over."},
	"has a verdict of a newer version": {lines: []series.Line{{Verdict: "deferred", At: At(1), From: At(-600), To: At(0), Between: series.VerdictMissed, Revision: "r1"}},
		state: why.NotKnown, want: `Not known: the journal has the verdict "deferred".`, next: "cronce verify --job report"},
	"has a verdict of a newer version, with others": {lines: []series.Line{{Verdict: series.VerdictRan, At: At(301), From: At(-300), To: At(300), Between: "deferred", Revision: "r1", Node: "pod-a", Attempt: 1, Fence: 9, Outcome: "ok", Ended: At(302)}},
		now: 310, mark: 300, state: why.NotKnown, want: `Not known: the journal has the verdict "deferred".`, next: "cronce verify --job report"},
	"passed, and its job had no tick there when it was claimed": {lines: []series.Line{With(series.Line{Verdict: series.VerdictRan, At: At(301), From: At(-300), To: At(300), Revision: "r1", Node: "pod-a", Attempt: 1, Fence: 9}, "ok", 1, "")},
		now: 310, mark: 300, state: why.NotKnown, want: "Not known: later ticks are decided, and no line of the journal is about this one.", next: "cronce verify --job report"},
	"has a line of a newer version": {lines: []series.Line{{Verdict: "deferred", At: At(1), From: At(0), To: At(0), Revision: "r1"}},
		state: why.NotKnown, want: "Not known: the lines of the journal about this tick do not say how it ended.", next: "cronce verify --job report"},
	"passed without a line, at a change": {lines: []series.Line{Control(-200, "skip", "op@host", 1), With(Ran(0, "pod-a", 0, 1, 6), "ok", 1, "")},
		tick: -300, state: why.NotKnown, want: "Not known: later ticks are decided, and no line of the journal is about this one.", next: "cronce verify --job report"},
	"passed without a line": {mark: 0, state: why.NotKnown, want: "Not known: later ticks are decided, and no line of the journal is about this one.", next: "cronce verify --job report"},
	"no crontab asks for it": {policies: "overlap:skip/callers:crontab", now: 4000, mark: -300,
		state: why.Undecided, want: "Not decided: it was due 1h6m40s ago, and no crontab has asked for it."},
	"no crontab asked for it": {policies: "overlap:skip/callers:crontab", lines: []series.Line{{Verdict: series.VerdictRan, At: At(301), From: At(-300), To: At(300), Between: series.VerdictMissed, Revision: "r1", Attempt: 1, Fence: 8}}, now: 310, mark: 300,
		state: why.Missed, want: "Missed: no crontab asked for it between 02:55:00Z and 03:05:01Z, when a later tick was decided."},
	"the machine of a crontab died": {policies: "overlap:skip/callers:crontab", lines: []series.Line{Ran(0, "db-1", .003, 1, 7)}, runs: []series.Run{alive(-12)}, now: 100,
		state: why.Waiting, want: "It was granted on db-1 as attempt 1, 3ms after the tick; that lease ended 1m32s ago; the next call of a crontab settles the tick."},
	"in the zone of the spec": {zone: "Europe/Berlin", lines: []series.Line{{Verdict: series.VerdictPaused, At: At(1), From: At(-300), To: At(0), Revision: "r1"}},
		state: why.Paused, want: "Paused: the job was paused. A node recorded it at 04:00:01+01:00."},
}
