package web

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/ops/access"
)

// logged makes the plane's handler again, with a log whose lines have no instant and no level.
func (pl *plane) logged(t *testing.T) *bytes.Buffer {
	t.Helper()
	var log bytes.Buffer
	drop := func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == slog.LevelKey {
			return slog.Attr{}
		}
		return a
	}
	var err error
	pl.Handler, err = New(Options{Projection: pl.p, Store: pl.store, Gate: pl.gate,
		Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{ReplaceAttr: drop}))})
	if err != nil {
		t.Fatal(err)
	}
	return &log
}

// An action that is refused by the role of its caller, or by the state of its job, has a line with its caller,
// action, job and reason: one a minute for each caller and reason, with the number of refusals since the line
// before. An action that is made, a dry run and a request without a caller have none.
func TestRefusedActionsAreLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pl := newPlane(t, "")
		if _, err := pl.store.Beat(t.Context(), series.Beat{Node: "web-1", TTL: time.Hour}); err != nil {
			t.Fatal(err)
		}
		log := pl.logged(t)
		api := func(token, path, body string, code int) {
			t.Helper()
			wants(t, pl.send(pl.Handler, token, path, body, "Content-Type", "application/json"), code)
		}
		lines := func(want ...string) {
			t.Helper()
			got := strings.TrimSpace(log.String())
			log.Reset()
			if all := strings.Join(want, "\n"); got != all {
				t.Errorf("the log has\n%s\nwant\n%s", got, all)
			}
		}
		viewer, operator := pl.tokens[access.Viewer], pl.tokens[access.Operator]
		api("", "/api/v1/jobs/report/pause", `{"reason":"for the night"}`, 401)
		api(operator, "/api/v1/jobs/report/pause", `{"reason":"for the night"}`, 200)
		api(operator, "/api/v1/jobs/report/runs", `{"reason":"by hand","dry_run":true}`, 409)
		wants(t, pl.do("GET", "/changes", viewer), 403)
		lines()
		for range 3 {
			api(viewer, "/api/v1/jobs/report/pause", `{}`, 403)
			api(operator, "/api/v1/jobs/report/runs", `{"reason":"by hand"}`, 409)
		}
		wants(t, pl.send(pl.Handler, viewer, "/jobs/report/backfills/stop", ""), 403)
		lines(`msg="action refused" who=a-viewer@web action=pause job=report reason=forbidden times=1`,
			`msg="action refused" who=a-operator@web action=run job=report reason=job-paused times=1`)
		time.Sleep(refusedPause)
		wants(t, pl.send(pl.Handler, viewer, "/changes", ""), 403)
		api(operator, "/api/v1/jobs/report/runs", `{"reason":"by hand"}`, 409)
		lines(`msg="action refused" who=a-viewer@web action=changes reason=forbidden times=4`,
			`msg="action refused" who=a-operator@web action=run job=report reason=job-paused times=3`)
		time.Sleep(refusedPause)
		wants(t, pl.send(pl.Handler, viewer, "/jobs/a%0A%1B%5B31mb/backfills/stop", ""), 403)
		wants(t, pl.send(pl.Handler, pl.tokens[access.Admin], "/jobs/report/runs", url.Values{"op": {"mine"}, "reason": {"by hand"}}.Encode(),
			"Content-Type", "application/x-www-form-urlencoded"), 409)
		lines(`msg="action refused" who=a-viewer@web action=backfill job="\"a\\n\\x1b[31mb\"" reason=forbidden times=1`,
			`msg="action refused" who=a-admin@web action=run job=report reason=job-paused times=1`)
	})
}

// Refusals of several jobs at once have one line, and each job its answer.
func TestRefusedJobsHaveOneLine(t *testing.T) {
	pl := newPlane(t, "")
	other := series.OpenRequest{Key: "other", Node: "web-1", Revision: "r", Spec: "@every 1s", Zone: "UTC"}
	if a := pl.store.Open(t.Context(), []series.OpenRequest{other})[0]; a.Err != nil {
		t.Fatal(a.Err)
	}
	pl.p.Refresh(t.Context())
	log := pl.logged(t)
	form := url.Values{"action": {"pause"}, "op": {"mine"}, "reason": {"for the night"}, "job": {"report", "other"}, "seen": {"7", "7"}}
	wants(t, pl.post("/changes", form), 200, "another change came first")
	if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "action=pause job=") || !strings.Contains(got, "reason=changed times=1") {
		t.Errorf("the log has %s", got)
	}
}

// No more than a bounded number of callers and reasons is remembered, and places become free after a minute.
func TestRefusalsAreBounded(t *testing.T) {
	rs, now := refusals{lines: map[[2]string]refusedLine{}}, time.Now()
	for i := range 2 * mostRefused {
		if _, due := rs.due([2]string{fmt.Sprint(i), "forbidden"}, now); due != (i < mostRefused) {
			t.Fatalf("the line of caller %d: %v", i, due)
		}
	}
	if times, due := rs.due([2]string{"another", "forbidden"}, now.Add(refusedPause)); !due || times != 1 || len(rs.lines) != 1 {
		t.Errorf("a minute later: %v, %d, %d places", due, times, len(rs.lines))
	}
}

// A form with more than its page reads is refused as too long, and changes nothing.
func TestLongForms(t *testing.T) {
	for target, c := range map[string]struct {
		size int
		want string
	}{"/jobs/report/pause": {64 << 10, "must have 64 KiB at most"}, "/jobs/report/runs": {64 << 10, "must have 64 KiB at most"}, "/changes": {1 << 20, "must have 1024 KiB at most"}} {
		pl := newPlane(t, "")
		log := pl.logged(t)
		form := url.Values{"action": {"pause"}, "job": {"report"}, "seen": {"0"}, "op": {"mine"}, "reason": {strings.Repeat("x", c.size)}}
		wants(t, pl.post(target, form), 413, c.want)
		if n := pl.changes(t, "report"); n != 0 || log.Len() > 0 {
			t.Errorf("%s: %d changes were made, the log has %s", target, n, log)
		}
	}
}

// A page whose query cannot be read is refused: without its filter it would show other runs.
func TestUnreadableQueries(t *testing.T) {
	pl := newPlane(t, "")
	for _, target := range []string{"/runs?verdict=%zz", "/jobs?q=a;state=lost"} {
		wants(t, pl.do("GET", target, pl.tokens[access.Viewer]), 400, "cannot be read")
	}
}
