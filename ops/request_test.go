package ops_test

import (
	"context"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/ops"
)

// A late audit does not have the newest record at its first reading, as when a copy of a request is on its
// way.
type lateAudit struct {
	*memlock.Store
	late bool
}

func (s *lateAudit) Audit(ctx context.Context, key string, n int) ([]series.AuditRecord, error) {
	if s.late {
		s.late = false
		return nil, nil
	}
	return s.Store.Audit(ctx, key, n)
}

// Two copies of one request for a run, each with the end that its own clock gives, request one run, and
// both are answered with it. A dry run changes nothing, and returns no change.
func TestCopiesOfARequestForARun(t *testing.T) {
	s := &lateAudit{Store: memlock.New(memlock.Options{})}
	s.Open(t.Context(), []series.OpenRequest{{Key: "report", Node: "n", Revision: "r", Spec: "@yearly", Zone: "UTC"}})
	if _, err := s.Beat(t.Context(), "n", time.Minute); err != nil {
		t.Fatal(err)
	}
	c := ops.NewController(s)
	send := func(until int64, dry bool) ops.Change {
		old := s.ReadSeries(t.Context(), []string{"report"})[0]
		r := ops.Request{Named: true, Dry: dry, Control: series.Control{Key: "report", Action: series.ActionRun, Op: "op", Who: "ann", Reason: "by hand", Until: old.Now + until}}
		return c.Make(t.Context(), &old, r)
	}
	if a := send(60_000, true); a.Outcome != ops.ChangeStands || a.Change != 0 || a.Number != 0 || a.Series.Change != 0 {
		t.Errorf("the dry run is answered %+v", a)
	}
	first := send(60_000, false)
	s.late = true
	second := send(60_001, false)
	if first.Outcome != ops.ChangeMade || second.Outcome != ops.ChangeMade || first.Number == 0 || second.Number != first.Number {
		t.Errorf("the first copy is answered %+v, the second %+v", first, second)
	}
	if is := s.ReadSeries(t.Context(), []string{"report"})[0]; len(is.Runs) != 1 || is.Change != 1 {
		t.Errorf("the series is %+v", is)
	}
}
