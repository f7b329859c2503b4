package web

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/ops/access"
)

// An operator requests a run of a job with the form of its page, a program with the API: once, however
// often the request is sent. A viewer has no form.
func TestRunByForm(t *testing.T) {
	pl := newPlane(t, "")
	for role, token := range pl.tokens {
		if has := strings.Contains(pl.do("GET", "/jobs/report", token).Body.String(), `action="/jobs/report/runs"`); has != (role >= access.Operator) {
			t.Errorf("as %s, form %v", role, has)
		}
	}
	operator := pl.tokens[access.Operator]
	form := fields(t, pl.do("GET", "/jobs/report", operator).Body.String(), "/jobs/report/runs")
	form.Set("until", "+10m")
	wants(t, pl.post("/jobs/report/runs", form), 400, "reason is")
	form.Set("reason", hostileReason)
	at := ""
	for range 2 {
		w := pl.post("/jobs/report/runs", form)
		if w.Code != http.StatusSeeOther || at != "" && w.Header().Get("Location") != at || pl.changes(t, "report") != 1 {
			t.Fatalf("%d to %q, %d changes: %s", w.Code, w.Header().Get("Location"), pl.changes(t, "report"), w.Body)
		}
		at = w.Header().Get("Location")
	}
	is := pl.store.ReadSeries(t.Context(), []string{"report"})[0]
	if len(is.Runs) != 1 || !is.Runs[0].Manual() || at != tickPath("report", time.UnixMilli(is.Runs[0].Number)) {
		t.Fatalf("the runs are %+v, and the answer leads to %s", is.Runs, at)
	}
	wants(t, pl.do("GET", at, operator), 200, at+"/cancel")
	wants(t, pl.do("GET", "/audit", pl.tokens[access.Viewer]), 200, "requested the manual run of 2")

	api := func(body string, headers ...string) *httptest.ResponseRecorder {
		return pl.send(pl.Handler, operator, "/api/v1/jobs/report/runs", body, append(headers, "Content-Type", "application/json")...)
	}
	wants(t, api(`{"reason":"by hand"}`), http.StatusConflict, "problem:run-alive")
	wants(t, api(`{"reason":"by hand","queue":true,"dry_run":true}`), 200, `"outcome":"stands"`, "report would start at once")
	wants(t, api(`{"reason":"by hand","queue":true,"until":"+2h"}`), 400, "must be at most 1h0m0s from now")
	wants(t, api(`{"reason":"by hand","back":true}`), 400, "back belongs to a skip")
	for range 2 {
		wants(t, api(`{"reason":"by hand","queue":true}`, keyHeader, "key-1"), 200, `"outcome":"made"`, `"tick":"2`)
	}
	wants(t, api(`{"reason":"another","queue":true}`, keyHeader, "key-1"), 422, "key-reused")
	if n := pl.changes(t, "report"); n != 2 {
		t.Errorf("%d changes were made", n)
	}
}

// A request for a run of a job that no live node has is refused, and so is one of a paused job, unless it
// says so.
func TestRunRefused(t *testing.T) {
	pl := newPlane(t, "")
	operator := pl.tokens[access.Operator]
	api := func(path, body string) *httptest.ResponseRecorder {
		return pl.send(pl.Handler, operator, "/api/v1/jobs/report/"+path, body, "Content-Type", "application/json")
	}
	wants(t, api("pause", `{"reason":"for the night"}`), 200)
	wants(t, api("runs", `{"reason":"by hand"}`), http.StatusConflict, "problem:job-paused", "for the night")
	wants(t, api("runs", `{"reason":"by hand","while_paused":true}`), 200, `"outcome":"made"`)
	wants(t, api("pause", `{"reason":"for the night","queue":true}`), 400, "queue belongs to a run")
	if err := pl.store.Leave(t.Context(), "web-1"); err != nil {
		t.Fatal(err)
	}
	wants(t, api("runs", `{"reason":"by hand","while_paused":true,"queue":true}`), http.StatusConflict, "problem:no-handler", "no live node has report")
}

// An operator lets a job skip a tick with the form of the tick's page, and takes that back there.
func TestSkipByForm(t *testing.T) {
	pl := newPlane(t, "")
	operator := pl.tokens[access.Operator]
	target := tickPath("report", time.Now().Add(time.Hour).Truncate(time.Second))
	form := fields(t, pl.do("GET", target, operator).Body.String(), target+"/skip")
	form.Set("reason", "a holiday")
	for range 2 {
		if w := pl.post(target+"/skip", form); w.Code != http.StatusSeeOther || w.Header().Get("Location") != target || pl.changes(t, "report") != 1 {
			t.Fatalf("%d to %q, %d changes: %s", w.Code, w.Header().Get("Location"), pl.changes(t, "report"), w.Body)
		}
	}
	wants(t, pl.do("GET", "/audit", operator), 200, "skips the tick of 2")
	back := fields(t, pl.do("GET", target, operator).Body.String(), target+"/skip")
	if back.Get("back") == "" {
		t.Fatal("the page of a tick that is to be skipped has no form to let it run")
	}
	back.Set("reason", "it is needed")
	if w := pl.post(target+"/skip", back); w.Code != http.StatusSeeOther {
		t.Fatalf("%d: %s", w.Code, w.Body)
	}
	if is := pl.store.ReadSeries(t.Context(), []string{"report"})[0]; is.Skip != 0 {
		t.Errorf("the tick %d is still to be skipped", is.Skip)
	}
	past := tickPath("report", time.Now().Add(-time.Hour).Truncate(time.Second))
	form.Set("op", "late")
	form.Set("seen", "2")
	wants(t, pl.post(past+"/skip", form), http.StatusConflict, "Not done", "is decided")
	odd := pl.send(pl.Handler, operator, "/api/v1/jobs/report/ticks/2050-01-01T00:00:00.5Z/skip", `{"reason":"a holiday"}`, "Content-Type", "application/json")
	wants(t, odd, http.StatusConflict, "problem:not-a-tick", "is no tick of the spec in force")
}
