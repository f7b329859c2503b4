package ops

import (
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/verify"
	"github.com/cronce/cronce/scheduler/why"
)

// A job that a deploy removed requires no person until a node has had the time to retire it. A job
// whose node died does, and so does one that no node retires. All readers agree: the list and the count
// of overdue ticks, the explanation of a tick, and the state of the job.
func TestJustRemoved(t *testing.T) {
	t.Parallel()
	opened := time.Date(2027, 1, 15, 8, 0, 0, 0, time.UTC).UnixMilli()
	left := opened + time.Hour.Milliseconds()
	journal := series.Journal{Key: "a", Revisions: []series.RevisionUse{
		{Revision: "r", Spec: "* * * * *", Zone: "UTC", Node: "old", First: opened, Since: opened, Last: left - 60_000}}}
	for name, c := range map[string]struct {
		old  series.Member
		ago  time.Duration
		need bool
	}{
		"left":                       {series.Member{Node: "old", Left: left}, 20 * time.Minute, false},
		"left, and nobody retires":   {series.Member{Node: "old", Left: left}, retiredWithin + time.Second, true},
		"fell silent":                {series.Member{Node: "old", Until: left}, 20 * time.Minute, true},
		"came back without the job":  {series.Member{Node: "old", Until: left + time.Hour.Milliseconds()}, 20 * time.Minute, false},
		"lives, and may have it yet": {series.Member{Node: "old", Until: left + time.Hour.Milliseconds()}, 13 * time.Minute, true},
	} {
		now := left + c.ago.Milliseconds()
		s := series.Series{Key: "a", Now: now, Mark: left, Last: left}
		nodes := NewNodeList(series.MemberList{Now: now, Members: []series.Member{c.old, {Node: "new", Until: now + 1000}}}, nil)
		r, late := Judge(journal, &s, verify.Options{}, nodes)
		if (len(late) > 0) != c.need || (len(r.Late) > 0) != c.need || (r.Overdue > 0) != c.need {
			t.Errorf("%s: overdue %v, %d counted", name, late, r.Overdue)
		}
		tick := time.UnixMilli(left).Add(time.Minute)
		if a := Why(why.Question{Tick: tick, Journal: journal, State: s}, nodes); (a.State == why.Overdue) != c.need || c.need && !strings.Contains(a.Sentence, late[0].Cause) {
			t.Errorf("%s: explained as %s: %s", name, a.State, a.Sentence)
		}
		j := newJob("ns", journal, s, nodes, nil)
		j = j.at(s, nodes)
		if bad := j.State != OK; bad != c.need {
			t.Errorf("%s: the job is %s, starved since %v", name, j.State, j.Stall.Starved)
		}
	}
}

// The only node with a job drains for long, with an alive run of it or with a shard. The job was not removed: its ticks are overdue, and
// the cause names the node.
func TestDrainIsNoRemoval(t *testing.T) {
	t.Parallel()
	opened := time.Date(2027, 1, 15, 8, 0, 0, 0, time.UTC).UnixMilli()
	left := opened + time.Hour.Milliseconds()
	journal := series.Journal{Key: "a", Revisions: []series.RevisionUse{
		{Revision: "r", Spec: "* * * * *", Zone: "UTC", Node: "old", First: opened, Since: opened, Last: left - 60_000}},
		Lines: []series.Line{{Verdict: series.VerdictRan, At: left, From: left - 60_000, To: left, Node: "old", Fence: 7, Attempt: 1, Revision: "r"}}}
	for _, ago := range []time.Duration{90 * time.Second, 20 * time.Minute} {
		now := left + ago.Milliseconds()
		run := series.Run{Number: left, State: series.RunOpen, Owner: "old/0123456789abcdef", Fence: 7, Attempt: 1, Until: now + 10_000}
		whole := series.Series{Key: "a", Now: now, Mark: left, Last: left, Runs: []series.Run{run}}
		divided := whole
		divided.Sheet.Shards = []series.Shard{{State: series.RunOpen, Owner: run.Owner, Fence: 7, Attempt: 1, Until: run.Until}}
		divided.Runs = []series.Run{{Number: left, State: series.RunOpen, Owner: "other/0123456789abcdef", Shards: 1, Fence: 7, Attempt: 1, Until: now + time.Hour.Milliseconds()}}
		for _, s := range []series.Series{whole, divided} {
			nodes := NewNodeList(series.MemberList{Now: now, Members: []series.Member{{Node: "old", Left: left + 1000}, {Node: "new", Until: now + 20_000}}}, nil)
			r, late := Judge(journal, &s, verify.Options{}, nodes)
			a := Why(why.Question{Tick: time.UnixMilli(left).Add(time.Minute), Journal: journal, State: s}, nodes)
			if strings.Contains(a.Sentence, "removed") || strings.Contains(a.Sentence, "retires") {
				t.Errorf("%v into the drain: %s", ago, a.Sentence)
			}
			const cause = "no other node has this job: old left at 2027-01-15T09:00:01Z, to drain, and its run goes on"
			if ago > 5*time.Minute && (r.Overdue == 0 || len(late) == 0 || late[0].Cause != cause) {
				t.Errorf("%v into the drain, with an alive run: %d overdue, %+v", ago, r.Overdue, late)
			}
		}
	}
}

// A tick that was skipped behind a run without an end is explained with the last heartbeat of the run's node. One that
// drains sends none, and renews its leases: when it left says nothing about the end of its run.
func TestSkippedBehindALostRun(t *testing.T) {
	t.Parallel()
	tick := time.Date(2027, 1, 15, 8, 0, 0, 0, time.UTC).UnixMilli()
	now := tick + 90_000
	journal := series.Journal{Key: "a", Revisions: []series.RevisionUse{{Revision: "r", Spec: "* * * * *", Zone: "UTC", Node: "old", First: tick - 60_000, Since: tick - 60_000, Last: tick}},
		Lines: []series.Line{{Verdict: series.VerdictRan, At: tick, From: tick - 60_000, To: tick, Node: "old", Fence: 7, Attempt: 1, Revision: "r"},
			{Verdict: series.VerdictSkipped, At: tick + 60_000, From: tick, To: tick + 60_000, Node: "new", Blocker: tick, BlockerFence: 7, Reason: "overlap", Revision: "r"}}}
	s := series.Series{Key: "a", Now: now, Mark: tick + 60_000, Runs: []series.Run{{Number: tick, State: series.RunOpen, Owner: "old/0123456789abcdef", Fence: 7, Attempt: 1, Until: now - 10_000}}}
	for want, old := range map[string]series.Member{"run.": {Node: "old", Left: tick + 50_000}, "old was last seen at 08:01:00Z.": {Node: "old", Until: tick + 60_000 + series.MemberFor.Milliseconds()}} {
		nodes := NewNodeList(series.MemberList{Now: now, Members: []series.Member{old, {Node: "new", Until: now + 20_000}}}, nil)
		if a := Why(why.Question{Tick: time.UnixMilli(tick + 60_000), Journal: journal, State: s}, nodes); !strings.HasSuffix(a.Sentence, want) {
			t.Errorf("%s\nwant %s", a.Sentence, want)
		}
	}
}
