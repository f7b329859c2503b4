package web

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/ops/access"
)

var update = flag.Bool("update", false, "write the files of testdata/api")

// A question is a request to the API. Its answer is kept in a file with the question's name.
type question struct {
	name, route string
	status      int
	tick        time.Duration // of the path, since the beginning
	query, body string
}

// questions are asked in this order: readings of a cluster with a failed run, a run that goes on, and an overdue job, then each
// change. The body of a change has its operation, which is sent as a header.
var questions = []question{
	{name: "status", route: "GET /api/v1/status"},
	{name: "overdue", route: "GET /api/v1/overdue"},
	{name: "nodes", route: "GET /api/v1/nodes"},
	{name: "jobs", route: "GET /api/v1/jobs", query: "?limit=1"},
	{name: "job", route: "GET /api/v1/jobs/{job}"},
	{name: "job-runs", route: "GET /api/v1/jobs/{job}/runs"},
	{name: "tick", route: "GET /api/v1/jobs/{job}/ticks/{tick}", tick: time.Second},
	{name: "runs", route: "GET /api/v1/runs"},
	{name: "skip", route: "POST /api/v1/jobs/{job}/ticks/{tick}/skip", tick: 200 * time.Second, body: `{"reason": "stock is counted by hand"}`},
	{name: "cancel", route: "POST /api/v1/jobs/{job}/ticks/{tick}/cancel", tick: 2 * time.Second, body: `{"reason": "it hangs"}`},
	{name: "pause", route: "POST /api/v1/jobs/{job}/pause", body: `{"reason": "gateway is moved", "until": "+8h"}`},
	{name: "problem-changed", route: "POST /api/v1/jobs/{job}/resume", body: `{"seen": 2}`, status: http.StatusConflict},
	{name: "resume", route: "POST /api/v1/jobs/{job}/resume", body: `{"seen": 3}`},
	{name: "run", route: "POST /api/v1/jobs/{job}/runs", body: `{"reason": "the data was late", "queue": true}`},
	{name: "backfill-plan", route: "POST /api/v1/jobs/{job}/backfills", body: `{"reason": "the pause was too long", "from": "2000-01-01T00:00:00Z", "to": "2000-01-01T00:00:06Z", "only": "never-ran", "dry_run": true}`},
	{name: "problem-plan-changed", route: "POST /api/v1/jobs/{job}/backfills", status: http.StatusPreconditionFailed,
		body: `{"reason": "the pause was too long", "from": "2000-01-01T00:00:00Z", "to": "2000-01-01T00:00:06Z", "only": "never-ran", "digest": "0123456789abcdef"}`},
	{name: "backfill", route: "POST /api/v1/jobs/{job}/backfills",
		body: `{"reason": "the pause was too long", "from": "2000-01-01T00:00:00Z", "to": "2000-01-01T00:00:06Z", "only": "never-ran", "digest": "{digest}"}`},
	{name: "backfill-stop", route: "POST /api/v1/jobs/{job}/backfills/stop", body: `{"reason": "it is enough"}`},
	{name: "audit", route: "GET /api/v1/audit"},
	{name: "problem-not-found", route: "/api/", status: http.StatusNotFound},
}

// Each answer of the API is as its file in testdata/api says, which the docs link. Programs read these fields: a change of a file
// that takes one away, or changes it, breaks them. Each route is asked.
//
// The clock of a bubble always begins at the same instant, so that all instants are the same each time.
func TestAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		pl := newCluster(t)
		digest := ""
		for _, q := range questions {
			q.body = strings.ReplaceAll(q.body, "{digest}", digest)
			w := pl.ask(q, began.Add(q.tick))
			if want := cmp.Or(q.status, http.StatusOK); w.Code != want {
				t.Errorf("%s: %d, want %d: %s", q.name, w.Code, want, w.Body)
			}
			var planned struct{ Plan struct{ Digest string } }
			if err := json.Unmarshal(w.Body.Bytes(), &planned); err != nil {
				t.Fatalf("%s: %v", q.name, err)
			}
			if q.name == "backfill-plan" {
				digest = planned.Plan.Digest
			}
			compare(t, q.name, w.Body.Bytes())
			time.Sleep(time.Second) // the allowance of a caller grows
		}
		for _, rt := range pl.routes() {
			if strings.Contains(rt.pattern, "/api/") && !slices.ContainsFunc(questions, func(q question) bool { return q.route == rt.pattern }) {
				t.Errorf("no answer of %s is kept", rt.pattern)
			}
		}
	})
	kept, err := filepath.Glob("testdata/api/*.json")
	if err != nil || len(kept) != len(questions) {
		t.Errorf("%d answers to %d questions are kept: %v", len(kept), len(questions), err)
	}
}

// newCluster returns a plane of a cluster with a job that has failed and runs again, an overdue one, and two nodes.
func newCluster(t *testing.T) *plane {
	t.Helper()
	pl := newPlane(t, "gateway is away")
	open := series.OpenRequest{Key: "stock", Node: "web-2", Revision: "s", Spec: "0 * * * *", Zone: "Europe/Berlin", Policies: "overlap:skip/misfire:once"}
	if a := pl.store.Open(t.Context(), []series.OpenRequest{open})[0]; a.Err != nil {
		t.Fatal(a.Err)
	}
	open.Key, open.Spec, open.Zone = "sums", "@every 1m", "UTC"
	if a := pl.store.Open(t.Context(), []series.OpenRequest{open})[0]; a.Err != nil {
		t.Fatal(a.Err)
	}
	running(t, pl.store, "report")
	time.Sleep(2*time.Minute + 15*time.Second)
	for _, node := range []string{"web-1", "web-2"} {
		if _, err := pl.store.Beat(t.Context(), series.Beat{Node: node, TTL: time.Hour}); err != nil {
			t.Fatal(err)
		}
	}
	for range 20 { // the plane reads overdue jobs in turn
		time.Sleep(time.Second)
		pl.p.Refresh(t.Context())
	}
	return pl
}

// ask sends a question about the job report.
func (pl *plane) ask(q question, tick time.Time) *httptest.ResponseRecorder {
	pattern := strings.ReplaceAll(q.route, "{tick}", tick.UTC().Format(time.RFC3339))
	method, target := address(pattern)
	if method == "GET" {
		return pl.do(method, target+q.query, pl.tokens[access.Viewer])
	}
	return pl.send(pl.Handler, pl.tokens[access.Operator], target, q.body, "Content-Type", "application/json", keyHeader, "op-"+q.name)
}

// compare compares an answer with its file.
func compare(t *testing.T, name string, body []byte) {
	t.Helper()
	file := filepath.Join("testdata", "api", name+".json")
	var got bytes.Buffer
	if err := json.Indent(&got, body, "", "  "); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || got.String() != string(want) {
		t.Errorf("%s is another answer (%v); if this is intended, run: go test ./ops/web -run TestAnswers -update\n%s", file, err, got.String())
	}
}
