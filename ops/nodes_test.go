package ops

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/verify"
)

// Of nodes that left, the latest is named first, however it left. A node that left was last seen when it did,
// and none is seen later than now.
func TestGone(t *testing.T) {
	f := NewNodeList(series.MemberList{Now: 10_000, Members: []series.Member{
		{Node: "early", Until: 1000}, {Node: "late", Left: 9000}, {Node: "lives", Until: 40_000}, {Node: "between", Until: 5000},
	}}, nil)
	if left, lives, none := f.Seen("late"), f.Seen("lives"), f.Seen("none"); left.UnixMilli() != 9000 || lives.UnixMilli() != 10_000 || !none.IsZero() {
		t.Errorf("the node that left was seen at %v, one that lives at %v, one that is not listed at %v", left, lives, none)
	}
	var names []string
	for _, m := range f.Gone() {
		names = append(names, m.Node)
	}
	if got := strings.Join(names, ", "); got != "late, between, early" {
		t.Errorf("%s", got)
	}
}

// A mark within the tolerance is not ahead, for the cause of overdue ticks; a millisecond beyond it
// is.
func TestMarkAheadToTheMillisecond(t *testing.T) {
	const now = 1_800_000_000_000
	f := NewNodeList(series.MemberList{Now: now, Members: []series.Member{{Node: "a", Until: now + 1}}}, nil)
	for past, ahead := range map[int64]bool{0: false, series.Tolerance: false, series.Tolerance + 1: true} {
		s := series.Series{Key: "job", Now: now, Mark: now + past}
		cause := f.cause(&verify.Report{Job: "job", SeenOn: "a"}, &s)
		if decided := !strings.HasPrefix(cause, "a has this job, and was last seen at "); decided != ahead {
			t.Errorf("%d ms ahead: %s", past, cause)
		}
	}
}

// A node that is on the list and misses its heartbeats is not reported as alive: its last heartbeat
// is named.
func TestMissedBeats(t *testing.T) {
	const advice = "see its log and its /readyz for the cause; if a reload has removed the job from it, that is known from 2027-01-15T08:14:00Z on"
	now := time.Date(2027, 1, 15, 8, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		ago  time.Duration
		want string
	}{
		{0, "a had this job at 2027-01-15T07:59:00Z, and was last seen at 2027-01-15T08:00:00Z: " + advice},
		{15 * time.Second, "a had this job at 2027-01-15T07:59:00Z, and was last seen at 2027-01-15T07:59:45Z: " + advice},
		{16 * time.Second, "a has this job, and was last seen at 2027-01-15T07:59:44Z: it misses its beats"},
		{26 * time.Second, "no node lives: a was last seen at 2027-01-15T07:59:34Z (killed, or cut off from the store)"},
	} {
		list := NewNodeList(series.MemberList{Now: now.UnixMilli(), Members: []series.Member{{Node: "a", Until: now.Add(series.MemberFor - c.ago).UnixMilli()}}}, nil)
		if got := list.cause(&verify.Report{SeenOn: "a", Seen: now.Add(-time.Minute)}, &series.Series{Now: now.UnixMilli()}); got != c.want {
			t.Errorf("%v ago: %s", c.ago, got)
		}
		if has := list.has(&verify.Report{SeenOn: "a", Seen: now.Add(-time.Minute)}); has != strings.HasPrefix(c.want, "a had this job") {
			t.Errorf("%v ago: a live node has the job: %v", c.ago, has)
		}
	}
}

// A node that was seen with the job after its last heartbeat was last seen then.
func TestSeenWithTheJobAfterTheLastBeat(t *testing.T) {
	now := time.Date(2027, 1, 15, 8, 0, 0, 0, time.UTC)
	list := NewNodeList(series.MemberList{Now: now.UnixMilli(), Members: []series.Member{{Node: "a", Until: now.Add(series.MemberFor - 6*time.Second).UnixMilli()}}}, nil)
	got := list.cause(&verify.Report{SeenOn: "a", Seen: now.Add(-time.Second)}, &series.Series{Now: now.UnixMilli()})
	if want := "a had this job at 2027-01-15T07:59:59Z, and was last seen at 2027-01-15T07:59:59Z: see its log"; !strings.HasPrefix(got, want) {
		t.Errorf("%s, want %s", got, want)
	}
}

// Each cause of an overdue tick, as far as the store shows it.
func TestCause(t *testing.T) {
	const now = 1_800_000_000_000
	lives, misses, dead, left := series.Member{Node: "b", Until: now + 20_000}, series.Member{Node: "b", Until: now + 9000}, series.Member{Node: "a", Until: now - 1}, series.Member{Node: "a", Left: now - 1000}
	seen := verify.Report{SeenOn: "a", Seen: utc(now - 60_000)}
	for _, c := range []struct {
		members []series.Member
		err     error
		report  verify.Report
		mark    int64
		want    string
	}{
		{[]series.Member{lives}, nil, seen, now + 60_000, "the job is decided until 2027-01-15T08:01:00Z: see cronce doctor"},
		{nil, errNotRead, seen, 0, "which nodes live is not known: a was the last to be seen with this job, at 2027-01-15T07:59:00Z"},
		{nil, errNotRead, verify.Report{}, 0, "which nodes live is not known"},
		{[]series.Member{left}, nil, seen, 0, "no node lives: a left at 2027-01-15T07:59:59Z, to drain"},
		{nil, nil, seen, 0, "no node lives: a was the last to be seen with this job, at 2027-01-15T07:59:00Z"},
		{nil, nil, verify.Report{}, 0, "no node lives"},
		{[]series.Member{dead, misses}, nil, seen, 0, "all nodes miss their beats: b was last seen at 2027-01-15T07:59:44Z (killed, or cut off from the store)"},
		{[]series.Member{dead, misses, {Node: "c", Until: now + 11_000}}, nil, verify.Report{}, 0, "no node has this job: 2 nodes live, and none was seen with it; if it was removed, retire it: cronce retire"},
		{[]series.Member{dead, lives}, nil, verify.Report{}, 0, "no node has this job: 1 nodes live, and none was seen with it; if it was removed, retire it: cronce retire"},
		{[]series.Member{dead, lives}, nil, seen, 0, "no node has this job: 1 nodes live, and none was seen with it of late: a was the last to be seen with this job, at 2027-01-15T07:59:00Z; if it was removed, retire it: cronce retire"},
	} {
		nodes := NewNodeList(series.MemberList{Now: now, Members: c.members}, c.err)
		if got := nodes.cause(&c.report, &series.Series{Now: now, Mark: c.mark}); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
		living := slices.ContainsFunc(c.members, func(m series.Member) bool { return m.Alive(now) })
		if alive := nodes.Known(); nodes.MayDecide() != (c.err != nil || living) || (alive == nil) != (c.err != nil) || alive != nil && (alive("a") || alive("b") != living) {
			t.Errorf("%v, %v: a node may decide: %v", c.members, c.err, nodes.MayDecide())
		}
	}
}

// A node that removed a job in a reload lives on. It counts as having the job until it has not been seen with it for
// long enough. Then all tools say that no node has the job, and name the last one.
func TestRemovedInAReload(t *testing.T) {
	t.Parallel()
	opened := time.Date(2027, 1, 15, 8, 0, 0, 1e6, time.UTC)
	const known = "2027-01-15T08:15:01Z"
	if got := HadUntil(opened.UnixMilli()).Format(time.RFC3339); got != known {
		t.Errorf("it counts until %s", got)
	}
	j := series.Journal{Key: "a", Revisions: []series.RevisionUse{
		{Revision: "r", Spec: "* * * * *", Zone: "UTC", Node: "n", First: opened.UnixMilli(), Since: opened.UnixMilli(), Last: opened.UnixMilli()}}}
	for name, c := range map[string]struct {
		after   time.Duration
		lives   bool
		unread  error
		retired bool
		cause   string // begins so
		none    string
	}{
		"at once": {time.Minute, true, nil, false, "n had this job at 2027-01-15T08:00:00Z, and was last seen at 2027-01-15T08:01:00Z: see its log and its /readyz for the cause; " +
			"if a reload has removed the job from it, that is known from " + known + " on", ""},
		"known": {series.SightedWithin + time.Second, true, nil, false, "no node has this job: 1 nodes live, and none was seen with it of late: n was the last",
			"No live node has this job, of 1 node: n was the last to be seen with it, at 2027-01-15T08:00:00Z."},
		"retired":       {time.Hour, true, nil, true, "no node has this job", ""},
		"no node lives": {time.Minute, false, nil, false, "no node lives", "No live node has this job, of 0 nodes: n was the last to be seen with it, at 2027-01-15T08:00:00Z."},
		"not known":     {time.Hour, false, errNotRead, false, "which nodes live is not known", ""},
	} {
		now := opened.Add(c.after).UnixMilli()
		list := series.MemberList{Now: now}
		if c.lives {
			list.Members = []series.Member{{Node: "n", Until: now + series.MemberFor.Milliseconds()}}
		}
		nodes, s := NewNodeList(list, c.unread), series.Series{Key: "a", Now: now, Mark: opened.UnixMilli()}
		if c.retired {
			s.Paused, s.Pause.Until = true, driver.MaxNumber
		}
		if got := nodes.cause(&verify.Report{SeenOn: "n", Seen: opened}, &s); !strings.HasPrefix(got, c.cause) {
			t.Errorf("%s: the cause is %s", name, got)
		}
		if got := nodes.NoneHas(&j, &s); got != c.none {
			t.Errorf("%s: %q", name, got)
		}
		if s.Mark = now; c.lives && nodes.NoneHas(&j, &s) != "" {
			t.Errorf("%s: a node has just decided a tick of the job, and %s", name, nodes.NoneHas(&j, &s))
		}
	}
}

// A node that left is draining while it has a run, and drained then. The explanation of its run does not say that it was last
// seen when it left: it renews the lease without a heartbeat.
func TestDrainingNode(t *testing.T) {
	const now = 1_800_000_000_000
	nodes := NewNodeList(series.MemberList{Now: now, Members: []series.Member{{Node: "a", Left: now - 60_000}, {Node: "b", Left: now - 120_000}, {Node: "c", Until: now + 20_000}}}, nil)
	lease := int64(5000)
	s := &Snapshot{Nodes: nodes, Jobs: []*Job{{Name: "j", State: OK, Runs: []Run{{Node: "a", State: Running, LeftMs: &lease}}}}}
	var states []string
	for _, v := range s.NodeViews() {
		states = append(states, v.Name+" "+v.State)
	}
	if want := []string{"c alive", "a draining", "b drained"}; !slices.Equal(states, want) {
		t.Errorf("the nodes are %q, want %q", states, want)
	}
	s.Jobs[0].State = Unknown // the store does not answer for the job: its run may have ended
	if views := s.NodeViews(); len(views[1].Alive) > 0 || len(s.View(s.Jobs[0], false).Alive) > 0 {
		t.Errorf("a job that is not known has alive runs: %+v", views[1])
	}
	if at := nodes.lastBeat("a"); !at.IsZero() {
		t.Errorf("a node that left was last seen at %v", at)
	}
	if at := nodes.lastBeat("c"); at.IsZero() {
		t.Error("it is not known when a live node was last seen")
	}
}
