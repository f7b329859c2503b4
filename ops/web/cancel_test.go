package web

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/ops/access"
	"github.com/cronce/cronce/scheduler"
)

// An operator cancels a run that hangs with the form of its tick's page, a program with the API. The
// page of a run that has ended has no form, and a late form is refused.
func TestCancelByForm(t *testing.T) {
	pl := newPlane(t, "")
	tick := running(t, pl.store, "report")
	target := tickPath("report", tick)
	for role, token := range pl.tokens {
		w := pl.do("GET", target, token)
		if has := strings.Contains(w.Body.String(), `action="`+target+`/cancel"`); has != (role >= access.Operator) {
			t.Errorf("as %s, form %v: %s", role, has, w.Body)
		}
	}
	form := fields(t, pl.do("GET", target, pl.tokens[access.Operator]).Body.String(), target+"/cancel")
	wants(t, pl.post(target+"/cancel", form), 400, "reason is")
	form.Set("reason", hostileReason)
	for range 2 {
		if w := pl.post(target+"/cancel", form); w.Code != http.StatusSeeOther || w.Header().Get("Location") != target || pl.changes(t, "report") != 1 {
			t.Fatalf("%d to %q, %d changes: %s", w.Code, w.Header().Get("Location"), pl.changes(t, "report"), w.Body)
		}
	}
	w := pl.do("GET", target, pl.tokens[access.Operator])
	wants(t, w, 200, "Cancelled by a-operator@web at ", "&lt;script&gt;alert(1)")
	if strings.Contains(w.Body.String(), "/cancel") {
		t.Error("a cancelled run has a form")
	}
	wants(t, pl.do("GET", "/jobs/report", pl.tokens[access.Viewer]), 200, "cancelled, has not ended")
	wants(t, pl.do("GET", "/audit", pl.tokens[access.Viewer]), 200, "cancelled the run of 2")
	api := func(at, body string) *httptest.ResponseRecorder {
		return pl.send(pl.Handler, pl.tokens[access.Operator], "/api/v1/jobs/report/ticks/"+at+"/cancel", body, "Content-Type", "application/json")
	}
	at := tick.UTC().Format(time.RFC3339)
	wants(t, api(at, `{"reason":"it hangs"}`), 200, `"outcome":"stands"`, "is cancelled already")
	wants(t, api(at, `{"reason":"it hangs","until":"+1h"}`), 400, "until belongs to a pause or a run")
	wants(t, api("yesterday", `{"reason":"it hangs"}`), 400, "must be RFC 3339")
	wants(t, api("2020-01-01T00:00:00Z", `{"reason":"it hangs"}`), http.StatusConflict, "problem:run-over", "has ended, or no node was granted it")
	form.Set("op", "late")
	late := tickPath("report", tick.Add(-time.Hour))
	wants(t, pl.post(late+"/cancel", form), http.StatusConflict, "Not done", "has ended, or no node was granted it")
	if n := pl.changes(t, "report"); n != 1 {
		t.Errorf("%d changes were made", n)
	}
}

// A node runs a function that ignores its cancel. The pages show the run as cancelled and not ended, long after the node's log
// names it, and no further attempt. When the function returns an error after all, they show the outcome.
func TestCancelIsIgnored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pl := newPlane(t, "")
		var log bytes.Buffer
		hangs := func(context.Context, *scheduler.Run) error {
			time.Sleep(20 * time.Minute)
			return errors.New("too late")
		}
		n, err := scheduler.New(scheduler.Config{Name: "one", Store: pl.store, Logger: slog.New(slog.NewTextHandler(&log, nil)),
			Jobs: []scheduler.Job{{Name: "slow", Spec: "@hourly", Lease: 6 * time.Second, Takeover: scheduler.TakeoverRerun, Func: hangs}}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		ended := make(chan error)
		go func() { ended <- n.Run(ctx) }()
		time.Sleep(time.Until(time.Now().Truncate(time.Hour).Add(time.Hour + time.Minute)))
		tick := time.Now().Truncate(time.Hour)
		target := tickPath("slow", tick)
		pl.p.Refresh(t.Context())
		form := fields(t, pl.do("GET", target, pl.tokens[access.Operator]).Body.String(), target+"/cancel")
		form.Set("reason", "it hangs")
		if w := pl.post(target+"/cancel", form); w.Code != http.StatusSeeOther {
			t.Fatalf("%d: %s", w.Code, w.Body)
		}
		show := func(page string, parts ...string) {
			t.Helper()
			pl.p.Refresh(t.Context())
			wants(t, pl.do("GET", page, pl.tokens[access.Viewer]), 200, parts...)
		}
		time.Sleep(10 * time.Minute)
		show("/jobs/slow", "cancelled, has not ended")
		show(target, "Cancelled by a-operator@web at ", "it hangs")
		time.Sleep(20 * time.Minute)
		asCancelled := `<span class="state s-skipped"><svg class="mark s-skipped" aria-hidden="true"><use href="#m-skipped"/></svg>cancelled</span>`
		show("/jobs/slow", asCancelled, "too late", `<use href="#m-skipped" x="`)
		show("/runs?job=slow", asCancelled)
		show("/jobs?q=slow", `aria-label="1 cancelled "`, `<use href="#m-skipped" class="s-skipped"`)
		show(target, "and ended as cancelled after 20m", `<span class="state s-skipped">`, "cancelled</span></h1>")
		stop()
		if err := <-ended; err != nil || strings.Count(log.String(), "run ignores its context") != 1 || strings.Count(log.String(), "run started") != 1 {
			t.Errorf("%v: %s", err, log.String())
		}
	})
}

// running begins a run of a job, and returns its tick.
func running(t *testing.T, s *memlock.Store, job string) time.Time {
	t.Helper()
	is := s.ReadSeries(t.Context(), []string{job})[0]
	tick := (is.Mark/1000 + 1) * 1000
	time.Sleep(time.Until(time.UnixMilli(tick)))
	c := series.Claim{Key: job, Owner: "web-1/x", Number: tick, After: is.Mark, TTL: time.Hour, Deadline: time.Hour, Attempts: 1, Latest: tick + 3_600_000, Revision: "r"}
	if a := s.Claim(t.Context(), []series.Claim{c})[0]; a.Kind != series.KindGranted {
		t.Fatalf("the claim is answered %+v", a)
	}
	return time.UnixMilli(tick)
}
