package web

import (
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/cronce/cronce/ops/access"
)

// A body that is no object of known fields, in JSON, changes nothing.
func TestChangeBodies(t *testing.T) {
	for body, c := range map[string]struct {
		kind string
		code int
		want string
	}{
		`{"reason":"for the night"}`:              {"text/plain", 415, "application/json"},
		`{"reason":"for the night" }`:             {"", 415, "application/json"},
		`{"reason":"for the night","who":"root"}`: {"application/json", 400, `the field \"who\" is not known: allowed are reason, until, seen"`},
		`{"reason":"for the night"} {}`:           {"application/json", 400, "follows"},
		`reason=for the night`:                    {"application/json", 400, "the body must be a JSON object: it is no JSON at byte 1"},
		``:                                        {"application/json", 400, "the body must be a JSON object, and is empty"},
		`{"reason":`:                              {"application/json", 400, "the body must be a JSON object, and ends too early"},
		`[]`:                                      {"application/json", 400, "the body must be a JSON object, and is an array"},
		`7`:                                       {"application/json", 400, "the body must be a JSON object, and is a number"},
		`{"reason":7}`:                            {"application/json", 400, "reason is a number, must be a string"},
		`{"reason":"for the night","seen":"7"}`:   {"application/json", 400, "seen is a string, must be a whole number"},
		`{"reason":"for the night","seen":1.5}`:   {"application/json", 400, "seen is the number 1.5, must be a whole number"},
		`{"reason":"for the night","queue":"yes"}`:       {"application/json", 400, "queue is a string, must be true or false"},
		`{"reason":"for the night","seen":-1}`:           {"application/json", 400, "seen is -1, must be the number of a change, 0 or more"},
		`{"reason":"for the night","until":"x"}`:         {"application/json; charset=utf-8", 400, "until is"},
		`{"reason":"for the night","until":"+9999999h"}`: {"application/json; charset=utf-8", 400, "up to 2562047h"},
		`{}`: {"application/json", 400, "reason is"},
		`{"reason":"` + strings.Repeat("a", 65<<10) + `"}`: {"application/json", 413, "64 KiB"},
	} {
		pl := newPlane(t, "") // with an allowance of its own
		wants(t, pl.send(pl.Handler, pl.tokens[access.Operator], "/api/v1/jobs/report/pause", body, "Content-Type", c.kind), c.code, c.want)
		if n := pl.changes(t, "report"); n != 0 {
			t.Errorf("%s: %d changes were made", body, n)
		}
	}
}

// A field that is not known is answered with those that belong to the action: all of them are accepted,
// and others are refused. A key that is too long is named as the header that it is.
func TestFieldsOfActions(t *testing.T) {
	values := map[string]string{"reason": `"by hand"`, "until": `"+1m"`, "seen": "0", "queue": "true", "while_paused": "true", "dry_run": "true", "back": "true",
		"from": `"2026-01-01 00:00"`, "to": `"2026-01-01 00:01"`, "only": `"missed"`, "room": `"30s"`, "digest": `"x"`}
	for path, want := range map[string]string{
		"pause": "reason, until, seen", "resume": "reason, seen", "ticks/2026-01-01T00:00:00Z/skip": "reason, seen, back", "ticks/2026-01-01T00:00:00Z/cancel": "reason",
		"runs": "reason, until, queue, while_paused, dry_run", "backfills": "reason, while_paused, dry_run, from, to, only, room, digest", "backfills/stop": "reason",
	} {
		pl := newPlane(t, "")
		api := func(body string) *httptest.ResponseRecorder {
			return pl.send(pl.Handler, pl.tokens[access.Operator], "/api/v1/jobs/report/"+path, body, "Content-Type", "application/json")
		}
		wants(t, api(`{"who":1}`), 400, "allowed are "+want+`"`)
		allowed := strings.Split(want, ", ")
		for name, value := range values {
			w := api(`{"` + name + `":` + value + `}`)
			if name == "seen" { // of the other actions it is ignored
				continue
			}
			if refused := strings.Contains(w.Body.String(), " belong"); refused == slices.Contains(allowed, name) {
				t.Errorf("%s with %s: %s", path, name, w.Body)
			}
		}
	}
	pl := newPlane(t, "")
	w := pl.send(pl.Handler, pl.tokens[access.Operator], "/api/v1/jobs/report/pause", `{"reason":"by hand"}`, "Content-Type", "application/json", keyHeader, strings.Repeat("k", 300))
	wants(t, w, 400, `"the header Idempotency-Key is \"kkk`, "must be 1 to ")
}
