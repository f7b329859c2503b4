package web

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/internal/hostile"
	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/ops"
	"github.com/cronce/cronce/ops/access"
)

// A plane is a handler with a store of one job and a token of each role.
type plane struct {
	*Handler
	store  *memlock.Store
	p      *ops.Projection
	gate   *access.Gate
	tokens map[access.Role]string
}

func newPlane(t *testing.T, failure string) *plane {
	t.Helper()
	s := memlock.New(memlock.Options{})
	open := series.OpenRequest{Key: "report", Node: "web-1", Revision: "r", Spec: "@every 1s", Zone: "UTC", Policies: "overlap:skip/misfire:once"}
	opened := s.Open(t.Context(), []series.OpenRequest{open})[0]
	if opened.Err != nil {
		t.Fatal(opened.Err)
	}
	if _, err := s.Beat(t.Context(), series.Beat{Node: "web-1", TTL: time.Minute}); err != nil {
		t.Fatal(err)
	}
	if failure != "" {
		fail(t, s, opened.Mark, failure)
	}
	pl := &plane{store: s, tokens: map[access.Role]string{}}
	var all []access.Token
	for _, role := range []access.Role{access.Viewer, access.Operator, access.Admin} {
		token, text, err := access.NewToken("a-"+role.String(), role)
		if err != nil {
			t.Fatal(err)
		}
		all, pl.tokens[role] = append(all, token), text
	}
	pl.p = ops.New(ops.Options{Store: s, Namespace: "shop"})
	pl.p.Refresh(t.Context())
	pl.gate = access.NewGate(access.Options{Tokens: func() []access.Token { return all }, Cookie: "cronce-shop", OneTime: "one-time"})
	var err error
	pl.Handler, err = New(Options{Projection: pl.p, Store: s, Gate: pl.gate, Hosts: []string{"ops.example.com", "dotted.example."}, Metrics: http.NotFoundHandler()})
	if err != nil {
		t.Fatal(err)
	}
	return pl
}

// fail makes the next tick of the job end with an error.
func fail(t *testing.T, s *memlock.Store, mark int64, failure string) {
	t.Helper()
	tick := (mark/1000 + 1) * 1000
	time.Sleep(time.Until(time.UnixMilli(tick)))
	c := series.Claim{Key: "report", Owner: "web-1/x", Number: tick, After: mark, TTL: 10 * time.Second, Deadline: time.Minute, Attempts: 1, Latest: tick + 60_000, Revision: "r"}
	a := s.Claim(t.Context(), []series.Claim{c})[0]
	if a.Kind != series.KindGranted {
		t.Fatalf("%v %v", a.Kind, a.Err)
	}
	e := series.EndRequest{RunRef: series.RunRef{Key: "report", Number: tick, Owner: c.Owner, Fence: a.Fence}, Outcome: series.OutcomeFailed, Error: series.ErrorText(failure)}
	if end := s.ReleaseRuns(t.Context(), []series.EndRequest{e})[0]; end.Err != nil {
		t.Fatal(end.Err)
	}
	if err := series.FrontOf(s).KeepOutput(t.Context(), series.Output{Key: "report", Number: tick, Fence: a.Fence, Text: "began\n" + failure}); err != nil {
		t.Fatal(err)
	}
}

// do sends a request with a token, or without one, and returns the response.
func (pl *plane) do(method, target, token string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, nil)
	r.Host = "127.0.0.1:8090"
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i+1 < len(header); i += 2 {
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	pl.ServeHTTP(w, r)
	return w
}

// address returns an address that a route serves.
func address(pattern string) (method, target string) {
	method, target, found := strings.Cut(pattern, " ")
	if !found {
		method, target = "GET", pattern
	}
	target = strings.NewReplacer("{$}", "", "{job}", "report", "{tick}", "2026-11-23T02:00:00Z", "{name}", "none").Replace(target)
	return method, target
}

// Each route refuses a request without a token, and one with an unknown token, unless it returns no
// data. Each admits the roles that it names. A route that is no read is for operators.
func TestRoutesAndRoles(t *testing.T) {
	pl := newPlane(t, "")
	openRoutes := []string{"GET /healthz", "GET /readyz", "GET /assets/{name}", "GET /login", "POST /login", "POST /logout", "POST /theme"}
	for _, rt := range pl.routes() {
		method, target := address(rt.pattern)
		if rt.role == access.None {
			if !strings.Contains(strings.Join(openRoutes, "|"), rt.pattern) {
				t.Errorf("%s is open", rt.pattern)
			}
			continue
		}
		if method != "GET" && rt.role < access.Operator {
			t.Errorf("%s changes something", rt.pattern)
		}
		for _, token := range []string{"", "cro_unknown"} {
			w := pl.do(method, target, token)
			if closed := w.Code == http.StatusUnauthorized || w.Code == http.StatusSeeOther && strings.HasPrefix(w.Header().Get("Location"), "/login"); !closed {
				t.Errorf("%s with the token %q: %d", rt.pattern, token, w.Code)
			}
			if demand := w.Header().Get("WWW-Authenticate"); w.Code == http.StatusUnauthorized && demand != `Bearer realm="cronce"` {
				t.Errorf("%s with the token %q demands %q", rt.pattern, token, demand)
			}
			if strings.Contains(w.Body.String(), "web-1") || strings.Contains(w.Body.String(), "@every") {
				t.Errorf("%s answers with data without a token", rt.pattern)
			}
		}
		if rt.pattern == "GET /events" { // it does not end
			continue
		}
		for role, token := range pl.tokens {
			if w := pl.do(method, target, token); (w.Code == http.StatusForbidden) != (role < rt.role) || w.Code == http.StatusUnauthorized {
				t.Errorf("%s as %s: %d", rt.pattern, role, w.Code)
			}
		}
	}
}

// A foreign host is refused unless it is of a probe, a form of another site is refused, and every response has the headers.
func TestHostsSitesAndHeaders(t *testing.T) {
	pl := newPlane(t, "")
	token := pl.tokens[access.Viewer]
	for host, code := range map[string]int{"evil.example": 421, "ops.example.com": 200, "dotted.example": 200, "127.0.0.1:1": 200, "[::1]:1": 200, "[::1]": 200, "[::1]x": 421, "": 421, "localhost": 200, "OPS.example.com.:1": 200, "127.0.0.1.evil.example": 421} {
		if w := pl.do("GET", "/api/v1/status", token, "Host", host); w.Code != code {
			t.Errorf("host %s: %d", host, w.Code)
		}
		for _, probe := range []string{"/healthz", "/readyz"} {
			wants(t, pl.do("GET", probe, "", "Host", host), http.StatusOK)
		}
	}
	for _, target := range []string{"/jobs/healthz", "/api/v1/jobs/readyz"} { // a job may have the name of a probe
		wants(t, pl.do("GET", target, token, "Host", "evil.example"), http.StatusMisdirectedRequest)
	}
	if w := pl.do("POST", "/logout", "", "Sec-Fetch-Site", "cross-site"); w.Code != http.StatusForbidden {
		t.Errorf("a form of another site: %d", w.Code)
	}
	for _, target := range []string{"/", "/login", "/api/v1/status", "/nothing", "/healthz"} {
		h := pl.do("GET", target, token).Header()
		if csp := h.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") || !strings.Contains(csp, "frame-ancestors 'none'") || strings.Contains(csp, "unsafe") {
			t.Errorf("%s: %v", target, h)
		}
		for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Referrer-Policy": "no-referrer",
			"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin"} {
			if got := h.Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", target, name, got, want)
			}
		}
	}
}

// A token begins a session in a browser. The API accepts the session only from its own pages, the
// one-time text works once, and an address does not redirect to another site.
func TestSession(t *testing.T) {
	pl := newPlane(t, "")
	post := func(form url.Values) *httptest.ResponseRecorder {
		r := httptest.NewRequest("POST", "/login", strings.NewReader(form.Encode()))
		r.Host = "localhost"
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		w := httptest.NewRecorder()
		pl.ServeHTTP(w, r)
		return w
	}
	const theme = `action="/theme"><input type="hidden" name="next" value="`
	if w := post(url.Values{"token": {"cro_wrong"}}); w.Code != http.StatusUnauthorized || len(w.Result().Cookies()) > 0 || !strings.Contains(w.Body.String(), theme+`">`) { // a browser cannot go back to a form that was sent
		t.Errorf("a wrong token: %d: %s", w.Code, w.Body)
	}
	if w := pl.do("GET", "/login?next=/jobs", ""); !strings.Contains(w.Body.String(), theme+`/login?next=/jobs">`) {
		t.Errorf("the theme does not lead back to the page: %s", w.Body)
	}
	for next, want := range map[string]string{"/jobs": "/jobs", "//evil.example": "/", "https://evil.example": "/", `/\evil`: "/", "": "/"} {
		if w := post(url.Values{"token": {pl.tokens[access.Viewer]}, "next": {next}}); w.Code != http.StatusSeeOther || w.Header().Get("Location") != want {
			t.Errorf("next %q: %d to %q", next, w.Code, w.Header().Get("Location"))
		}
	}
	cookie := post(url.Values{"token": {pl.tokens[access.Viewer]}}).Result().Cookies()[0]
	if !cookie.HttpOnly || cookie.SameSite != http.SameSiteLaxMode {
		t.Errorf("%+v", cookie)
	}
	session := cookie.Name + "=" + cookie.Value
	if w := pl.do("GET", "/jobs", "", "Cookie", session); w.Code != 200 || !strings.Contains(w.Body.String(), "report") {
		t.Errorf("%d", w.Code)
	}
	for site, code := range map[string]int{"": 401, "cross-site": 401, "none": 401, "same-origin": 200} {
		if w := pl.do("GET", "/api/v1/status", "", "Cookie", session, "Sec-Fetch-Site", site); w.Code != code {
			t.Errorf("site %q: %d", site, w.Code)
		}
	}
	forged := strings.Replace(session, "a-viewer", "a-admin", 1)
	if w := pl.do("GET", "/jobs", "", "Cookie", forged); w.Code != http.StatusSeeOther {
		t.Errorf("a forged session: %d", w.Code)
	}
	if w := pl.do("GET", "/login?token=one-time", ""); w.Code != http.StatusSeeOther || len(w.Result().Cookies()) != 1 {
		t.Errorf("once: %d", w.Code)
	}
	if w := pl.do("GET", "/login?token=one-time", ""); w.Code != 200 || len(w.Result().Cookies()) != 0 {
		t.Errorf("twice: %d", w.Code)
	}
	slow := 0
	for range 20 {
		if post(url.Values{"token": {"guess"}}).Code == http.StatusTooManyRequests {
			slow++
		}
	}
	if slow < 10 {
		t.Errorf("%d of 20 guesses were slowed down", slow)
	}
	other := post(url.Values{"token": {pl.tokens[access.Viewer]}}) // good, from the same address
	if other.Code != http.StatusSeeOther || len(other.Result().Cookies()) != 1 {
		t.Fatalf("a token after guesses: %d", other.Code)
	}
	second := cookie.Name + "=" + other.Result().Cookies()[0].Value
	if w := pl.do("POST", "/logout", "", "Cookie", session, "Sec-Fetch-Site", "same-origin"); w.Code != http.StatusSeeOther {
		t.Errorf("signing out: %d", w.Code)
	}
	if w := pl.do("GET", "/jobs", "", "Cookie", session); w.Code != http.StatusSeeOther {
		t.Errorf("a copy of the cookie of a session that has ended: %d", w.Code)
	}
	if w := pl.do("GET", "/jobs", "", "Cookie", second); w.Code != http.StatusOK {
		t.Errorf("another session of the same token: %d", w.Code)
	}
}

// Texts from a job, an error or a query stay text, on each page.
func TestHostileTexts(t *testing.T) {
	for _, hostile := range hostile.Texts {
		synctest.Test(t, func(t *testing.T) {
			pl := newPlane(t, hostile)
			token := pl.tokens[access.Viewer]
			for _, target := range []string{"/", "/jobs", "/jobs?q=" + url.QueryEscape(hostile)[:min(150, len(url.QueryEscape(hostile)))], "/jobs/report", "/nodes", "/runs", "/jobs/report/runs?verdict=failed", "/runs?node=" + url.QueryEscape(hostile)[:min(150, len(url.QueryEscape(hostile)))],
				"/jobs/report/ticks/" + pl.p.Peek().Job("report").Runs[0].Tick.Time().Format(time.RFC3339), "/jobs/" + url.PathEscape("<script>alert(1)</script>")} {
				w := pl.do("GET", target, token)
				body := w.Body.String()
				if w.Code != 200 && w.Code != 404 && w.Code != 400 {
					t.Errorf("%s: %d", target, w.Code)
				}
				for _, live := range []string{"<script>", "<img", "onerror=alert(1)>", "<svg/onload", "\x1b", "\u202e", "\x00"} {
					if strings.Contains(body, live) {
						t.Errorf("%.60s has %q of %.40q", target, live, hostile)
					}
				}
				if regexp.MustCompile(`\son\w+=|\sstyle=|href="javascript:`).MatchString(regexp.MustCompile(`>[^<]*<`).ReplaceAllString(body, "><")) && !strings.Contains(target, "q=") && !strings.Contains(target, "node=") {
					t.Errorf("%.60s has an attribute that runs: %.40q", target, hostile)
				}
				if len(body) > 100<<10 {
					t.Errorf("%.60s has %d bytes", target, len(body))
				}
			}
		})
	}
}

// The API and the page explain a tick as why does, and the API lists jobs, nodes and runs.
func TestAPI(t *testing.T) {
	pl := newPlane(t, "gateway is away")
	token := pl.tokens[access.Viewer]
	run := pl.p.Peek().Job("report").Runs[0]
	read := func(target string, value any) {
		t.Helper()
		w := pl.do("GET", target, token)
		if w.Code != 200 || w.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%s: %d %s", target, w.Code, w.Body)
		}
		if err := json.Unmarshal(w.Body.Bytes(), value); err != nil {
			t.Errorf("%s: %v", target, err)
		}
	}
	var tick struct {
		Sentence string    `json:"sentence"`
		Evidence []ops.Run `json:"evidence"`
		Output   string    `json:"output"`
	}
	path := "/jobs/report/ticks/" + run.Tick.Time().Format(time.RFC3339)
	read("/api/v1"+path, &tick)
	if !strings.Contains(tick.Sentence, "gateway is away") || len(tick.Evidence) != 1 || tick.Output != "began\ngateway is away" {
		t.Errorf("%+v", tick)
	}
	if body := pl.do("GET", path, token).Body.String(); !strings.Contains(body, strings.ReplaceAll(tick.Sentence, "'", "&#39;")) {
		t.Errorf("the page lacks %q", tick.Sentence)
	} else if !strings.Contains(body, "<pre tabindex=\"0\">\nbegan\ngateway is away</pre>") {
		t.Errorf("the page lacks the output:\n%s", body)
	}
	other := pl.do("GET", "/jobs/report/ticks/"+run.Tick.Time().Add(-time.Hour).Format(time.RFC3339), token).Body.String()
	if strings.Contains(other, "<pre") {
		t.Error("a tick without an output has one")
	}
	var st ops.Status
	if read("/api/v1/status", &st); st.State != ops.Failing || st.Needs[0].Job != "report" {
		t.Errorf("%+v", st)
	}
	for target, items := range map[string]int{"/api/v1/jobs": 1, "/api/v1/jobs?q=none": 0, "/api/v1/jobs?state=failing": 1, "/api/v1/runs": 1, "/api/v1/runs?verdict=ok": 0,
		"/api/v1/jobs/report/runs": 1, "/api/v1/nodes": 1, "/api/v1/overdue": 0} {
		var l struct {
			Items []any `json:"items"`
			Known bool  `json:"known"`
		}
		if read(target, &l); len(l.Items) != items || !l.Known {
			t.Errorf("%s: %+v", target, l)
		}
	}
	for target, code := range map[string]int{"/api/v1/jobs?limit=0": 400, "/api/v1/jobs?state=x": 400, "/api/v1/jobs/none": 404, "/api/v1/none": 404, "/api/v1/jobs/report/ticks/now": 400, "/api/v1/runs?from=x": 400} {
		if w := pl.do("GET", target, token); w.Code != code || w.Header().Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: %d %s", target, w.Code, w.Header().Get("Content-Type"))
		}
	}
}

// A client that follows next gets each job once, even while jobs are removed, and each run once.
func TestPages(t *testing.T) {
	job := func(name string) *ops.Job { return &ops.Job{Name: name} }
	all := []*ops.Job{job("a"), job("b"), job("c"), job("d"), job("e")}
	some, next, ok := page(slices.Clone(all), "name", "", 2)
	if len(some) != 2 || next != "b" || !ok {
		t.Errorf("%d %q %v", len(some), next, ok)
	}
	some, next, ok = page([]*ops.Job{all[0], all[2], all[3], all[4]}, "", "b", 2) // b is gone
	if len(some) != 2 || some[0].Name != "c" || next != "d" || !ok {
		t.Errorf("after a name that is gone: %d %q %v", len(some), next, ok)
	}
	if some, next, ok = page(slices.Clone(all), "state", "gone", 2); ok {
		t.Errorf("after a name that is gone, by state: %d %q", len(some), next)
	}

	pl := newPlane(t, "first")
	fail(t, pl.store, pl.store.ReadSeries(t.Context(), []string{"report"})[0].Mark, "second")
	pl.p.Refresh(t.Context())
	seen, after := map[string]bool{}, ""
	for range 3 {
		w := pl.do("GET", "/api/v1/runs?limit=1&after="+escapeQuery(after), pl.tokens[access.Viewer])
		var l struct {
			Items []ops.Run `json:"items"`
			Next  string    `json:"next"`
		}
		if err := json.Unmarshal(w.Body.Bytes(), &l); err != nil || len(l.Items) != 1 || seen[l.Items[0].ID] {
			t.Fatalf("%v: %s", err, w.Body)
		}
		seen[l.Items[0].ID] = true
		if after = l.Next; after == "" {
			break
		}
	}
	if len(seen) != 2 || after != "" {
		t.Errorf("%v, next %q", seen, after)
	}
}

// The list of runs has the runs that its filter selects, the ticks of a day by their states, and since
// when it is complete.
func TestRunsPage(t *testing.T) {
	pl := newPlane(t, "the gateway is away")
	token := pl.tokens[access.Viewer]
	for target, want := range map[string][]string{
		"/runs":                             {">report<", "the gateway is away", "<b>1</b> failing", "All that was ever recorded was searched."},
		"/jobs/report/runs":                 {"the gateway is away", "<b>1</b> failing", "All that was ever recorded was searched."},
		"/jobs/report/runs?verdict=failed":  {"the gateway is away", "<option selected>failed</option>"},
		"/jobs/report/runs?verdict=lost":    {"No such run is on record.", "<b>1</b> failing"},
		"/jobs/report/runs?verdict=lots":    {"verdict is &#34;lots&#34;"},
		"/runs?from=yesterday":              {"from is &#34;yesterday&#34;"},
		"/runs?node=web-1&after=no-such-id": {"must be the next of an answer"},
		"/jobs/report/runs?after=nothing":   {"after is &#34;nothing&#34;"},
		"/jobs/none/runs":                   {"There is no job of this name on record."},
	} {
		body := pl.do("GET", target, token).Body.String()
		for _, part := range want {
			if !strings.Contains(body, part) {
				t.Errorf("%s lacks %q:\n%s", target, part, body[strings.Index(body, "<main"):])
			}
		}
	}
}

// A page has fifty runs, and the next one goes on behind them, whatever the name of the job.
func TestRunsPageGoesOn(t *testing.T) {
	var runs []ops.Run
	for i := range 2*defaultLimit + 1 {
		at := time.UnixMilli(int64(1000 * (1000 - i))).UTC()
		runs = append(runs, ops.Run{ID: at.String(), Tick: ops.InstantOf(at), Recorded: ops.InstantOf(at)})
	}
	for _, first := range []string{"/runs?verdict=ok", "/jobs/a%2Fb%3F50%25/runs?verdict=ok"} {
		target, seen := first, 0
		for target != "" {
			r := httptest.NewRequest("GET", target, nil)
			var b runsBody
			rest := runs
			if strings.HasPrefix(target, "/jobs/") {
				b.Job = new(ops.Job)
				var after time.Time
				if fault := instant(r, "after", &after); fault != "" {
					t.Fatal(fault)
				}
				if !after.IsZero() {
					rest = slices.DeleteFunc(slices.Clone(runs), func(run ops.Run) bool { return !run.Tick.Time().Before(after) })
				}
			} else if last, fault := runOf(r.FormValue("after")); fault != "" {
				t.Fatal(fault)
			} else if last.ID != "" {
				rest = slices.DeleteFunc(slices.Clone(runs), func(run ops.Run) bool { return ops.Newer(last, run) >= 0 })
			}
			b.cut(r, rest)
			for i := range b.Runs {
				if b.Runs[i].ID != runs[seen].ID {
					t.Fatalf("%s begins with %v", target, b.Runs[i].Tick)
				}
				seen++
			}
			if target = b.Next; target != "" && !strings.HasPrefix(target, strings.TrimSuffix(first, "?verdict=ok")) {
				t.Fatalf("the next page is %s", target)
			}
		}
		if seen != len(runs) {
			t.Errorf("%s: %d of %d runs are listed", first, seen, len(runs))
		}
	}
}
