package ops_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/ops"
)

// A partial store does not answer one kind of question.
type partial struct {
	*memlock.Store
	silent string
}

var errPart = errors.New("no answer")

func (s *partial) ReadSeries(ctx context.Context, keys []string) []series.Series {
	if s.silent == "state" {
		return []series.Series{{Key: keys[0], Err: errPart}}
	}
	return s.Store.ReadSeries(ctx, keys)
}

func (s *partial) Journal(ctx context.Context, key string, n int) (series.Journal, error) {
	if s.silent == "journal" {
		return series.Journal{}, errPart
	}
	return s.Store.Journal(ctx, key, n)
}

func (s *partial) Members(ctx context.Context) (series.MemberList, error) {
	if s.silent == "nodes" {
		return series.MemberList{}, errPart
	}
	return s.Store.Members(ctx)
}

func (s *partial) Audit(ctx context.Context, key string, n int) ([]series.AuditRecord, error) {
	if s.silent == "audit" {
		return nil, errPart
	}
	return s.Store.Audit(ctx, key, n)
}

// A change that depends on what cannot be read is not made: a pause would hide the ticks of an outage without a journal, and
// a run without a node would wait for nothing. If only the audit cannot be read, it is not known whether a named operation was done before.
func TestChangesWithoutAnAnswer(t *testing.T) {
	const pause, resume, run, skip, fill = series.ActionPause, series.ActionResume, series.ActionRun, series.ActionSkip, series.ActionBackfill
	s := &partial{Store: memlock.New(memlock.Options{})}
	s.Open(t.Context(), []series.OpenRequest{{Key: "report", Node: "n", Revision: "r", Spec: "@yearly", Zone: "UTC"}})
	if _, err := s.Beat(t.Context(), series.Beat{Node: "n", TTL: time.Minute}); err != nil {
		t.Fatal(err)
	}
	send := func(action series.Action, named bool) ops.Change {
		old := s.Store.ReadSeries(t.Context(), []string{"report"})[0]
		r := ops.Request{Named: named, Control: series.Control{Key: "report", Action: action, Op: string(action), Who: "ann", Reason: "by hand", Seen: series.AnySeen}}
		if action == run {
			r.Until = old.Now + 60_000
		}
		if action == fill {
			r.Backfill = &ops.Backfill{From: time.UnixMilli(1), To: time.UnixMilli(old.Now)}
		}
		return ops.NewController(s).Make(t.Context(), &old, r)
	}
	for silent, actions := range map[string][]series.Action{"state": {fill}, "journal": {pause, run, skip, fill}, "nodes": {run, fill}, "audit": {pause, run, skip, fill}} {
		s.silent = silent
		for _, action := range actions {
			want := ops.ChangeFailed
			if silent == "audit" {
				want = ops.ChangeDoubt
			}
			if a := send(action, silent == "audit"); a.Outcome != want || !errors.Is(a.Err, errPart) {
				t.Errorf("%s without the %s: %s %v, want %s", action, silent, a.Outcome, a.Err, want)
			}
		}
	}
	if is := s.Store.ReadSeries(t.Context(), []string{"report"})[0]; is.Change != 0 {
		t.Errorf("the series is %+v", is)
	}
	if s.silent = "journal"; !s.Control(t.Context(), series.Control{Key: "report", Action: pause, Op: "before", Who: "ann", Reason: "by hand", Seen: series.AnySeen}).Made {
		t.Fatal("it is not paused")
	}
	if a := send(resume, false); a.Outcome != ops.ChangeMade || a.Series.Paused {
		t.Errorf("a resume needs no journal, and is answered %+v", a)
	}
}
