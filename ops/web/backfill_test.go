package web

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/ops"
	"github.com/cronce/cronce/ops/access"
	"github.com/cronce/cronce/scheduler/verify"
)

// pauseSome lets the job have ticks that were paused, and returns an interval that has them.
func (pl *plane) pauseSome(t *testing.T) (from, to string) {
	t.Helper()
	control := func(action series.Action) {
		c := series.Control{Key: "report", Action: action, Op: string(action), Who: "bob", Reason: "for a moment", Seen: series.AnySeen}
		if a := pl.store.Control(t.Context(), c); !a.Made {
			t.Fatalf("%+v", a)
		}
	}
	control(series.ActionPause)
	began := pl.store.ReadSeries(t.Context(), []string{"report"})[0].Mark
	time.Sleep(time.Until(time.UnixMilli(began + 2500))) // at least two ticks are due then
	control(series.ActionResume)
	return time.UnixMilli(began).Add(-time.Hour).UTC().Format("2006-01-02T15:04:05"), time.UnixMilli(began).Add(time.Hour).UTC().Format("2006-01-02T15:04:05")
}

// An operator asks for the plan of a backfill with the form of the job's page, and makes it with the button
// of the plan, once. The page then shows how much is left, and stops it. A viewer has no form.
func TestBackfillByForm(t *testing.T) {
	pl := newPlane(t, "")
	from, to := pl.pauseSome(t)
	for role, token := range pl.tokens {
		if has := strings.Contains(pl.do("GET", "/jobs/report", token).Body.String(), `action="/jobs/report/backfills"`); has != (role >= access.Operator) {
			t.Errorf("as %s, form %v", role, has)
		}
	}
	operator := pl.tokens[access.Operator]
	form := fields(t, pl.do("GET", "/jobs/report", operator).Body.String(), "/jobs/report/backfills")
	form.Set("reason", hostileReason)
	form.Set("only", "never-ran")
	form.Set("from", "soon")
	wants(t, pl.post("/jobs/report/backfills", form), 400, "from is &#34;soon&#34;, must be RFC 3339")
	form.Set("from", from)
	form.Set("to", from)
	wants(t, pl.post("/jobs/report/backfills", form), 200, "no tick of report from ", "Show the plan")
	form.Set("to", to)
	form.Set("room", "250ms")
	shown := pl.post("/jobs/report/backfills", form)
	wants(t, shown, 200, "of report would be repeated, one after another", `paused.</p>`, `">20`, `</a></td><td data-label="Verdict">paused</td>`, "No run starts within 250 ms before", "&lt;script&gt;alert(1)")
	if pl.changes(t, "report") != 2 || strings.Contains(shown.Body.String(), "<script>alert") {
		t.Errorf("%d changes: %s", pl.changes(t, "report"), shown.Body)
	}
	send := fields(t, shown.Body.String(), "/jobs/report/backfills")
	digest := send.Get("digest")
	send.Set("digest", "0123456789abcdef")
	changed := pl.post("/jobs/report/backfills", send)
	wants(t, changed, http.StatusPreconditionFailed, "the plan has changed since it was shown", "Repeat ")
	if again := fields(t, changed.Body.String(), "/jobs/report/backfills"); again.Get("digest") != digest {
		t.Errorf("the digest is %s, then %s", digest, again.Get("digest"))
	}
	send.Set("digest", digest)
	for range 2 {
		if w := pl.post("/jobs/report/backfills", send); w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/jobs/report?change=3" || pl.changes(t, "report") != 3 {
			t.Fatalf("%d to %q, %d changes: %s", w.Code, w.Header().Get("Location"), pl.changes(t, "report"), w.Body)
		}
	}
	page := pl.do("GET", "/jobs/report?change=3", operator)
	wants(t, page, 200, "backfill: ", " left, and one for the tick of ", "Stop the backfill")
	wants(t, pl.do("GET", "/api/v1/jobs/report", operator), 200, `"backfill":{"left":`)
	stop := fields(t, page.Body.String(), "/jobs/report/backfills/stop")
	stop.Set("reason", "enough")
	for range 2 {
		if w := pl.post("/jobs/report/backfills/stop", stop); w.Code != http.StatusSeeOther || pl.changes(t, "report") != 4 {
			t.Fatalf("%d, %d changes: %s", w.Code, pl.changes(t, "report"), w.Body)
		}
	}
	if body := pl.do("GET", "/jobs/report?change=4", operator).Body.String(); strings.Contains(body, "backfill: ") || strings.Contains(body, "Stop the backfill") {
		t.Errorf("the backfill is still shown: %s", body)
	}
	wants(t, pl.do("GET", "/audit", pl.tokens[access.Viewer]), 200, "backfill of ", "stopped the backfill")
}

// The page of a plan has each tick of a short one with its verdict, and the first and the last ticks of a
// long one with the number of the others.
func TestPlanPage(t *testing.T) {
	pl := newPlane(t, "")
	began := time.Date(2026, 11, 23, 2, 0, 0, 0, time.UTC)
	tick := func(i int) time.Time { return began.Add(time.Duration(i) * time.Minute) }
	for _, c := range []struct {
		n, rows int
		more    string
	}{{1, 1, ""}, {25, 25, ""}, {26, 25, "… 1 more"}, {1003, 25, "… 978 more"}} {
		plan := &ops.Plan{Count: c.n, RoomMs: 5000}
		for i := range c.n {
			verdict := verify.TickMissed
			if i == c.n-1 {
				verdict = verify.TickLost
			}
			plan.Ticks = append(plan.Ticks, ops.PlannedTick{Tick: tick(i), Verdict: verdict})
		}
		b := changeBody{Job: "report", Title: "Backfill", Fine: true, Form: backfillForm("report", false)}
		b.Form.Plan = plan
		w := httptest.NewRecorder()
		pl.Handler.showChange(w, httptest.NewRequest("POST", "/jobs/report/backfills", http.NoBody), pl.Handler.o.Projection.Snapshot(), 200, b)
		last := `<a class="tick" href="` + tickPath("report", tick(c.n-1)) + `">` + ops.TickText(tick(c.n-1)) + `</a></td><td data-label="Verdict">lost</td>`
		wants(t, w, 200, last, "1 lost.</p>", "No run starts within 5.0 s before", c.more)
		body := w.Body.String()
		if got := strings.Count(body, `<td data-label="Verdict">`); got != c.rows || c.more == "" && strings.Contains(body, "more</td>") {
			t.Errorf("of %d ticks the page has %d: %s", c.n, got, body)
		}
		if c.n > 1 && !strings.Contains(body, ops.TickText(began)+`</a></td><td data-label="Verdict">missed</td>`) {
			t.Errorf("the page lacks the first tick: %s", body)
		}
	}
}

// A program asks for a plan, and makes the backfill with its digest; another digest is refused with the plan
// of now. Fields that belong to other requests are refused.
func TestBackfillByProgram(t *testing.T) {
	pl := newPlane(t, "")
	from, to := pl.pauseSome(t)
	by := pl.tokens[access.Operator]
	api := func(path, more string, headers ...string) *httptest.ResponseRecorder {
		return pl.send(pl.Handler, by, "/api/v1/jobs/report/"+path, `{"reason":"the outage"`+more+`}`, append(headers, "Content-Type", "application/json")...)
	}
	interval := `,"from":"` + from + `Z","to":"` + to + `Z","room":"250ms"`
	shown := api("backfills", interval+`,"dry_run":true`)
	wants(t, shown, 200, `"outcome":"planned"`, `"verdict":"paused"`, `"room_ms":250`)
	var planned struct{ Plan struct{ Digest string } }
	if err := json.Unmarshal(shown.Body.Bytes(), &planned); err != nil || planned.Plan.Digest == "" {
		t.Fatalf("%v: %s", err, shown.Body)
	}
	digest := `,"digest":"` + planned.Plan.Digest + `"`
	by = pl.tokens[access.Admin] // a caller has ten changes at once
	wants(t, api("backfills", interval), 400, "digest is missing")
	wants(t, api("backfills", interval+`,"digest":"0123456789abcdef"`), http.StatusPreconditionFailed, "problem:plan-changed", `"digest":"`+planned.Plan.Digest+`"`)
	wants(t, api("backfills", interval+digest+`,"only":"good"`), 400, "only is ", "must be one of")
	wants(t, api("backfills", interval+digest+`,"room":"fast"`), 400, "room is ")
	wants(t, api("backfills", interval+digest+`,"until":"+1h"`), 400, "until belongs to a pause or a run")
	wants(t, api("backfills", interval+digest+`,"queue":true`), 400, "queue belongs to a run")
	wants(t, api("backfills/stop", interval), 400, "belong to a backfill")
	wants(t, api("backfills/stop", `,"dry_run":true`), 400, "while_paused and dry_run belong to a run or a backfill")
	by = pl.tokens[access.Operator]
	for range 2 {
		wants(t, api("backfills", interval+digest, keyHeader, "key-1"), 200, `"outcome":"made"`)
	}
	wants(t, api("backfills", interval+digest+`,"only":"all"`, keyHeader, "key-1"), 422, "key-reused")
	wants(t, api("backfills", interval+digest), http.StatusConflict, "problem:backfill-on")
	wants(t, api("backfills/stop", "", keyHeader, "key-1"), 422, "key-reused")
	wants(t, api("backfills/stop", ""), 200, `"outcome":"made"`)
	wants(t, api("backfills/stop", ""), 200, `"outcome":"stands"`, "no backfill of report goes on")
	if n := pl.changes(t, "report"); n != 4 {
		t.Errorf("%d changes were made", n)
	}
}
