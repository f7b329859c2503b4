package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/ops"
	"github.com/cronce/cronce/ops/access"
)

// post sends a form of an operator.
func (pl *plane) post(target string, form url.Values, header ...string) *httptest.ResponseRecorder {
	return pl.send(pl.Handler, pl.tokens[access.Operator], target, form.Encode(), append([]string{"Content-Type", "application/x-www-form-urlencoded"}, header...)...)
}

// send posts a body to a handler.
func (pl *plane) send(h http.Handler, token, target, body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", target, strings.NewReader(body))
	r.Host = "localhost"
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// fields returns the hidden fields of the form of a page with an address.
func fields(t *testing.T, body, to string) url.Values {
	t.Helper()
	_, body, found := strings.Cut(body, `method="post" action="`+to+`"`)
	if !found {
		t.Fatalf("the page has no form to %s", to)
	}
	body, _, _ = strings.Cut(body, "</form>")
	v := url.Values{}
	for _, m := range regexp.MustCompile(`<input type="hidden" name="([^"]*)" value="([^"]*)">`).FindAllStringSubmatch(body, -1) {
		v.Add(m[1], html.UnescapeString(m[2]))
	}
	return v
}

// wants fails the test unless an answer has a status and texts.
func wants(t *testing.T, w *httptest.ResponseRecorder, code int, parts ...string) {
	t.Helper()
	if w.Code != code {
		t.Errorf("got %d, want %d: %s", w.Code, code, w.Body)
	}
	for _, part := range parts {
		if !strings.Contains(w.Body.String(), part) {
			t.Errorf("the answer lacks %q: %s", part, w.Body)
		}
	}
}

// changes returns the number of changes of the job.
func (pl *plane) changes(t *testing.T, job string) int64 {
	t.Helper()
	return pl.store.ReadSeries(t.Context(), []string{job})[0].Change
}

const hostileReason = `"><script>alert(1)</script> {{.Caller}}`

// An operator pauses a job with the form of its page, which then shows the pause; the audit shows
// who did it and why. A form that is sent again makes one change. Then the operator resumes it.
func TestPauseByForm(t *testing.T) {
	pl := newPlane(t, "")
	operator := pl.tokens[access.Operator]
	page := pl.do("GET", "/jobs/report", operator)
	form := fields(t, page.Body.String(), "/jobs/report/pause")
	form.Set("reason", hostileReason)
	form.Set("until", "+8h")
	for range 2 {
		w := pl.post("/jobs/report/pause", form)
		if w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/jobs/report?change=1" || pl.changes(t, "report") != 1 {
			t.Fatalf("%d to %q, %d changes: %s", w.Code, w.Header().Get("Location"), pl.changes(t, "report"), w.Body)
		}
	}
	for _, role := range []access.Role{access.Viewer, access.Operator} {
		w := pl.do("GET", "/jobs/report?change=1", pl.tokens[role])
		wants(t, w, 200, "Paused</strong> by a-operator@web since", "&lt;script&gt;alert(1)", ", until ")
		if has := strings.Contains(w.Body.String(), `action="/jobs/report/resume"`); has != (role == access.Operator) || strings.Contains(w.Body.String(), "<script>alert") {
			t.Errorf("as %s, form %v: %s", role, has, w.Body)
		}
	}
	for _, target := range []string{"/audit", "/audit?job=report"} {
		w := pl.do("GET", target, operator)
		wants(t, w, 200, "a-operator@web", "&lt;script&gt;alert(1)", `data-label="Before">running</td><td data-label="After">paused until 20`)
		if strings.Contains(w.Body.String(), "<script>alert") {
			t.Errorf("%s has a script", target)
		}
	}
	wants(t, pl.do("GET", "/audit?job=none", operator), 404, "There is no job of this name on record.")
	form = fields(t, pl.do("GET", "/jobs/report", operator).Body.String(), "/jobs/report/resume")
	if w := pl.post("/jobs/report/resume", form); w.Code != http.StatusSeeOther || pl.p.Peek().Job("report").Series.Paused {
		t.Errorf("%d: %s", w.Code, w.Body)
	}
	if w := pl.post("/jobs/report/resume", form); w.Code != http.StatusSeeOther || pl.changes(t, "report") != 2 {
		t.Errorf("%d, %d changes: %s", w.Code, pl.changes(t, "report"), w.Body)
	}
}

// Another operator changes the job between the page and the form: nothing is done, the answer says
// who changed it and why, and its form works.
func TestPauseConflict(t *testing.T) {
	pl := newPlane(t, "")
	form := fields(t, pl.do("GET", "/jobs/report", pl.tokens[access.Operator]).Body.String(), "/jobs/report/pause")
	form.Set("reason", "for the night")
	for i, action := range []series.Action{series.ActionPause, series.ActionResume} {
		c := series.Control{Key: "report", Action: action, Op: fmt.Sprint(i), Who: "bob", Reason: "gateway <b>is</b> back", Seen: series.AnySeen}
		if a := pl.store.Control(t.Context(), c); !a.Made {
			t.Fatalf("%+v", a)
		}
	}
	w := pl.post("/jobs/report/pause", form)
	wants(t, w, http.StatusConflict, "Not done", "another change came first, resume by bob at 20", "gateway &lt;b&gt;is&lt;/b&gt; back", `value="for the night"`)
	again := fields(t, w.Body.String(), "/jobs/report/pause")
	if again.Get("op") == form.Get("op") || again.Get("seen") != "2" {
		t.Errorf("the form has %v", again)
	}
	again.Set("reason", "for the night")
	if w := pl.post("/jobs/report/pause", again); w.Code != http.StatusSeeOther || pl.changes(t, "report") != 3 {
		t.Errorf("%d: %s", w.Code, w.Body)
	}
	// Bob's pause stands meanwhile, so that only a way back remains.
	w = pl.post("/jobs/report/pause", form)
	wants(t, w, http.StatusConflict, "another change came first, pause by a-operator@web", "Paused</strong> by a-operator@web")
	if strings.Contains(w.Body.String(), `action="/jobs/report/pause"`) {
		t.Error("a paused job has a form to pause it")
	}
}

// The page after a change shows it: the store is read again if the snapshot does not have the change yet.
func TestFresh(t *testing.T) {
	pl := newPlane(t, "")
	before := pl.p.Peek()
	if pl.fresh(t.Context(), "report", 0) != before {
		t.Error("the store was read for a change that the snapshot has")
	}
	c := series.Control{Key: "report", Action: series.ActionPause, Op: "one", Who: "bob", Reason: "for the night"}
	if a := pl.store.Control(t.Context(), c); !a.Made {
		t.Fatalf("%+v", a)
	}
	if s := pl.fresh(t.Context(), "report", 1); !s.Job("report").Series.Paused {
		t.Error("the snapshot does not have the change")
	}
}

// A form with a bad value comes back with its other values. Nothing is done.
func TestPauseFaults(t *testing.T) {
	pl := newPlane(t, "")
	good := url.Values{"op": {"one"}, "seen": {"0"}, "reason": {"for the night"}}
	for name, c := range map[string]struct {
		field, value string
		code         int
		want         string
	}{
		"short":  {"reason", "    no    ", 400, "reason is"},
		"long":   {"reason", strings.Repeat("a", 501), 400, "reason is"},
		"line":   {"reason", "for\nthe night", 400, "reason is"},
		"until":  {"until", "tomorrow", 400, "until is &#34;tomorrow&#34;"},
		"past":   {"at", "2020-01-01T00:00", 400, "over before it began"},
		"seen":   {"seen", "-1", 400, "seen is &#34;-1&#34;, must be the number of a change, 0 or more"},
		"no op":  {"op", "", 400, "op is missing"},
		"op":     {"op", "a|b", 400, "op is"},
		"no job": {"job", "", 404, "There is no job of this name"},
	} {
		form := maps.Clone(good)
		form.Set(c.field, c.value)
		target := "/jobs/report/pause"
		if c.field == "job" {
			target = "/jobs/none/pause"
		}
		w := pl.post(target, form)
		if w.Code == http.StatusTooManyRequests {
			t.Fatalf("%s: too many", name)
		}
		wants(t, w, c.code, c.want)
	}
	two := url.Values{"op": {"one"}, "seen": {"0"}, "reason": {"for the night"}, "until": {"+1h"}, "at": {"2099-01-01T00:00"}}
	wants(t, pl.post("/jobs/report/pause", two), 400, "the pause has two ends")
	if n := pl.changes(t, "report"); n != 0 {
		t.Errorf("%d changes were made", n)
	}
}

// A lossy store makes each change, and loses so many replies.
type lossy struct {
	*memlock.Store
	lose atomic.Int64
}

func (s *lossy) Control(ctx context.Context, c series.Control) series.ControlAnswer {
	a := s.Store.Control(ctx, c)
	if s.lose.Add(-1) >= 0 {
		return series.ControlAnswer{Err: errors.New("the reply was lost")}
	}
	return a
}

// The replies of the store are lost. The answer is doubt, with the operation, and the request that is
// sent again is the same one: the change is made once, by page and by API.
func TestPauseInDoubt(t *testing.T) {
	pl := newPlane(t, "")
	store := &lossy{Store: pl.store}
	h, err := New(Options{Projection: pl.p, Store: store, Gate: pl.gate})
	if err != nil {
		t.Fatal(err)
	}
	operator := pl.tokens[access.Operator]
	form := url.Values{"op": {"one"}, "seen": {"0"}, "reason": {"for the night"}, "until": {"+8h"}}
	urlencoded := []string{"Content-Type", "application/x-www-form-urlencoded"}
	store.lose.Store(3)
	w := pl.send(h, operator, "/jobs/report/pause", form.Encode(), urlencoded...)
	wants(t, w, http.StatusServiceUnavailable, "Not known", "whether the pause of report was done is not known", "Send again")
	again := fields(t, w.Body.String(), "/jobs/report/pause")
	if again.Get("op") != "one" || again.Get("seen") != "0" || again.Get("until") == "+8h" {
		t.Errorf("the form has %v", again)
	}
	for _, f := range []url.Values{again, form} { // sent again, and reloaded
		if w := pl.send(h, operator, "/jobs/report/pause", f.Encode(), urlencoded...); w.Code != http.StatusSeeOther || pl.changes(t, "report") != 1 {
			t.Errorf("%d, %d changes: %s", w.Code, pl.changes(t, "report"), w.Body)
		}
	}
	store.lose.Store(3)
	w = pl.send(h, operator, "/api/v1/jobs/report/resume", `{}`, "Content-Type", "application/json", "Idempotency-Key", "two")
	wants(t, w, http.StatusServiceUnavailable, `"urn:cronce:problem:doubt"`, `"retry_with_key":"two"`)
	w = pl.send(h, operator, "/api/v1/jobs/report/resume", `{}`, "Content-Type", "application/json", "Idempotency-Key", "two")
	wants(t, w, http.StatusOK, `"outcome":"made"`, `"change":2`, `"paused":false`)
	if n := pl.changes(t, "report"); n != 2 {
		t.Errorf("%d changes", n)
	}
}

// An ending store ends the process of the plane, which ends the requests, when a change begins.
type ending struct {
	*memlock.Store
	end context.CancelFunc
}

func (s *ending) ReadSeries(ctx context.Context, keys []string) []series.Series {
	s.end()
	if err := ctx.Err(); err != nil {
		return []series.Series{{Key: keys[0], Err: err}}
	}
	return s.Store.ReadSeries(ctx, keys)
}

// A change that has begun is made although the process ends, and its caller is told so.
func TestChangeOutlivesTheEndOfTheProcess(t *testing.T) {
	pl := newPlane(t, "")
	ctx, end := context.WithCancel(t.Context())
	h, err := New(Options{Projection: pl.p, Store: &ending{pl.store, end}, Gate: pl.gate})
	if err != nil {
		t.Fatal(err)
	}
	within := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.ServeHTTP(w, r.WithContext(ctx)) })
	w := pl.send(within, pl.tokens[access.Operator], "/api/v1/jobs/report/pause", `{"reason":"for the night"}`, "Content-Type", "application/json")
	wants(t, w, http.StatusOK, `"outcome":"made"`)
}

// A mute store answers no reading while it is mute.
type mute struct {
	lossy
	mute atomic.Bool
}

func (s *mute) ReadSeries(ctx context.Context, keys []string) []series.Series {
	if s.mute.Load() {
		return []series.Series{{Key: keys[0], Err: errors.New("no answer")}}
	}
	return s.Store.ReadSeries(ctx, keys)
}

// A request whose reply was lost was made. Sent again while the store does not answer, it is still not
// known, with the same operation and end. Without an operation nothing was done.
func TestDoubtStaysDoubt(t *testing.T) {
	pl := newPlane(t, "")
	store := &mute{lossy: lossy{Store: pl.store}}
	h, err := New(Options{Projection: pl.p, Store: store, Gate: pl.gate})
	if err != nil {
		t.Fatal(err)
	}
	operator := pl.tokens[access.Operator]
	cancel := tickPath("report", running(t, pl.store, "report")) + "/cancel"
	sendForm := func(target string, form url.Values) *httptest.ResponseRecorder {
		return pl.send(h, operator, target, form.Encode(), "Content-Type", "application/x-www-form-urlencoded")
	}
	sendBody := func(target, body string, header ...string) *httptest.ResponseRecorder {
		return pl.send(h, operator, "/api/v1"+target, body, append([]string{"Content-Type", "application/json"}, header...)...)
	}
	store.lose.Store(3)
	w := sendForm(cancel, url.Values{"op": {"one"}, "reason": {"it hangs"}})
	wants(t, w, http.StatusServiceUnavailable, "Not known", "Send again")
	cancelAgain := fields(t, w.Body.String(), cancel)
	store.lose.Store(3)
	pause := url.Values{"op": {"two"}, "seen": {"1"}, "reason": {"for the night"}, "until": {"+8h"}}
	wants(t, sendForm("/jobs/report/pause", pause), http.StatusServiceUnavailable, "Not known")
	many := maps.Clone(pause)
	many["action"], many["job"] = []string{"pause"}, []string{"report"}

	store.mute.Store(true)
	for target, form := range map[string]url.Values{cancel: cancelAgain, "/jobs/report/pause": pause, "/changes": many} {
		w := sendForm(target, form)
		wants(t, w, http.StatusServiceUnavailable, "not known", "Send again")
		again := fields(t, w.Body.String(), target)
		if again.Get("op") != form.Get("op") || again.Get("until") != form.Get("until") || strings.Contains(w.Body.String(), "nothing was done") {
			t.Errorf("%s: the form has %v: %s", target, again, w.Body)
		}
	}
	wants(t, sendBody(cancel, `{"reason":"it hangs"}`, keyHeader, "one"), http.StatusServiceUnavailable, "problem:doubt", `"retry_with_key":"one"`)
	wants(t, sendBody("/jobs/report/pause", `{"reason":"for the night","until":"+8h"}`, keyHeader, "two"), http.StatusServiceUnavailable, "problem:doubt", `"retry_with_key":"two"`)
	wants(t, sendBody("/jobs/report/pause", `{"reason":"for the night"}`), http.StatusServiceUnavailable, "store-unreachable", "nothing was done")

	store.mute.Store(false)
	wants(t, sendForm("/changes", many), 200, "1 job paused")
	if w := sendForm(cancel, cancelAgain); w.Code != 200 || pl.changes(t, "report") != 2 {
		t.Errorf("%d, %d changes: %s", w.Code, pl.changes(t, "report"), w.Body)
	}
}

// A change that is repeated with its key, after so many others that the store does not keep its
// operation, was done before. The key of another change is refused.
func TestChangeRepeatedAfterManyOthers(t *testing.T) {
	pl := newPlane(t, "")
	tick := running(t, pl.store, "report")
	run := pl.store.ReadSeries(t.Context(), []string{"report"})[0].Runs[0]
	cancel := tickPath("report", tick) + "/cancel"
	send := func(target, body, key string) *httptest.ResponseRecorder {
		return pl.send(pl.Handler, pl.tokens[access.Operator], "/api/v1"+target, body, "Content-Type", "application/json", keyHeader, key)
	}
	changes := []struct{ target, body, key string }{
		{cancel, `{"reason":"it hangs"}`, "cancel"},
		{"/jobs/report/pause", `{"reason":"for the night","until":"+8h"}`, "pause"},
		{"/jobs/report/resume", `{}`, "resume"},
	}
	for _, c := range changes {
		wants(t, send(c.target, c.body, c.key), 200, `"outcome":"made"`)
	}
	ref := series.RunRef{Key: "report", Number: run.Number, Owner: run.Owner, Fence: run.Fence, TTL: 1}
	if e := pl.store.ReleaseRuns(t.Context(), []series.EndRequest{{RunRef: ref, Outcome: "cancelled"}})[0]; !e.Ended {
		t.Fatalf("%+v", e)
	}
	for i := range series.KeptOps {
		action := []series.Action{series.ActionPause, series.ActionResume}[i%2]
		c := series.Control{Key: "report", Action: action, Op: fmt.Sprint(i), Who: "bob", Reason: "for the test", Seen: series.AnySeen}
		if a := pl.store.Control(t.Context(), c); !a.Made {
			t.Fatalf("%+v", a)
		}
	}
	was := pl.changes(t, "report")
	for i, c := range changes {
		wants(t, send(c.target, c.body, c.key), 200, `"outcome":"dated"`, fmt.Sprintf(`"change":%d`, i+1), "since then resume by bob")
	}
	wants(t, send("/jobs/report/pause", `{"reason":"for the week","until":"+8h"}`, "pause"), http.StatusUnprocessableEntity, "key-reused")
	wants(t, send(cancel, `{"reason":"it hangs"}`, "pause"), http.StatusUnprocessableEntity, "key-reused")
	wants(t, send(cancel, `{"reason":"it hangs"}`, "other"), http.StatusConflict, "run-over", "nothing was done")
	if n := pl.changes(t, "report"); n != was {
		t.Errorf("%d changes, want %d", n, was)
	}
}

// A store that changes nothing has no forms, and answers that.
func TestNoControl(t *testing.T) {
	pl := newPlane(t, "")
	h, err := New(Options{Projection: pl.p, Store: struct{ Store }{pl.store}, Gate: pl.gate})
	if err != nil {
		t.Fatal(err)
	}
	pl.Handler = h
	w := pl.do("GET", "/jobs/report", pl.tokens[access.Admin])
	if wants(t, w, 200); strings.Contains(w.Body.String(), "/jobs/report/pause") {
		t.Error("the page has a form")
	}
	wants(t, pl.post("/jobs/report/pause", url.Values{}), http.StatusNotImplemented, "changes no job")
	wants(t, pl.send(h, pl.tokens[access.Operator], "/api/v1/jobs/report/pause", `{}`, "Content-Type", "application/json"), http.StatusNotImplemented, "unsupported")
	wants(t, pl.do("GET", "/api/v1/audit", pl.tokens[access.Viewer]), http.StatusNotImplemented, "unsupported")
}

// Another site cannot make a browser send a change, neither to a page nor to the API. A session
// reaches the API only from a page of this site.
func TestChangeFromAnotherSite(t *testing.T) {
	pl := newPlane(t, "")
	w := pl.send(pl.Handler, "", "/login", url.Values{"token": {pl.tokens[access.Operator]}}.Encode(), "Content-Type", "application/x-www-form-urlencoded")
	cookie := w.Result().Cookies()[0]
	session := cookie.Name + "=" + cookie.Value
	form := url.Values{"op": {"one"}, "seen": {"0"}, "reason": {"for the night"}}.Encode()
	for _, header := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Sec-Fetch-Site", "same-site"}, {"Origin", "https://evil.example"}} {
		all := append([]string{"Cookie", session, "Content-Type", "application/x-www-form-urlencoded"}, header...)
		wants(t, pl.send(pl.Handler, "", "/jobs/report/pause", form, all...), http.StatusForbidden)
		w := pl.send(pl.Handler, "", "/changes", form, all...)
		if wants(t, w, http.StatusForbidden, "a page of another site may not do this"); w.Header().Get("Content-Type") != "text/html; charset=utf-8" {
			t.Errorf("a page is refused as %q", w.Header().Get("Content-Type"))
		}
		all[3] = "application/json"
		w = pl.send(pl.Handler, "", "/api/v1/jobs/report/pause", `{"reason":"for the night"}`, all...)
		if wants(t, w, http.StatusForbidden, `"type":"`, "cross-origin"); w.Header().Get("Content-Type") != "application/problem+json" {
			t.Errorf("the API refuses as %q", w.Header().Get("Content-Type"))
		}
	}
	wants(t, pl.send(pl.Handler, "", "/api/v1/jobs/report/pause", `{"reason":"for the night"}`, "Cookie", session, "Content-Type", "application/json"), http.StatusUnauthorized)
	if n := pl.changes(t, "report"); n != 0 {
		t.Fatalf("%d changes were made", n)
	}
	wants(t, pl.send(pl.Handler, "", "/api/v1/jobs/report/pause", `{"reason":"for the night"}`, "Cookie", session, "Content-Type", "application/json", "Sec-Fetch-Site", "same-origin"), http.StatusOK)
	if w := pl.send(pl.Handler, "", "/jobs/report/resume", form, "Content-Type", "application/x-www-form-urlencoded"); w.Code != http.StatusSeeOther || w.Header().Get("Location") != "/login?next=%2F" {
		t.Errorf("without a session: %d to %q", w.Code, w.Header().Get("Location"))
	}
}

// A program pauses a job, repeats a request, and learns who was faster.
func TestChangeByProgram(t *testing.T) {
	pl := newPlane(t, "")
	send := func(action, body string, header ...string) *httptest.ResponseRecorder {
		return pl.send(pl.Handler, pl.tokens[access.Operator], "/api/v1/jobs/report/"+action, body, append([]string{"Content-Type", "application/json"}, header...)...)
	}
	until := time.Now().Add(time.Hour).UTC().Truncate(time.Second).Format(time.RFC3339)
	body := `{"reason":"gateway is moved","until":"` + until + `","seen":0}`
	for range 2 {
		w := send("pause", body, keyHeader, "one")
		wants(t, w, 200)
		var a changeAnswer
		if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil || a.Outcome != ops.ChangeMade || a.Change != 1 || a.Job.Change != 1 || a.Job.Pause == nil || a.Job.Pause.Until.Format(time.RFC3339) != until || a.Job.Pause.Who != "a-operator@web" {
			t.Errorf("%v: %s", err, w.Body)
		}
	}
	wants(t, send("pause", `{"reason":"another reason","seen":0}`, keyHeader, "one"), http.StatusUnprocessableEntity, "key-reused")
	wants(t, send("resume", `{"seen":0}`), http.StatusConflict, "problem:changed", `"who":"a-operator@web"`, `"reason":"gateway is moved"`, `"change":1`)
	wants(t, send("pause", `{"reason":"for the night","until":"+1m"}`), 200, `"outcome":"stands"`, "is paused already, by a-operator@web")
	wants(t, send("pause", `{"reason":"for the night","until":"+8h"}`), http.StatusConflict, "problem:job-paused")
	wants(t, send("resume", `{}`, keyHeader, "two"), 200, `"change":2`)
	wants(t, send("resume", `{}`), 200, `"outcome":"stands"`)
	wants(t, send("pause", body, keyHeader, "one"), 200, `"outcome":"dated"`, `"change":1`, "since then resume by a-operator@web")
	if n := pl.changes(t, "report"); n != 2 {
		t.Errorf("%d changes", n)
	}
	w := pl.do("GET", "/api/v1/audit?limit=1", pl.tokens[access.Viewer])
	wants(t, w, 200, `"number":2`, `"action":"resume"`, `"op":"two"`)
	if strings.Contains(w.Body.String(), `"number":1`) {
		t.Errorf("the limit is not kept: %s", w.Body)
	}
	wants(t, pl.do("GET", "/api/v1/audit?job=none", pl.tokens[access.Viewer]), 404)
}

// Changes have an allowance of their own, for each caller. Dry runs, and requests that are refused for their body, take none of it.
func TestChangeAllowance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pl := newPlane(t, "")
		slow := 0
		for range 15 {
			if w := pl.post("/jobs/report/pause", url.Values{}); w.Code == http.StatusTooManyRequests && w.Header().Get("Retry-After") == "1" {
				slow++
			}
		}
		if slow != 5 {
			t.Errorf("%d of 15 changes were slowed down, want 5", slow)
		}
		wants(t, pl.do("GET", "/jobs", pl.tokens[access.Operator]), 200)
		api := func(role access.Role, path, body string) *httptest.ResponseRecorder {
			return pl.send(pl.Handler, pl.tokens[role], "/api/v1/jobs/report/"+path, body, "Content-Type", "application/json")
		}
		wants(t, api(access.Admin, "pause", `{}`), 400)
		for range 15 {
			wants(t, api(access.Operator, "runs", `{"reason":"by hand","dry_run":true}`), 200, `"outcome":"stands"`)
			wants(t, api(access.Operator, "pause", `{"reason":"by hand","dry_run":true}`), 400, "dry_run belong to a run or a backfill")
		}
		const plan = `{"reason":"by hand","from":"2026-01-01T00:00:00Z","to":"2026-01-01T00:00:10Z","dry_run":true}`
		wants(t, api(access.Operator, "backfills", plan), http.StatusTooManyRequests, "too many changes")
		time.Sleep(time.Second)
		wants(t, api(access.Operator, "backfills", plan), 200)
		for range 15 { // nothing could be made of these, so they are no changes
			wants(t, api(access.Operator, "runs", `{"dry_run":true`), 400)
			wants(t, api(access.Operator, "pause", `{"reason":"x"}`), 400)
		}
		wants(t, pl.send(pl.Handler, pl.tokens[access.Operator], "/api/v1/jobs/none/pause", `{"reason":"by hand"}`, "Content-Type", "application/json"), 404)
		time.Sleep(time.Second)
		wants(t, api(access.Operator, "pause", `{"reason":"by hand"}`), 200)
	})
}
