package web

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cronce/cronce/ops/access"
)

// A long text that a caller has sent is cut between two characters, so that the answer and the title of a page have no half of one.
func TestClip(t *testing.T) {
	for text, want := range map[string]string{
		"":                            "",
		strings.Repeat("a", 100):      strings.Repeat("a", 100),
		strings.Repeat("a", 101):      strings.Repeat("a", 100) + "…",
		"a" + strings.Repeat("é", 60): "a" + strings.Repeat("é", 49) + "…",
		strings.Repeat("\x80", 200):   "…",
	} {
		if got := clip(text); got != want {
			t.Errorf("%q is cut to %q, want %q", text, got, want)
		}
	}
	pl := newPlane(t, "")
	long := escapeQuery("a" + strings.Repeat("é", 60))
	for _, target := range []string{"/audit?job=" + long, "/api/v1/status?" + long + "=x"} {
		if body := pl.do("GET", target, pl.tokens[access.Viewer]).Body.String(); !utf8.ValidString(body) || strings.ContainsRune(body, utf8.RuneError) || strings.Contains(body, `\xc3`) {
			t.Errorf("%s has half of a character: %.400s", target, body)
		}
	}
}
