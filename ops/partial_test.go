package ops_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/ops"
	"github.com/cronce/cronce/scheduler/policy"
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

// A change that depends on data that cannot be read is not made: a pause would hide the ticks of an outage without a journal, and
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

// A resume of a retired job that no live node has is refused: all ticks would be overdue. A pause ends without a node too, and the answer says
// that none has the job.
func TestResumeWithoutANode(t *testing.T) {
	const none = "no live node has report"
	for name, c := range map[string]struct {
		node, policies string
		action         series.Action
		silent         string
		outcome        ops.Outcome
		text           string
	}{
		"retired":                          {"other", "", series.ActionRetire, "", ops.ChangeRefused, none + ", which is retired: nothing was done, a node that opens it ends the retirement"},
		"retired, a node has it":           {"n", "", series.ActionRetire, "", ops.ChangeMade, ""},
		"retired, the nodes are not known": {"other", "", series.ActionRetire, "nodes", ops.ChangeFailed, ""},
		"retired, crontab commands claim":  {"other", policy.Record{Crontab: true}.String(), series.ActionRetire, "", ops.ChangeMade, ""},
		"paused":                           {"other", "", series.ActionPause, "", ops.ChangeMade, none + ": its ticks are overdue until one opens it, see cronce status nodes"},
		"paused, a node has it":            {"n", "", series.ActionPause, "", ops.ChangeMade, ""},
		"paused, the nodes are not known":  {"other", "", series.ActionPause, "nodes", ops.ChangeMade, ""},
		"paused, the journal is not known": {"other", "", series.ActionPause, "journal", ops.ChangeMade, ""},
	} {
		s := &partial{Store: memlock.New(memlock.Options{})}
		s.Open(t.Context(), []series.OpenRequest{{Key: "report", Node: "n", Revision: "r", Spec: "@yearly", Zone: "UTC", Policies: c.policies}})
		if _, err := s.Beat(t.Context(), series.Beat{Node: c.node, TTL: time.Minute}); err != nil {
			t.Fatal(err)
		}
		if a := s.Control(t.Context(), series.Control{Key: "report", Action: c.action, Op: "before", Who: "ann", Reason: "by hand", Seen: series.AnySeen}); !a.Made {
			t.Fatalf("%s: %+v", name, a)
		}
		s.silent = c.silent
		old := s.Store.ReadSeries(t.Context(), []string{"report"})[0]
		a := ops.NewController(s).Make(t.Context(), &old, ops.Request{Control: series.Control{Key: "report", Action: series.ActionResume, Op: "resume", Who: "ann", Seen: series.AnySeen}})
		if a.Outcome != c.outcome || a.Text != c.text || (a.Refusal == ops.RefusedNoNode) != (c.outcome == ops.ChangeRefused) {
			t.Errorf("%s: %s %s: %s, %v", name, a.Outcome, a.Refusal, a.Text, a.Err)
		}
		if is := s.Store.ReadSeries(t.Context(), []string{"report"})[0]; is.Paused == (c.outcome == ops.ChangeMade) {
			t.Errorf("%s: the series is %+v", name, is)
		}
	}
}

// A node that opened a job last and died does not hide another one that has decided a tick of the job since: a run that is requested
// starts there. A node that only lives does not have the job.
func TestRunOnAnotherNode(t *testing.T) {
	now := time.Date(2027, 1, 15, 8, 0, 0, 0, time.UTC)
	s := memlock.New(memlock.Options{Now: func() time.Time { return now }})
	s.Open(t.Context(), []series.OpenRequest{{Key: "report", Node: "dead", Revision: "r", Spec: "@every 1s", Zone: "UTC"}})
	if _, err := s.Beat(t.Context(), series.Beat{Node: "live", TTL: time.Minute}); err != nil {
		t.Fatal(err)
	}
	send := func(op string) ops.Change {
		old := s.ReadSeries(t.Context(), []string{"report"})[0]
		return ops.NewController(s).Make(t.Context(), &old, ops.Request{Control: series.Control{Key: "report", Action: series.ActionRun, Op: op, Who: "ann", Reason: "by hand", Until: old.Now + 60_000}})
	}
	old := s.ReadSeries(t.Context(), []string{"report"})[0]
	dry := ops.Request{Dry: true, Control: series.Control{Key: "report", Action: series.ActionRun, Op: "dry", Who: "ann", Reason: "by hand", Until: old.Now + 60_000}}
	if a := ops.NewController(struct{ ops.ControlStore }{s}).Make(t.Context(), &old, dry); a.Outcome != ops.ChangeStands {
		t.Errorf("a store that has no list of nodes: %+v", a)
	}
	ended := []series.Run{{Number: 1000, State: series.RunDone, Owner: "dead/0123456789abcdef", Fence: 1, Attempt: 1}, {Number: 2000, State: series.RunGivenBack, Owner: "dead/0123456789abcdee", Fence: 2, Attempt: 1}}
	old.Runs = slices.Clone(ended)
	if a := ops.NewController(struct{ ops.ControlStore }{s}).Make(t.Context(), &old, dry); a.Outcome != ops.ChangeStands || !slices.Equal(a.Series.Runs, ended) {
		t.Errorf("a dry run leaves the runs %+v: %s", a.Series.Runs, a.Text)
	}
	if a := send("before"); a.Refusal != ops.RefusedNoNode || a.Text != "no live node has report: nothing was done, see cronce status nodes" {
		t.Errorf("%+v", a)
	}
	tick := now.UnixMilli() + 1000
	q := series.Claim{Key: "report", Owner: "live/0123456789abcdef0123", Number: tick, After: now.UnixMilli(), TTL: time.Minute, Deadline: time.Hour, Attempts: 1, Latest: tick + 60_000, Revision: "r", Overlap: series.OverlapAllow}
	now = now.Add(time.Second)
	if a := s.Claim(t.Context(), []series.Claim{q})[0]; a.Kind != series.KindGranted {
		t.Fatalf("%+v", a)
	}
	if a := send("after"); a.Refusal != series.RefusedAlive {
		t.Errorf("%+v", a)
	}
}

// A skip names a tick of the spec in force, or none for the next one. A skip of a job whose spec has no further tick, or that no node
// has opened, and one that is taken back where none is, does nothing.
func TestSkip(t *testing.T) {
	const neverOpened = "report was never opened by a node, or the store lost its state: there is nothing to skip until a node that has it opens it"
	now := time.Date(2027, 1, 15, 8, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		spec    string        // empty: the job was never opened
		tick    time.Duration // after now; 0: the next one
		back    bool
		outcome ops.Outcome
		text    string
		skips   time.Duration // after now; 0: none
	}{
		"the next one":         {"@hourly", 0, false, ops.ChangeMade, "", time.Hour},
		"a later one":          {"@hourly", 3 * time.Hour, false, ops.ChangeMade, "", 3 * time.Hour},
		"no tick":              {"@hourly", 90 * time.Minute, false, ops.ChangeRefused, "report@2027-01-15T09:30:00Z is no tick of the spec in force: nothing was done", 0},
		"no further one":       {"0 0 12 25 11 ? 2026", 0, false, ops.ChangeRefused, "report has no further tick, or no spec on record: nothing was done", 0},
		"a spec not known":     {"@fortnightly", time.Hour, false, ops.ChangeRefused, "report@2027-01-15T09:00:00Z is no tick of the spec in force: nothing was done", 0},
		"nothing to take back": {"@hourly", 0, true, ops.ChangeStands, "no tick of report is to be skipped", 0},
		"never opened":         {"", 0, false, ops.ChangeRefused, neverOpened, 0},
		"back, never opened":   {"", 0, true, ops.ChangeRefused, neverOpened, 0},
	} {
		s := memlock.New(memlock.Options{Now: func() time.Time { return now }})
		if c.spec != "" {
			s.Open(t.Context(), []series.OpenRequest{{Key: "report", Node: "n", Revision: "r", Spec: c.spec, Zone: "UTC"}})
		}
		old := s.ReadSeries(t.Context(), []string{"report"})[0]
		r := ops.Request{Back: c.back, Control: series.Control{Key: "report", Action: series.ActionSkip, Op: "op", Who: "ann", Reason: "by hand", Seen: series.AnySeen}}
		if c.tick != 0 {
			r.Number = now.Add(c.tick).UnixMilli()
		}
		a := ops.NewController(s).Make(t.Context(), &old, r)
		skips := int64(0)
		if c.skips != 0 {
			skips = now.Add(c.skips).UnixMilli()
		}
		if a.Outcome != c.outcome || a.Text != c.text || a.Series.Key != "report" || s.ReadSeries(t.Context(), []string{"report"})[0].Skip != skips {
			t.Errorf("%s: %+v", name, a)
		}
	}
}

// A pause in an outage names the latest tick that no node has decided, with its spec, so that the ticks before the pause are missed.
func TestPauseInAnOutage(t *testing.T) {
	now := time.Date(2027, 1, 15, 8, 0, 0, 0, time.UTC)
	s := memlock.New(memlock.Options{Now: func() time.Time { return now }})
	s.Open(t.Context(), []series.OpenRequest{{Key: "report", Node: "n", Revision: "r", Spec: "@every 10s", Zone: "UTC"}})
	for _, c := range []struct {
		later, due time.Duration
	}{{5 * time.Second, 0}, {25 * time.Second, 20 * time.Second}} {
		now = time.Date(2027, 1, 15, 8, 0, 0, 0, time.UTC).Add(c.later)
		old := s.ReadSeries(t.Context(), []string{"report"})[0]
		a := ops.NewController(s).Make(t.Context(), &old, ops.Request{Replace: true, Control: series.Control{Key: "report", Action: series.ActionPause, Op: c.later.String(), Who: "ann", Reason: "by hand", Seen: series.AnySeen}})
		if want := now.Add(c.due - c.later).UnixMilli(); a.Outcome != ops.ChangeMade || c.due == 0 && a.Request.Due != 0 || c.due != 0 && (a.Request.Due != want || a.Request.Revision != "r") {
			t.Errorf("after %v: %+v", c.later, a)
		}
		if r := s.Control(t.Context(), series.Control{Key: "report", Action: series.ActionResume, Op: "resume " + c.later.String(), Who: "ann", Seen: series.AnySeen}); !r.Made {
			t.Fatalf("%+v", r)
		}
	}
}

// A skip that was decided on an earlier state is refused once another change has come. One that is requested again with its operation is
// the same skip, also once only the audit keeps it.
func TestSkipAfterOtherChanges(t *testing.T) {
	s := memlock.New(memlock.Options{})
	s.Open(t.Context(), []series.OpenRequest{{Key: "report", Node: "n", Revision: "r", Spec: "@yearly", Zone: "UTC"}})
	read := func() series.Series { return s.ReadSeries(t.Context(), []string{"report"})[0] }
	send := func(old series.Series, op string) ops.Change {
		return ops.NewController(s).Make(t.Context(), &old, ops.Request{Named: true, Control: series.Control{Key: "report", Action: series.ActionSkip, Op: op, Who: "ann", Reason: "by hand", Seen: series.AnySeen}})
	}
	before := read()
	first := send(before, "op")
	if first.Outcome != ops.ChangeMade {
		t.Fatalf("%+v", first)
	}
	if a := send(before, "other"); a.Refusal != series.RefusedChanged {
		t.Errorf("%+v", a)
	}
	for i := range series.KeptOps {
		c := series.Control{Key: "report", Action: series.ActionSkip, Op: fmt.Sprint(i), Who: "ann", Reason: "by hand", Seen: series.AnySeen}
		if a := s.Control(t.Context(), c); !a.Made {
			t.Fatalf("%+v", a)
		}
	}
	last := read()
	if a := send(last, "op"); a.Outcome != ops.ChangeDated || a.Change != first.Change || read().Change != last.Change {
		t.Errorf("%+v", a)
	}
}

// A pause that its caller has decided on this state of the job replaces another one.
func TestDecidedPause(t *testing.T) {
	s := memlock.New(memlock.Options{})
	s.Open(t.Context(), []series.OpenRequest{{Key: "report", Node: "n", Revision: "r", Spec: "@yearly", Zone: "UTC"}})
	if a := s.Control(t.Context(), series.Control{Key: "report", Action: series.ActionPause, Op: "first", Who: "bob", Reason: "night", Seen: series.AnySeen}); !a.Made {
		t.Fatalf("%+v", a)
	}
	old := s.ReadSeries(t.Context(), []string{"report"})[0]
	for _, decided := range []bool{false, true} {
		r := ops.Request{Named: true, Decided: decided, Control: series.Control{Key: "report", Action: series.ActionPause, Op: "second", Who: "ann", Reason: "by hand", Seen: old.Change}}
		if a := ops.NewController(s).Make(t.Context(), &old, r); (a.Outcome == ops.ChangeMade) != decided || (a.Refusal == ops.RefusedPaused) == decided {
			t.Errorf("decided %v: %+v", decided, a)
		}
	}
}
