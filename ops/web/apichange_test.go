package web

import (
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
		`{"reason":"for the night","who":"root"}`: {"application/json", 400, `the field \"who\" is not known: allowed are reason, until, seen, queue, while_paused, dry_run, back, from, to, only, room, digest`},
		`{"reason":"for the night"} {}`:           {"application/json", 400, "follows"},
		`reason=for the night`:                    {"application/json", 400, "the body must be a JSON object: it is no JSON at byte 1"},
		``:                                        {"application/json", 400, "the body must be a JSON object, and is empty"},
		`{"reason":`:                              {"application/json", 400, "the body must be a JSON object, and ends too early"},
		`[]`:                                      {"application/json", 400, "the body must be a JSON object, and is an array"},
		`7`:                                       {"application/json", 400, "the body must be a JSON object, and is a number"},
		`{"reason":7}`:                            {"application/json", 400, "reason is a number, must be a string"},
		`{"reason":"for the night","seen":"7"}`:   {"application/json", 400, "seen is a string, must be a whole number"},
		`{"reason":"for the night","seen":1.5}`:   {"application/json", 400, "seen is the number 1.5, must be a whole number"},
		`{"reason":"for the night","queue":"yes"}`:         {"application/json", 400, "queue is a string, must be true or false"},
		`{"reason":"for the night","seen":-1}`:             {"application/json", 400, "seen"},
		`{"reason":"for the night","until":"x"}`:           {"application/json; charset=utf-8", 400, "until is"},
		`{}`:                                               {"application/json", 400, "reason is"},
		`{"reason":"` + strings.Repeat("a", 65<<10) + `"}`: {"application/json", 413, "64 KiB"},
	} {
		pl := newPlane(t, "") // with an allowance of its own
		wants(t, pl.send(pl.Handler, pl.tokens[access.Operator], "/api/v1/jobs/report/pause", body, "Content-Type", c.kind), c.code, c.want)
		if n := pl.changes(t, "report"); n != 0 {
			t.Errorf("%s: %d changes were made", body, n)
		}
	}
}
