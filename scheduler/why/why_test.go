package why_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/whycases"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/why"
)

// The records of the questions: see package whycases.
var (
	tick      = whycases.Tick
	at        = whycases.At
	opened    = whycases.Opened
	ran       = whycases.Ran
	with      = whycases.With
	control   = whycases.Control
	cancelled = whycases.Cancelled
)

func TestExplain(t *testing.T) {
	for name, c := range whycases.All() {
		t.Run(name, func(t *testing.T) {
			got := why.Explain(c.Question)
			if got.State != c.State || got.Sentence != c.Want || got.Next != c.Next {
				t.Errorf("%s: %s Then %q\nwant %s: %s Then %q", got.State, got.Sentence, got.Next, c.State, c.Want, c.Next)
			}
			if got.Job != "report" || got.Tick != c.Question.Tick.UTC() {
				t.Errorf("the answer is about %v of %q", got.Tick, got.Job)
			}
			evident(t, c.Question, got)
		})
	}
}

// evident checks that the evidence has, in order, a line about each verdict, each change that the sentence names
// but the pause of the state, and each run of a backfill that does the work of the tick.
func evident(t *testing.T, q why.Question, got why.Answer) {
	t.Helper()
	if !slices.IsSorted(got.Evidence) {
		t.Errorf("the evidence is %v", got.Evidence)
	}
	switch got.State {
	case why.Ran, why.Failed, why.Skipped, why.Superseded, why.Missed, why.Lost:
		if len(got.Evidence) == 0 {
			t.Errorf("%s, without evidence", got.State)
		}
	}
	for i := range q.Journal.Lines {
		l := &q.Journal.Lines[i]
		named := l.Verdict == series.VerdictControl && l.At != q.State.Pause.Since && strings.Contains(got.Sentence, l.Node) && strings.Contains(got.Sentence, time.UnixMilli(l.At).UTC().Format("15:04:05"))
		if (named || l.For != 0 && l.For == q.Tick.UnixMilli()) && !slices.Contains(got.Evidence, i) {
			t.Errorf("the evidence is %v, without line %d: %+v", got.Evidence, i, *l)
		}
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
		"waits": {series.Line{Verdict: series.VerdictEnded, At: at(200), From: at(-600), To: at(-600), Node: "pod-a", Fence: 5, Attempt: 1, Outcome: "ok", Ended: at(200)},
			[]series.Run{{Number: at(-300), State: series.RunOpen, Fence: 6, Until: at(410)}, {Number: at(0), State: series.RunWaiting, Fence: 7}}, why.Waiting,
			"Waits for the end of an earlier run."},
		"waits for no run": {series.Line{Verdict: series.VerdictEnded, At: at(200), From: at(-600), To: at(-600), Node: "pod-a", Fence: 5, Attempt: 1, Outcome: "ok", Ended: at(200)},
			[]series.Run{{Number: at(0), State: series.RunWaiting, Fence: 7}}, why.Overdue,
			"Waits for the end of an earlier run, which is not alive any more."},
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
	seen := func(node string) time.Time {
		if node != "pod-a" {
			return time.Time{}
		}
		return time.UnixMilli(at(-20))
	}
	sheet := series.Sheet{Shards: []series.Shard{{State: series.RunOpen, Fence: 7, Until: at(30)}}}
	for name, tc := range map[string]struct {
		lines []series.Line
		runs  []series.Run
		want  string
	}{
		"settled": {[]series.Line{opened(), grant, skip, lost}, nil,
			"Skipped: the lease of the run of 02:55:00Z on pod-a was alive until 03:00:12Z at the latest, and overlap is skip. The journal has no end of that run; pod-a was last seen at 02:59:40Z."},
		"not settled": {[]series.Line{opened(), grant, skip}, []series.Run{{Number: at(-300), State: series.RunOpen, Fence: 6, Until: at(8)}},
			"Skipped: the lease of the run of 02:55:00Z on pod-a was alive until 03:00:08Z at the latest, and overlap is skip. The journal has no end of that run; pod-a was last seen at 02:59:40Z."},
		"settled, and its node was never seen": {[]series.Line{opened(), ran(-300, "pod-b", 0, 1, 6), skip, lost}, nil,
			"Skipped: the lease of the run of 02:55:00Z on pod-b was alive until 03:00:12Z at the latest, and overlap is skip. The journal has no end of that run."},
		"taken over twice, and lost": {[]series.Line{opened(), grant, skip, with(ran(-300, "pod-b", 312, 2, 7), "interrupted", 1, ""), ran(-300, "pod-c", 314, 3, 8),
			{Verdict: series.VerdictLost, At: at(16), From: at(-300), To: at(-300), Fence: 8, Attempt: 3}}, nil,
			"Skipped: the lease of the run of 02:55:00Z on pod-a was alive until 03:00:12Z at the latest, and overlap is skip. The journal has no end of that run; pod-a was last seen at 02:59:40Z."},
		"drained, and run again": {[]series.Line{opened(), with(grant, "interrupted", 305, ""), skip, ran(-300, "pod-b", 312, 2, 7)}, nil, "Skipped: the run of 02:55:00Z on pod-a was alive, and overlap is skip."},
		"alive, and an earlier run was left": {[]series.Line{opened(), grant, skip}, []series.Run{{Number: at(-600), State: series.RunOpen, Fence: 5, Until: at(8)}, {Number: at(-300), State: series.RunOpen, Fence: 6, Until: at(30)}},
			"Skipped: the run of 02:55:00Z on pod-a was alive, and overlap is skip."},
		"alive, and a manual run too": {[]series.Line{opened(), grant, skip, {Verdict: series.VerdictRan, At: at(5.5), From: at(byHand), To: at(byHand), Node: "pod-b", Revision: "r1", Attempt: 1, Fence: 8}},
			[]series.Run{{Number: at(-300), State: series.RunOpen, Fence: 6, Until: at(30)}}, "Skipped: the run of 02:55:00Z on pod-a was alive, and overlap is skip."},
		"its shards are alive": {[]series.Line{opened(), grant, skip}, []series.Run{{Number: at(-300), State: series.RunOpen, Fence: 6, Until: at(8), Shards: 1}}, "Skipped: the run of 02:55:00Z on pod-a was alive, and overlap is skip."},
		"alive":                {[]series.Line{opened(), grant, skip}, []series.Run{{Number: at(-300), State: series.RunOpen, Fence: 6, Until: at(30)}}, "Skipped: the run of 02:55:00Z on pod-a was alive, and overlap is skip."},
		"ended ok":             {[]series.Line{opened(), with(grant, "ok", 305, ""), skip}, nil, "Skipped: the run of 02:55:00Z on pod-a was alive, and overlap is skip."},
	} {
		got := why.Explain(why.Question{Tick: tick, Seen: seen, Journal: series.Journal{Key: "report", Lines: tc.lines, Revisions: []series.RevisionUse{use}},
			State: series.Series{Key: "report", Now: at(20), Mark: at(0), Runs: tc.runs, Sheet: sheet}})
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
