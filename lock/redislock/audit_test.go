package redislock_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/redislock"
	"github.com/cronce/cronce/lock/series"
)

// An audit keeps its newest records, whose numbers go on growing. A record that cannot be read is
// named in its place, and no change is made after it.
func TestAuditIsBounded(t *testing.T) {
	t.Parallel()
	d, admin := realDriver(t, redislock.Options{Namespace: "ns"})
	const audit = "ns:v1:{ns.0}:au"
	must(t, d.Open(t.Context(), []series.OpenRequest{{Key: "job", Node: "n"}})[0].Err)
	texts := make([]any, series.MaxAudit)
	for i := range texts {
		texts[i] = fmt.Sprintf("%d|1795207852937000|ann|pause|job|1|running|paused|for%%20the%%20test|op", 1000+i)
	}
	must(t, admin.RPush(t.Context(), audit, texts...).Err())
	change := func(op string) series.ControlAnswer {
		return d.Control(t.Context(), series.Control{Key: "job", Action: series.ActionPause, Op: op, Who: "ann", Reason: "for the test", Seen: series.AnySeen})
	}
	const last = 1000 + series.MaxAudit - 1
	for i := range int64(3) {
		if a := change(fmt.Sprint(i)); a.Err != nil || a.Audit != last+1+i {
			t.Errorf("the change is answered %+v, want the number %d", a, last+1+i)
		}
	}
	all, err := d.Audit(t.Context(), "", 0)
	if err != nil || len(all) != series.MaxAudit || all[0].Number != 1003 || all[len(all)-1].Number != last+3 {
		t.Errorf("the audit has %d records, %v, want the newest %d", len(all), err, series.MaxAudit)
	}
	if left := admin.PTTL(t.Context(), audit).Val(); left < 24*time.Hour {
		t.Errorf("the audit expires in %v", left)
	}
	must(t, admin.RPush(t.Context(), audit, "garbage").Err())
	if a := change("later"); a.Err == nil {
		t.Errorf("a change after a record that cannot be read is answered %+v", a)
	}
	for _, key := range []string{"", "job"} { // whose the record is cannot be read
		some, err := d.Audit(t.Context(), key, 2)
		if err != nil || len(some) != 2 || some[1].Unreadable != `"garbage"` || some[0].Number != last+3 {
			t.Errorf("the newest records of %q are %+v, %v", key, some, err)
		}
	}
}
