package web

import (
	"strings"
	"testing"

	"github.com/cronce/cronce/ops/access"
)

// An unknown parameter or value is an error that names it and the allowed ones. A parameter with two values, and a query
// that cannot be read as a whole, are errors too.
func TestParameters(t *testing.T) {
	pl := newPlane(t, "")
	token := pl.tokens[access.Viewer]
	for target, want := range map[string][]string{
		"/api/v1/status?q=x":                       {`\"q\"`, `\"x\"`, "none is allowed"},
		"/api/v1/jobs?nmae=x":                      {`\"nmae\"`, `\"x\"`, "allowed are q, state, sort, limit, after"},
		"/api/v1/jobs?state=overdo":                {"state is", `\"overdo\"`, "overdue"},
		"/api/v1/jobs?sort=age":                    {"sort is", `\"age\"`, "name, state, next, last"},
		"/api/v1/jobs/report/ticks/now":            {"the tick is", `\"now\"`, "RFC 3339"},
		"/api/v1/jobs?limit=501":                   {"limit is", `\"501\"`, "1 to 500"},
		"/api/v1/jobs?sort=next&after=gone":        {"after is", `\"gone\"`, "sort by name"},
		"/api/v1/runs?verdict=lots":                {"verdict is", `\"lots\"`, "lost"},
		"/api/v1/runs?state=lots":                  {"state is", `\"lots\"`, "alive"},
		"/api/v1/runs?from=yesterday":              {"from is", `\"yesterday\"`, "RFC 3339"},
		"/api/v1/runs?after=x":                     {"after is", `\"x\"`, "next of an answer"},
		"/api/v1/jobs/report/runs?after=x":         {"after is", `\"x\"`, "RFC 3339"},
		"/api/v1/jobs/report/runs?verdict=Ran":     {"verdict is", `\"Ran\"`, "ran"},
		"/api/v1/nodes?all=1":                      {`\"all\"`, "none is allowed"},
		"/api/v1/overdue?job=report":               {`\"job\"`, "none is allowed"},
		"/api/v1/jobs/report?x=1":                  {`\"x\"`, "none is allowed"},
		"/api/v1/jobs/report/ticks/2026-11-23?x=1": {`\"x\"`, "none is allowed"},
		"/api/v1/runs?verdict=ran&verdict=lost":    {`\"verdict\" has 2 values`, "ran, lost"},
		"/api/v1/runs?verdict=%zz":                 {"the query cannot be read", "%zz"},
		"/api/v1/runs?verdict=lost;node=a":         {"the query cannot be read", "semicolon"},
	} {
		w := pl.do("GET", target, token)
		if w.Code != 400 {
			t.Errorf("%s: %d", target, w.Code)
		}
		for _, part := range want {
			if !strings.Contains(w.Body.String(), part) {
				t.Errorf("%s lacks %s: %s", target, part, w.Body)
			}
		}
	}
}

// A path of the API that has other methods names them, and one that has none does not exist.
func TestMethods(t *testing.T) {
	pl := newPlane(t, "")
	for request, allow := range map[string]string{
		"DELETE /api/v1/jobs":                  "GET, HEAD",
		"POST /api/v1/status":                  "GET, HEAD",
		"GET /api/v1/jobs/report/pause":        "POST",
		"PUT /api/v1/jobs/report/runs":         "GET, HEAD, POST",
		"POST /api/v1/jobs/report/ticks/x":     "GET, HEAD",
		"PUT /api/v1/jobs/report/ticks/x/skip": "POST",
		"PUT /api/v1/nothing":                  "",
		"GET /api/":                            "",
		"PUT /jobs":                            "GET, HEAD",
		"DELETE /jobs/report":                  "GET, HEAD",
		"OPTIONS /":                            "GET, HEAD",
		"PUT /changes":                         "GET, HEAD, POST",
		"GET /jobs/report/pause":               "POST",
		"POST /healthz":                        "GET, HEAD",
		"PUT /nothing":                         "",
	} {
		method, target, _ := strings.Cut(request, " ")
		want, part := 405, "allowed are "+allow
		if allow == "" {
			want, part = 404, "no such "
		}
		w := pl.do(method, target, pl.tokens[access.Operator])
		if w.Code != want || w.Header().Get("Allow") != allow || !strings.Contains(w.Body.String(), part) {
			t.Errorf("%s: %d, Allow %q: %s", request, w.Code, w.Header().Get("Allow"), w.Body)
		}
	}
	if w := pl.do("POST", "/healthz", ""); w.Code != 405 || w.Header().Get("Allow") != "GET, HEAD" { // also without a session
		t.Errorf("%d, Allow %q: %s", w.Code, w.Header().Get("Allow"), w.Body)
	}
}
