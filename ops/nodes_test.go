package ops

import (
	"strings"
	"testing"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler/verify"
)

// Of nodes that went, the latest is named first, however it went.
func TestGone(t *testing.T) {
	f := NewNodeList(driver.MemberList{Now: 10_000, Members: []driver.Member{
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

// A mark within the tolerance is not ahead, for the cause of what is overdue; a millisecond beyond it is.
func TestMarkAheadToTheMillisecond(t *testing.T) {
	const now = 1_800_000_000_000
	f := NewNodeList(driver.MemberList{Now: now, Members: []driver.Member{{Node: "a", Until: now + 1}}}, nil)
	for past, ahead := range map[int64]bool{0: false, series.Tolerance: false, series.Tolerance + 1: true} {
		s := driver.Series{Key: "job", Now: now, Mark: now + past}
		cause := f.cause(&verify.Report{Job: "job", SeenOn: "a"}, &s)
		if decided := cause != "a lives and has this job: its log and its /readyz say what keeps it"; decided != ahead {
			t.Errorf("%d ms ahead: %s", past, cause)
		}
	}
}
