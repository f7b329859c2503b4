package ops_test

import (
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/ops"
)

// outage is a store with one job whose five last ticks were missed, and a live node that has it.
type outage struct {
	*memlock.Store
	c   *ops.Controller
	now time.Time
}

const outageTick = 10 * time.Second

func newOutage(t *testing.T) *outage {
	t.Helper()
	o := &outage{now: time.Unix(1_800_000_000, 0)}
	o.Store = memlock.New(memlock.Options{Now: func() time.Time { return o.now }})
	o.Open(t.Context(), []series.OpenRequest{{Key: "report", Node: "n", Revision: "r", Spec: "@every 10s", Zone: "UTC", Policies: "overlap:skip/misfire:once"}})
	o.now = o.now.Add(5 * outageTick)
	if _, err := o.Beat(t.Context(), series.Beat{Node: "n", TTL: time.Minute}); err != nil {
		t.Fatal(err)
	}
	due := series.Control{Key: "report", Action: series.ActionPause, Op: "before", Who: "ann", Reason: "the outage", Due: o.now.UnixMilli(), Revision: "r", Seen: series.AnySeen}
	if a := o.Control(t.Context(), due); !a.Made {
		t.Fatalf("%+v", a)
	}
	if a := o.Control(t.Context(), series.Control{Key: "report", Action: series.ActionResume, Op: "after", Who: "ann", Seen: series.AnySeen}); !a.Made {
		t.Fatalf("%+v", a)
	}
	o.c = ops.NewController(o)
	return o
}

// make requests a backfill of the outage; nil: it stops the one that goes on.
func (o *outage) make(t *testing.T, op string, b *ops.Backfill) ops.Change {
	t.Helper()
	old := o.ReadSeries(t.Context(), []string{"report"})[0]
	r := ops.Request{Named: true, Backfill: b, Control: series.Control{Key: "report", Action: series.ActionBackfill, Op: op, Who: "ann", Reason: "the outage"}}
	return o.c.Make(t.Context(), &old, r)
}

func (o *outage) interval(digest string) *ops.Backfill {
	return &ops.Backfill{From: o.now.Add(-time.Hour), To: o.now, Digest: digest}
}

// A backfill is made with the digest of its plan, once for each operation, and is stopped once.
func TestBackfillOnce(t *testing.T) {
	o := newOutage(t)
	plan := o.make(t, "one", o.interval(""))
	if plan.Outcome != ops.ChangePlanned || plan.Plan == nil || plan.Plan.Count != 5 || plan.Series.Change != 2 || !strings.HasPrefix(plan.Text, "5 ticks of report would be repeated") {
		t.Fatalf("%+v: %+v", plan, plan.Plan)
	}
	before := o.ReadSeries(t.Context(), []string{"report"})[0]
	dry := ops.Request{Dry: true, Backfill: o.interval(plan.Plan.Digest), Control: series.Control{Key: "report", Action: series.ActionBackfill, Op: "dry", Who: "ann", Reason: "the outage"}}
	if a := o.c.Make(t.Context(), &before, dry); a.Outcome != ops.ChangePlanned || o.ReadSeries(t.Context(), []string{"report"})[0].Change != before.Change {
		t.Errorf("with the digest, but dry: %+v", a)
	}
	for _, digest := range []string{plan.Plan.Digest, plan.Plan.Digest, "0123456789abcdef"} { // the operation is made, whatever a copy says
		if a := o.make(t, "one", o.interval(digest)); a.Outcome != ops.ChangeMade || a.Change != 3 {
			t.Errorf("%+v", a)
		}
	}
	is := o.ReadSeries(t.Context(), []string{"report"})[0]
	if is.Left != 4 || len(is.Runs) != 1 || is.Runs[0].For != plan.Plan.Ticks[0].Tick.UnixMilli() {
		t.Errorf("the series is %+v", is)
	}
	if a := o.make(t, "two", o.interval(plan.Plan.Digest)); a.Refusal != series.RefusedFull || !strings.Contains(a.Text, "has a backfill that is not over") {
		t.Errorf("%+v", a)
	}
	if a := o.make(t, "one", nil); a.Refusal != series.RefusedOp {
		t.Errorf("the operation of a backfill stops it: %+v", a)
	}
	for range 2 {
		if a := o.make(t, "stop", nil); a.Outcome != ops.ChangeMade || a.Change != 4 {
			t.Errorf("%+v", a)
		}
	}
	if a := o.make(t, "again", nil); a.Outcome != ops.ChangeStands || a.Text != "no backfill of report goes on" {
		t.Errorf("%+v", a)
	}
	records, err := o.Audit(t.Context(), "report", 0)
	if err != nil {
		t.Fatal(err)
	}
	var states []string
	for _, r := range ops.AuditViews(records) {
		states = append(states, ops.StateText(r.After))
	}
	if got := strings.Join(states, ", "); !strings.Contains(got, "backfill of 5: 2027-01-15T07:00:50Z to 2027-01-15T08:00:50Z, never-ran") || !strings.Contains(got, "stopped the backfill") {
		t.Errorf("the audit has %s", got)
	}
}

// The operation of a backfill stands for the whole request. Another request is refused, with the digest of the
// plan or without it, and the same one is answered with the first.
func TestBackfillOfAUsedOperation(t *testing.T) {
	o := newOutage(t)
	from, to := o.now.Add(-time.Hour), o.now
	send := func(edit func(r *ops.Request)) ops.Change {
		old := o.ReadSeries(t.Context(), []string{"report"})[0]
		r := ops.Request{Named: true, Backfill: &ops.Backfill{From: from, To: to},
			Control: series.Control{Key: "report", Action: series.ActionBackfill, Op: "one", Who: "ann", Reason: "the outage"}}
		edit(&r)
		return o.c.Make(t.Context(), &old, r)
	}
	plan := send(func(*ops.Request) {}).Plan
	seen := func(r *ops.Request) {
		r.Backfill.Digest, r.Backfill.Usual = plan.Digest, time.Duration(plan.RoomMs)*time.Millisecond
	}
	if a := send(seen); a.Outcome != ops.ChangeMade {
		t.Fatalf("%+v", a)
	}
	for name, same := range map[string]func(r *ops.Request){
		"as it was sent":          seen,
		"without the plan":        func(*ops.Request) {},
		"with the default":        func(r *ops.Request) { r.Backfill.Only = ops.NeverRan },
		"with another zone":       func(r *ops.Request) { r.Backfill.From = from.In(time.FixedZone("", 3600)) },
		"with another room shown": func(r *ops.Request) { r.Backfill.Usual = time.Minute },
	} {
		if a := send(same); a.Outcome != ops.ChangeMade || a.Change != 3 {
			t.Errorf("%s: %+v", name, a)
		}
	}
	for name, other := range map[string]func(r *ops.Request){
		"from":         func(r *ops.Request) { r.Backfill.From = from.Add(time.Second) },
		"to":           func(r *ops.Request) { r.Backfill.To = to.Add(time.Second) },
		"only":         func(r *ops.Request) { r.Backfill.Only = ops.NotOK },
		"room":         func(r *ops.Request) { r.Backfill.Room = time.Duration(plan.RoomMs) * time.Millisecond },
		"while paused": func(r *ops.Request) { r.Anyway = true },
		"who":          func(r *ops.Request) { r.Who = "bob" },
		"reason":       func(r *ops.Request) { r.Reason = "another outage" },
		"stop":         func(r *ops.Request) { r.Backfill = nil },
	} {
		for _, digest := range []string{"", plan.Digest} {
			a := send(func(r *ops.Request) {
				r.Backfill.Digest = digest
				other(r)
			})
			if a.Outcome != ops.ChangeRefused || a.Refusal != series.RefusedOp || a.Text != "the operation one was used for another change of report: nothing was done" {
				t.Errorf("%s: %+v", name, a)
			}
		}
	}
}

// A dry stop names the backfill that goes on, whether a run of it waits or is alive, and stops nothing. Behind
// the last run there is nothing left to stop.
func TestBackfillDryStop(t *testing.T) {
	o := newOutage(t)
	stop := func(outcome ops.Outcome, text string) {
		t.Helper()
		old := o.ReadSeries(t.Context(), []string{"report"})[0]
		r := ops.Request{Dry: true, Control: series.Control{Key: "report", Action: series.ActionBackfill, Op: "stop", Who: "ann", Reason: "enough"}}
		if a := o.c.Make(t.Context(), &old, r); a.Outcome != outcome || a.Text != text || a.Change != 0 {
			t.Errorf("%+v", a)
		}
		if is := o.ReadSeries(t.Context(), []string{"report"})[0]; is.Change != old.Change || is.Left != old.Left || len(is.Runs) != len(old.Runs) {
			t.Errorf("the dry stop has made %+v of %+v", is, old)
		}
	}
	starts := func() {
		t.Helper()
		waits := o.ReadSeries(t.Context(), []string{"report"})[0].Runs[0]
		q := series.Claim{Key: "report", Owner: "n/0123456789abcdef0123", Number: waits.Number, From: waits.Fence, TTL: time.Minute,
			Deadline: time.Hour, Attempts: 3, Latest: o.now.Add(time.Minute).UnixMilli()}
		if a := o.Claim(t.Context(), []series.Claim{q})[0]; a.Kind != series.KindGranted {
			t.Fatalf("%+v", a)
		}
	}
	stop(ops.ChangeStands, "no backfill of report goes on")
	b := o.interval(o.make(t, "plan", o.interval("")).Plan.Digest)
	if a := o.make(t, "one", b); a.Outcome != ops.ChangeMade {
		t.Fatalf("%+v", a)
	}
	stop(ops.ChangePlanned, "the backfill of report would be stopped, 4 ticks left")
	starts()
	stop(ops.ChangePlanned, "the backfill of report would be stopped, 4 ticks left")
	if a := o.make(t, "stop", nil); a.Outcome != ops.ChangeMade {
		t.Fatalf("%+v", a)
	}
	stop(ops.ChangeStands, "no backfill of report goes on")
}

// A request for a backfill whose plan has changed is refused, and its answer has the plan of now. So is
// one of a paused job, of one that no live node has, and of one that was never opened. A plan without ticks
// is no request.
func TestBackfillRefused(t *testing.T) {
	o := newOutage(t)
	if a := o.make(t, "old", o.interval("0123456789abcdef")); a.Refusal != ops.RefusedPlan || a.Plan == nil || a.Plan.Count != 5 ||
		!strings.HasPrefix(a.Text, "report: the plan has changed since it was shown, 5 ticks of report would be repeated") {
		t.Errorf("%+v", a)
	}
	empty := o.interval("")
	empty.To = empty.From
	if a := o.make(t, "empty", empty); a.Outcome != ops.ChangeStands || !strings.HasPrefix(a.Text, "no tick of report from ") {
		t.Errorf("%+v", a)
	} else {
		empty.Digest = a.Plan.Digest
	}
	if a := o.make(t, "empty", empty); a.Outcome != ops.ChangeStands || a.Change != 0 {
		t.Errorf("%+v", a)
	}
	empty.Digest = "0123456789abcdef" // of a plan that had ticks
	if a := o.make(t, "emptied", empty); a.Refusal != ops.RefusedPlan {
		t.Errorf("%+v", a)
	}
	old := o.ReadSeries(t.Context(), []string{"none"})[0]
	none := ops.Request{Backfill: o.interval(""), Control: series.Control{Key: "none", Action: series.ActionBackfill, Op: "none", Who: "ann", Reason: "the outage"}}
	if a := o.c.Make(t.Context(), &old, none); a.Refusal != series.RefusedNotOpen {
		t.Errorf("%+v", a)
	}
	none.Backfill = nil
	if a := o.c.Make(t.Context(), &old, none); a.Refusal != series.RefusedNotOpen {
		t.Errorf("the stop of a job that was never opened: %+v", a)
	}
	before := o.ReadSeries(t.Context(), []string{"report"})[0]
	pause := series.Control{Key: "report", Action: series.ActionPause, Op: "night", Who: "bob", Reason: "for the night", Seen: series.AnySeen}
	if a := o.Control(t.Context(), pause); !a.Made {
		t.Fatalf("%+v", a)
	}
	if a := o.make(t, "paused", o.interval("")); a.Refusal != series.RefusedPaused || !strings.Contains(a.Text, "for the night") || a.Plan == nil {
		t.Errorf("%+v", a)
	}
	stale := ops.Request{Backfill: o.interval(""), Control: series.Control{Key: "report", Action: series.ActionBackfill, Op: "stale", Who: "ann", Reason: "the outage"}}
	if a := o.c.Make(t.Context(), &before, stale); a.Refusal != series.RefusedPaused {
		t.Errorf("judged by the state of before: %+v", a)
	}
	if err := o.Leave(t.Context(), "n"); err != nil {
		t.Fatal(err)
	}
	if a := o.make(t, "alone", o.interval("")); a.Refusal != ops.RefusedNoNode {
		t.Errorf("%+v", a)
	}
	if is := o.ReadSeries(t.Context(), []string{"report"})[0]; is.Left != 0 || len(is.Runs) != 0 {
		t.Errorf("a refused request has made runs: %+v", is)
	}
}

// An interval with more ticks than a backfill may have is refused with their number, and one with more than a plan
// judges is too, whether a node has the job or not.
func TestBackfillOfTooManyTicks(t *testing.T) {
	after := func(ticks time.Duration) (*outage, *ops.Backfill) {
		o, long := newOutage(t), ticks*outageTick
		o.now = o.now.Add(long).Add(time.Millisecond)
		if _, err := o.Beat(t.Context(), series.Beat{Node: "n", TTL: time.Minute}); err != nil {
			t.Fatal(err)
		}
		o.Open(t.Context(), []series.OpenRequest{{Key: "report", Node: "n", Revision: "r", Spec: "@every 10s", Zone: "UTC"}})
		due := series.Control{Key: "report", Action: series.ActionPause, Op: "long", Who: "ann", Reason: "the outage", Due: o.now.Truncate(outageTick).UnixMilli(), Revision: "r", Seen: series.AnySeen}
		if a := o.Control(t.Context(), due); !a.Made {
			t.Fatalf("%+v", a)
		}
		return o, &ops.Backfill{From: o.now.Add(-long), To: o.now}
	}
	o, b := after(series.MaxBackfill + 1)
	if a := o.make(t, "many", b); a.Refusal != ops.RefusedTicks || !strings.Contains(a.Text, "has 10001 such ticks in the interval, and a backfill has at most 10000") {
		t.Errorf("%+v", a)
	}
	b.From = b.From.Add(outageTick)
	if a := o.make(t, "most", b); a.Refusal == ops.RefusedTicks || a.Plan.Count != series.MaxBackfill {
		t.Errorf("%s: %s", a.Refusal, a.Text)
	}
	o, b = after(100_001)
	if err := o.Leave(t.Context(), "n"); err != nil {
		t.Fatal(err)
	}
	if a := o.make(t, "all", b); a.Refusal != ops.RefusedTicks || !strings.Contains(a.Text, "has more than 100000 ticks in the interval") {
		t.Errorf("%s: %s", a.Refusal, a.Text)
	}
}
