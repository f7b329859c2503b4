package ops

import (
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/verify"
)

// Of nodes that left, the latest is named first, however it left.
func TestGone(t *testing.T) {
	f := NewNodeList(series.MemberList{Now: 10_000, Members: []series.Member{
		{Node: "early", Until: 1000}, {Node: "late", Left: 9000}, {Node: "lives", Until: 10_001}, {Node: "between", Until: 5000},
	}}, nil)
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
	now := time.Date(2027, 1, 15, 8, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		ago  time.Duration
		want string
	}{
		{0, "a has this job, and was last seen at 2027-01-15T08:00:00Z: see its log and its /readyz for the cause"},
		{15 * time.Second, "a has this job, and was last seen at 2027-01-15T07:59:45Z: see its log and its /readyz for the cause"},
		{16 * time.Second, "a has this job, and was last seen at 2027-01-15T07:59:44Z: it misses its beats"},
		{26 * time.Second, "no node lives: a was last seen at 2027-01-15T07:59:34Z (killed, or cut off from the store)"},
	} {
		list := NewNodeList(series.MemberList{Now: now.UnixMilli(), Members: []series.Member{{Node: "a", Until: now.Add(series.MemberFor - c.ago).UnixMilli()}}}, nil)
		if got := list.cause(&verify.Report{SeenOn: "a"}, &series.Series{Now: now.UnixMilli()}); got != c.want {
			t.Errorf("%v ago: %s", c.ago, got)
		}
	}
}
