package why_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/why"
)

// The sentence about a sharded tick has how many of its shards ended in which way, and which of them did not end ok. While
// the tick goes on, it has how many run, and on which nodes.
func TestExplainShards(t *testing.T) {
	opens := func(n int) series.Line {
		l := ran(0, "pod-a", .003, 1, 7)
		l.Shards = n
		return l
	}
	ends := func(n int, outcome, sheet string) series.Line {
		l := with(opens(n), outcome, 9.1, "")
		l.Sheet = sheet
		return l
	}
	own := series.Line{Verdict: series.VerdictEnded, At: at(9), From: at(0), To: at(0), Attempt: 1, Fence: 7, Shards: 2, Outcome: "ok", Ended: at(9), Sheet: "pod-a|ok+,1,0,1,0,5;ok+,1,0,2,0,5"}
	var hundred []string
	for i := range 100 {
		hundred = append(hundred, fmt.Sprintf("%s,1,%d,%d,0,5", map[int]string{3: "lost", 17: "failed"}[i], i%10, i+1))
		if strings.HasPrefix(hundred[i], ",") {
			hundred[i] = "ok+" + hundred[i]
		}
	}
	pods := "p0;p1;p2;p3;p4;p5;p6;p7;p8;p9|"
	open := func(until float64, n int) []series.Run {
		return []series.Run{{Number: at(0), State: series.RunOpen, Owner: "pod-a/1", Fence: 7, Attempt: 1, Granted: at(.003), Until: at(until), Shards: n}}
	}
	runs := func(node string, until float64) series.Shard {
		return series.Shard{State: series.RunOpen, Owner: node + "/1", Fence: 8, Attempt: 1, Granted: at(.003), Until: at(until)}
	}
	done := func(outcome string) series.Shard {
		return series.Shard{State: series.RunDone, Owner: "pod-b/1", Fence: 9, Attempt: 1, Outcome: outcome, OK: outcome == "ok"}
	}
	again := func(h series.Shard) series.Shard { h.Attempt++; return h }
	ended := func(after float64) series.Shard {
		h := done("ok")
		h.Ended = at(after)
		return h
	}
	const opened3 = "It was opened 3ms after the tick (fence 7). Divided into "
	for name, tc := range map[string]struct {
		lines   []series.Line
		runs    []series.Run
		shards  []series.Shard
		to      []string // the nodes of a broadcast
		cause   string
		removed bool
		state   why.State
		want    string
		next    string
	}{
		"failed": {lines: []series.Line{ends(100, "failed", pods+strings.Join(hundred, ";"))}, state: why.Failed, next: "cronce runs report@2027-03-26T03:00:00Z",
			want: "Ran 3ms after the tick, and ended as failed after 9.1s. Divided into 100 shards on 10 nodes: 98 ok, 1 failed (17 on p7), 1 lost (3 on p3)."},
		"ok, in two lines": {lines: []series.Line{opens(2), own}, state: why.Ran,
			want: "Ran 3ms after the tick, ok in 8.997s (fence 7). Divided into 2 shards on 1 node: 2 ok."},
		"ok, its opening is gone": {lines: []series.Line{own}, state: why.Ran,
			want: "Its run on a node that is not recorded, attempt 1, ended as ok at 03:00:09Z (fence 7); the line of its grant is gone from the journal. Divided into 2 shards on 1 node: 2 ok."},
		"some never started": {lines: []series.Line{ends(12, "failed", "pod-a|timeout,1,0,1,0,5,no route;no rows,1,0,2,0,5"+strings.Repeat(";missed", 10))}, state: why.Failed, next: "cronce runs report@2027-03-26T03:00:00Z",
			want: "Ran 3ms after the tick, and ended as failed after 9.1s. Divided into 12 shards on 1 node: 1 timeout (0 on pod-a: no route), 10 missed (2, 3, 4, 5, 6, 7, 8, 9 and 2 more), 1 no rows (1 on pod-a)."},
		"broadcast": {lines: []series.Line{ends(3, "failed", "pod-a;pod-b;pod-c|ok+,1,0,1,0,5;missed,1;lost,1,2,2,0,9")}, state: why.Failed, next: "cronce runs report@2027-03-26T03:00:00Z",
			want: "Ran 3ms after the tick, and ended as failed after 9.1s. Divided into 3 shards on 2 nodes: 1 ok, 1 lost (2 on pod-c), 1 missed (1 on pod-b)."},
		"taken over": {lines: []series.Line{ends(3, "failed", "pod-a;pod-b|ok+,2,1,5,0,5;ok+,1,0,2,0,5;lost,3,0,9,0,5")}, state: why.Failed, next: "cronce runs report@2027-03-26T03:00:00Z",
			want: "Ran 3ms after the tick, and ended as failed after 9.1s. Divided into 3 shards on 2 nodes: 2 ok, 1 lost (2 on pod-a). 2 of them needed another attempt."},
		"not on record": {lines: []series.Line{ends(3, "lost", "")}, state: why.Failed, next: "cronce runs report@2027-03-26T03:00:00Z",
			want: "Ran 3ms after the tick, and ended as lost after 9.1s. Divided into 3 shards, whose verdicts are not on record."},
		"goes on": {lines: []series.Line{opens(7)}, runs: open(3600, 7), state: why.Running,
			shards: []series.Shard{done("ok"), runs("pod-c", 25), runs("pod-b", 25), runs("pod-c", 25), runs("pod-a", 19), done("failed"), {}},
			want:   opened3 + "7 shards on 3 nodes: 1 ok, 1 failed (5 on pod-b), 3 running on pod-b and pod-c, 1 over (4 on pod-a), 1 free."},
		"goes on, and was taken over": {lines: []series.Line{opens(2)}, runs: open(3600, 2), state: why.Running, shards: []series.Shard{again(done("ok")), runs("pod-c", 25)},
			want: opened3 + "2 shards on 2 nodes: 1 ok, 1 running on pod-c. 1 of them needed another attempt."},
		"broadcast goes on": {lines: []series.Line{opens(2)}, runs: open(3600, 2), state: why.Running, shards: []series.Shard{runs("pod-a", 25), {}}, to: []string{"pod-a", "pod-b"},
			want: opened3 + "2 shards on 1 node: 1 running on pod-a, 1 free (1 on pod-b)."},
		"goes on, and its opening is gone": {runs: open(3600, 1), state: why.Running, shards: []series.Shard{runs("pod-c", 25)},
			lines: []series.Line{{Verdict: series.VerdictEnded, At: at(-299), From: at(-300), To: at(-300), Attempt: 1, Fence: 6, Outcome: "ok", Ended: at(-299)}},
			want:  "It was opened on pod-a as attempt 1 (fence 7). Divided into 1 shard on 1 node: 1 running on pod-c."},
		"a shard was given back": {lines: []series.Line{opens(2)}, runs: open(3600, 2), state: why.Running, shards: []series.Shard{runs("pod-c", 25), {State: series.RunGivenBack, Owner: "pod-b/1", Fence: 9, Attempt: 1, Until: at(25)}},
			want: opened3 + "2 shards on 2 nodes: 1 running on pod-c, 1 over (1 on pod-b)."},
		"runs on some nodes": {lines: []series.Line{opens(5)}, runs: open(3600, 5), state: why.Running, shards: []series.Shard{runs("a", 25), runs("b", 25), runs("c", 25), runs("d", 25), runs("e", 25)},
			want: opened3 + "5 shards on 5 nodes: 5 running on a and b and c and d and e."},
		"runs on many nodes": {lines: []series.Line{opens(6)}, runs: open(3600, 6), state: why.Running,
			shards: []series.Shard{runs("a", 25), runs("b", 25), runs("c", 25), runs("d", 25), runs("e", 25), runs("f", 25)},
			want:   opened3 + "6 shards on 6 nodes: 6 running on 6 nodes."},
		"the free ones wait for a moment": {lines: []series.Line{opens(2)}, runs: open(3600, 2), state: why.Running, shards: []series.Shard{ended(10), {}}, cause: "pod-a had this job",
			want: opened3 + "2 shards on 1 node: 1 ok, 1 free."},
		"the free ones wait": {lines: []series.Line{opens(2)}, runs: open(3600, 2), state: why.Running, shards: []series.Shard{ended(9.999), {}}, cause: "pod-a had this job",
			want: "It was opened 3ms after the tick (fence 7), and no shard of it is alive: pod-a had this job. Divided into 2 shards on 1 node: 1 ok, 1 free."},
		"the job was removed": {lines: []series.Line{opens(2)}, runs: open(3600, 2), state: why.Running, shards: []series.Shard{ended(9), {}}, cause: "pod-a had this job", removed: true,
			want: "It was opened 3ms after the tick (fence 7), and no shard of it is alive; the job was removed from every node that had it, and the node that retires it settles the tick. Divided into 2 shards on 1 node: 1 ok, 1 free."},
		"a node is gone from a broadcast": {lines: []series.Line{opens(2)}, runs: open(3600, 2), state: why.Running, shards: []series.Shard{ended(9), {}}, to: []string{"pod-b", "pod-c"}, cause: "pod-a had this job",
			want: opened3 + "2 shards on 1 node: 1 ok, 1 free (1 on pod-c)."},
		"all leases are over": {lines: []series.Line{opens(2)}, runs: open(3600, 2), state: why.Waiting, shards: []series.Shard{runs("pod-a", 16), {}},
			want: "It was opened 3ms after the tick; for 4s no shard of it was alive; a node settles the tick or takes it over soon. Divided into 2 shards on 1 node: 1 over (0 on pod-a), 1 free."},
		"it was left": {lines: []series.Line{opens(2)}, runs: open(3600, 2), state: why.Overdue, shards: []series.Shard{runs("pod-a", 6), {}}, cause: "no node lives", next: "cronce status overdue --job report",
			want: "It was opened 3ms after the tick; for 14s no shard of it was alive, and no node has settled the tick or taken it over: no node lives. Divided into 2 shards on 1 node: 1 over (0 on pod-a), 1 free."},
	} {
		t.Run(name, func(t *testing.T) {
			lines := tc.lines
			if lines[0].Verdict == series.VerdictRan {
				lines = append([]series.Line{opened(), ran(-300, "pod-a", 0, 1, 6)}, lines...)
				lines[1] = with(lines[1], "ok", 1, "")
				lines[1].From = at(-1800)
			}
			got := why.Explain(why.Question{Tick: tick, Cause: tc.cause, Removed: tc.removed,
				State: series.Series{Key: "report", Now: at(20), Mark: at(0), Runs: tc.runs, Sheet: series.Sheet{Shards: tc.shards, Params: tc.to, Broadcast: tc.to != nil}},
				Journal: series.Journal{Key: "report", Truncated: lines[0].Verdict != series.VerdictOpened, Lines: lines,
					Revisions: []series.RevisionUse{{Revision: "r1", Spec: "*/5 * * * *", Zone: "UTC", Node: "pod-a", First: at(-1800), Last: at(20)}}}})
			if got.State != tc.state || got.Sentence != tc.want || got.Next != tc.next {
				t.Errorf("%s: %s Then %q\nwant %s: %s Then %q", got.State, got.Sentence, got.Next, tc.state, tc.want, tc.next)
			}
		})
	}
}
