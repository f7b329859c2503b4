package ops_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock/driver"
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
	if _, err := s.Beat(t.Context(), series.Beat{Node: "n", TTL: time.Minute}); err != nil {
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
	if a := send(60_000, true); a.Outcome == ops.ChangeMade || a.Number != 0 {
		t.Errorf("a dry run with the operation of a run is answered %+v", a)
	}
	if is := s.ReadSeries(t.Context(), []string{"report"})[0]; len(is.Runs) != 1 || is.Change != 1 {
		t.Errorf("the series is %+v", is)
	}
}

// A request that no store supports is refused and leaves the job alone, also on a driver without a
// series.Front, which checks nothing itself.
func TestInvalidRequestsDoNothing(t *testing.T) {
	valid := series.Control{Key: "report", Action: series.ActionPause, Op: "1", Who: "ann", Reason: "by hand", Seen: series.AnySeen}
	for argument, change := range map[string]func(c *series.Control){
		"action": func(c *series.Control) { c.Action = "stop" },
		"who":    func(c *series.Control) { c.Who = "" },
		"op":     func(c *series.Control) { c.Op = strings.Repeat("1", 65) },
		"until":  func(c *series.Control) { c.Until = -5 },
		"number": func(c *series.Control) { c.Action, c.Number = series.ActionCancel, -1 },
	} {
		s := memlock.New(memlock.Options{})
		s.Open(t.Context(), []series.OpenRequest{{Key: "report", Node: "n", Revision: "r", Spec: "@yearly", Zone: "UTC"}})
		r := valid
		change(&r)
		a := ops.NewController(s).Make(t.Context(), &s.ReadSeries(t.Context(), []string{"report"})[0], ops.Request{Control: r})
		if bad, is := errors.AsType[*driver.ArgumentError](a.Err); a.Outcome != ops.ChangeFailed || !is || bad.Argument != argument {
			t.Errorf("%s: %s, %v", argument, a.Outcome, a.Err)
		}
		if is := s.ReadSeries(t.Context(), []string{"report"})[0]; is.Change != 0 {
			t.Errorf("%s: the series has the change %d", argument, is.Change)
		}
	}
}

// A pause that is requested again with its operation is the same pause, with the end of the first one, also after other changes and once
// only the audit keeps it. A copy that overtakes the first request is that one too.
func TestPauseOfAUsedOperation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &lateAudit{Store: memlock.New(memlock.Options{})}
		s.Open(t.Context(), []series.OpenRequest{{Key: "report", Node: "n", Revision: "r", Spec: "@yearly", Zone: "UTC"}})
		c := ops.NewController(s)
		var end int64
		send := func(action series.Action, op string, later int64) ops.Change {
			old := s.ReadSeries(t.Context(), []string{"report"})[0]
			r := ops.Request{Named: true, Relative: action == series.ActionPause, Control: series.Control{Key: "report", Action: action, Op: op, Who: "ann", Reason: "by hand", Seen: series.AnySeen}}
			if action == series.ActionPause {
				r.Until = old.Now + 3_600_000 + later
			}
			return c.Make(t.Context(), &old, r)
		}
		first := send(series.ActionPause, "op", 0)
		end = first.Series.Pause.Until
		if first.Outcome != ops.ChangeMade || first.Change != 1 || end == 0 {
			t.Fatalf("%+v", first)
		}
		if a := send(series.ActionPause, "op", 5); a.Outcome != ops.ChangeMade || a.Change != 1 || a.Request.Until != end {
			t.Errorf("%+v", a)
		}
		if a := send(series.ActionPause, "other", -9); a.Outcome != ops.ChangeStands {
			t.Errorf("another operation with an earlier end: %+v", a)
		}
		for i := range series.KeptOps + 1 {
			if a := send([]series.Action{series.ActionResume, series.ActionPause}[i%2], fmt.Sprint("later ", i), 0); a.Outcome != ops.ChangeMade {
				t.Fatalf("%d: %+v", i, a)
			}
			if i > 0 && i < series.KeptOps {
				continue
			}
			before := s.ReadSeries(t.Context(), []string{"report"})[0].Change
			s.late = i == 0
			a := send(series.ActionPause, "op", 5)
			if !strings.HasPrefix(a.Text, "report: the operation op was done before, as change 1; since then ") || !strings.HasSuffix(a.Text, "Z: by hand") {
				t.Errorf("after %d changes: %s", i+1, a.Text)
			}
			if a.Outcome != ops.ChangeDated || a.Change != 1 || a.Refusal != "" || a.Request.Until != end || a.Series.Change != before || s.ReadSeries(t.Context(), []string{"report"})[0].Change != before {
				t.Errorf("after %d changes: %+v", i+1, a)
			}
		}
		if a := send(series.ActionResume, "op", 0); a.Refusal != series.RefusedOp || a.Text != "the operation op was used for another change of report: nothing was done" {
			t.Errorf("the operation of a pause is a resume: %+v", a)
		}
	})
}

// A deaf store makes each change, and so many of its replies are lost.
type deaf struct {
	*memlock.Store
	lose int
	then error // the answer to later requests; nil: the answer of the store
}

func (s *deaf) Control(ctx context.Context, c series.Control) series.ControlAnswer {
	if s.lose == 0 && s.then != nil {
		return series.ControlAnswer{Err: s.then}
	}
	a := s.Store.Control(ctx, c)
	if s.lose > 0 {
		s.lose--
		return series.ControlAnswer{Err: errors.New("the reply was lost")}
	}
	return a
}

// Without the state of the job nothing was done, but by an earlier request with the same operation, if there may be one.
func TestChangesOfAnUnreadState(t *testing.T) {
	silent := errors.New("no answer")
	for _, c := range []struct {
		named bool
		err   error
		want  ops.Outcome
	}{{false, silent, ops.ChangeFailed}, {true, silent, ops.ChangeDoubt}, {true, driver.ErrUnsupported, ops.ChangeFailed}} {
		r := ops.Request{Named: c.named, Relative: c.named, Control: series.Control{Key: "report", Action: series.ActionPause, Op: "op", Who: "ann", Reason: "by hand", Until: 7}}
		a := ops.NewController(memlock.New(memlock.Options{})).Make(t.Context(), &series.Series{Key: "report", Err: c.err}, r)
		if a.Outcome != c.want || !errors.Is(a.Err, c.err) || a.Request.Op != "op" || (a.Request.Until == 0) != c.named { // the first request has its own end
			t.Errorf("named %v, %v: %+v", c.named, c.err, a)
		}
	}
}

// A store with replicas makes a change on one of them too, however many are attached.
type replicated struct{ *memlock.Store }

func (replicated) Attached(context.Context, string) (int, error) { return 3, nil }

// An uncounted store does not say how many replicas it has, but after some requests for that.
type uncounted struct {
	replicated
	lose int
	err  error
}

func (s *uncounted) Attached(ctx context.Context, key string) (int, error) {
	if s.lose--; s.lose >= 0 {
		return 0, s.err
	}
	return s.replicated.Attached(ctx, key)
}

func (*uncounted) Refuses(err error) bool { return errors.Is(err, errDenied) }

// A change whose replicas cannot be counted is not made without them: one may be attached, and be promoted without it. A user that
// may not count them makes it on the master alone.
func TestReplicasThatAreNotCounted(t *testing.T) {
	silent := errors.New("no answer")
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			lose     int
			err      error
			want     ops.Outcome
			replicas int
		}{{1, silent, ops.ChangeMade, 1}, {5, silent, ops.ChangeDoubt, 0}, {5, errDenied, ops.ChangeMade, 0}} {
			s := &uncounted{replicated{memlock.New(memlock.Options{Now: time.Now})}, c.lose, c.err}
			s.Open(t.Context(), []series.OpenRequest{{Key: "report", Node: "n", Revision: "r", Spec: "@yearly", Zone: "UTC"}})
			old := s.ReadSeries(t.Context(), []string{"report"})[0]
			r := ops.Request{Control: series.Control{Key: "report", Action: series.ActionPause, Op: "op", Who: "ann", Reason: "by hand"}}
			a := ops.NewController(s).Make(t.Context(), &old, r)
			if now := s.ReadSeries(t.Context(), []string{"report"})[0]; a.Outcome != c.want || a.Request.Replicas != c.replicas || now.Paused != (c.want == ops.ChangeMade) {
				t.Errorf("%d answers are %v: %s on %d replicas, %v, paused: %v", c.lose, c.err, a.Outcome, a.Request.Replicas, a.Err, now.Paused)
			}
		}
	})
}

// A run has the overlap of its job. One that may wait does not skip, and stays beside another run if the job allows that.
func TestOverlapOfARun(t *testing.T) {
	for policies, want := range map[string][2]series.Overlap{
		"overlap:skip":  {series.OverlapSkip, series.OverlapQueue},
		"overlap:queue": {series.OverlapQueue, series.OverlapQueue},
		"overlap:allow": {series.OverlapAllow, series.OverlapAllow},
	} {
		s := replicated{memlock.New(memlock.Options{})}
		s.Open(t.Context(), []series.OpenRequest{{Key: "report", Node: "n", Revision: "r", Spec: "@yearly", Zone: "UTC", Policies: policies}})
		if _, err := s.Beat(t.Context(), series.Beat{Node: "n", TTL: time.Minute}); err != nil {
			t.Fatal(err)
		}
		old := s.ReadSeries(t.Context(), []string{"report"})[0]
		for i, queue := range []bool{false, true} {
			r := ops.Request{Queue: queue, Control: series.Control{Key: "report", Action: series.ActionRun, Op: fmt.Sprint(policies, queue), Who: "ann", Reason: "by hand", Until: old.Now + 60_000}}
			if a := ops.NewController(s).Make(t.Context(), &old, r); a.Request.Overlap != want[i] || a.Request.Replicas != 1 {
				t.Errorf("%s, queue %v: sent %+v", policies, queue, a.Request)
			}
		}
	}
}

// A store may refuse a user.
var errDenied = errors.New("denied")

func (s *deaf) Refuses(err error) bool { return errors.Is(err, errDenied) }

// A refusal answers a request only if no earlier copy of it may have been made.
func TestRefusedAfterALostReply(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, then := range []error{driver.ErrUnsupported, errDenied, driver.Refuse("key", "x", "y")} {
			for lost, want := range []ops.Outcome{ops.ChangeFailed, ops.ChangeDoubt, ops.ChangeDoubt} {
				s := &deaf{Store: memlock.New(memlock.Options{Now: time.Now}), lose: lost, then: then}
				s.Open(t.Context(), []series.OpenRequest{{Key: "report", Node: "n", Revision: "r", Spec: "@yearly", Zone: "UTC"}})
				old := s.ReadSeries(t.Context(), []string{"report"})[0]
				r := ops.Request{Control: series.Control{Key: "report", Action: series.ActionPause, Op: "op", Who: "ann", Reason: "by hand"}}
				if a := ops.NewController(s).Make(t.Context(), &old, r); a.Outcome != want || !errors.Is(a.Err, then) || (a.Text == "whether the pause of report was done is not known") != (want == ops.ChangeDoubt) {
					t.Errorf("%d lost: %s %v: %s", lost, a.Outcome, a.Err, a.Text)
				}
			}
		}
	})
}

// A request for a run whose first reply is lost is sent again, and its answer has the instant of the run. A skip that
// is repeated by its caller is the same change. From another caller the tick is to be skipped already.
func TestRequestsThatAreSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &deaf{Store: memlock.New(memlock.Options{Now: time.Now})}
		s.Open(t.Context(), []series.OpenRequest{{Key: "report", Node: "n", Revision: "r", Spec: "@yearly", Zone: "UTC"}})
		if _, err := s.Beat(t.Context(), series.Beat{Node: "n", TTL: time.Minute}); err != nil {
			t.Fatal(err)
		}
		c := ops.NewController(s)
		send := func(action series.Action, named bool, until int64) ops.Change {
			old := s.ReadSeries(t.Context(), []string{"report"})[0]
			return c.Make(t.Context(), &old, ops.Request{Named: named,
				Control: series.Control{Key: "report", Action: action, Op: string(action), Who: "ann", Reason: "by hand", Until: until, Seen: series.AnySeen}})
		}
		s.lose = 1
		a := send(series.ActionRun, false, time.Now().Add(time.Minute).UnixMilli())
		if is := s.ReadSeries(t.Context(), []string{"report"})[0]; a.Outcome != ops.ChangeMade || len(is.Runs) != 1 || a.Number != is.Runs[0].Number {
			t.Errorf("the answer is %+v, the series %+v", a, is)
		}
		for range 2 {
			if a := send(series.ActionSkip, true, 0); a.Outcome != ops.ChangeMade || a.Change != 2 || a.Series.Skip != time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli() {
				t.Errorf("%+v", a)
			}
		}
		old := s.ReadSeries(t.Context(), []string{"report"})[0]
		old.Mark = old.Skip // the next tick is decided already
		if a := c.Make(t.Context(), &old, ops.Request{Control: series.Control{Key: "report", Action: series.ActionSkip, Op: "later", Who: "ann", Reason: "by hand"}}); a.Request.Number != time.Date(2002, 1, 1, 0, 0, 0, 0, time.UTC).UnixMilli() {
			t.Errorf("%+v", a)
		}
		if a := send(series.ActionSkip, false, 0); a.Outcome != ops.ChangeStands || a.Text != "report@2001-01-01T00:00:00Z is to be skipped already" {
			t.Errorf("%+v", a)
		}
		now := s.ReadSeries(t.Context(), []string{"report"})[0]
		back := ops.Request{Back: true, Control: series.Control{Key: "report", Action: series.ActionSkip, Number: now.Skip, Op: "back", Who: "ann", Reason: "by hand", Seen: series.AnySeen}}
		if a := c.Make(t.Context(), &now, back); a.Outcome != ops.ChangeMade || a.Series.Skip != 0 {
			t.Errorf("the skip is taken back: %+v", a)
		}
	})
}

// Once a node has not been seen with its job for a while, it may have removed the job in a reload. The answer to a request
// for a run says so, and later the request is refused.
func TestRunOfAJobThatAReloadRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memlock.New(memlock.Options{Now: time.Now})
		s.Open(t.Context(), []series.OpenRequest{{Key: "report", Node: "n", Revision: "r", Spec: "@yearly", Zone: "UTC"}})
		c := ops.NewController(s)
		send := func(op string, dry bool) ops.Change {
			if _, err := s.Beat(t.Context(), series.Beat{Node: "n", TTL: time.Minute}); err != nil {
				t.Fatal(err)
			}
			old := s.ReadSeries(t.Context(), []string{"report"})[0]
			return c.Make(t.Context(), &old, ops.Request{Dry: dry, Queue: true,
				Control: series.Control{Key: "report", Action: series.ActionRun, Op: op, Who: "ann", Reason: "by hand", Until: old.Now + 60_000}})
		}
		const removed = "n had the job at 2000-01-01T00:00:00Z, and may have removed it in a reload since, which is known from 2000-01-01T00:15:00Z on: then nothing starts"
		time.Sleep(time.Minute - time.Millisecond)
		if a := send("a", false); a.Outcome != ops.ChangeMade || a.Text != "" {
			t.Errorf("%s: %s", a.Outcome, a.Text)
		}
		time.Sleep(time.Millisecond)
		if a := send("b", true); a.Outcome != ops.ChangeStands || a.Text != "report would start at once; "+removed {
			t.Errorf("%s: %s", a.Outcome, a.Text)
		}
		if a := send("c", false); a.Outcome != ops.ChangeMade || a.Text != removed {
			t.Errorf("%s: %s", a.Outcome, a.Text)
		}
		time.Sleep(series.SightedWithin)
		if a := send("d", false); a.Refusal != ops.RefusedNoNode {
			t.Errorf("%s %s: %s", a.Outcome, a.Refusal, a.Text)
		}
	})
}

// The operation of a run stands for the whole request, also once only the audit keeps it. Another choice is
// refused, another end is none, and a record without a choice is of a request without one.
func TestRunOfAUsedOperation(t *testing.T) {
	s := memlock.New(memlock.Options{})
	s.Open(t.Context(), []series.OpenRequest{{Key: "report", Node: "n", Revision: "r", Spec: "@yearly", Zone: "UTC"}})
	if _, err := s.Beat(t.Context(), series.Beat{Node: "n", TTL: time.Minute}); err != nil {
		t.Fatal(err)
	}
	c := ops.NewController(s)
	send := func(op string, queue, anyway bool, until int64) ops.Change {
		old := s.ReadSeries(t.Context(), []string{"report"})[0]
		r := ops.Request{Named: true, Queue: queue, Control: series.Control{Key: "report", Action: series.ActionRun, Op: op, Who: "ann", Reason: "by hand", Until: old.Now + until, Anyway: anyway}}
		return c.Make(t.Context(), &old, r)
	}
	choices := []struct {
		op            string
		queue, anyway bool
		scope         string
	}{
		{"plain", false, false, ""},
		{"queue", true, false, ": queue"},
		{"anyway", false, true, ": while paused"},
		{"both", true, true, ": queue, while paused"},
	}
	numbers := map[string]int64{}
	ended := func(number int64) {
		cancel := series.Control{Key: "report", Action: series.ActionCancel, Number: number, Op: fmt.Sprint("cancel ", number), Who: "ann", Reason: "enough", Seen: series.AnySeen}
		if a := s.Control(t.Context(), cancel); !a.Made {
			t.Fatalf("%+v", a)
		}
	}
	for _, x := range choices {
		a := send(x.op, x.queue, x.anyway, 60_000)
		if a.Outcome != ops.ChangeMade || a.Number == 0 {
			t.Fatalf("%s: %+v", x.op, a)
		}
		numbers[x.op] = a.Number
		ended(a.Number)
	}
	checked := func() {
		t.Helper()
		for _, x := range choices {
			for _, again := range choices {
				a := send(x.op, again.queue, again.anyway, 90_000)
				if same := again == x; same && (a.Outcome != ops.ChangeMade || a.Number != numbers[x.op]) ||
					!same && (a.Refusal != series.RefusedOp || a.Text != "the operation "+x.op+" was used for another change of report: nothing was done") {
					t.Errorf("%s, repeated as %s: %+v", x.op, again.op, a)
				}
			}
		}
	}
	checked()
	for i := range series.KeptOps { // the series keeps only later operations
		ended(send(fmt.Sprint("later ", i), false, false, 60_000).Number)
	}
	checked()
	records, err := s.Audit(t.Context(), "report", 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range choices {
		i := slices.IndexFunc(records, func(r series.AuditRecord) bool { return r.Op == x.op })
		if want := fmt.Sprintf("run %d%s", numbers[x.op], x.scope); i < 0 || records[i].After != want {
			t.Errorf("%s: the records are %+v, want one with %q", x.op, records, want)
		}
	}
}
