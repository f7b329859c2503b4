package terminal

import (
	"log/slog"
	"strings"
	"testing"
	"time"
)

// Times, numbers, names and nouns are written for a person.
func TestTexts(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	names := []string{"a", "b", "c"}
	for got, want := range map[string]string{
		ShortTime(time.Time{}, now):           "-",
		ShortTime(now.Add(-time.Hour), now):   "02:04:05",
		ShortTime(now.Add(-4*time.Hour), now): "2026-01-01 23:04:05",
		RFC3339(now.UnixMilli()):              "2026-01-02T03:04:05Z",
		Number(0) + Number(7):                 "-7",
		Dash("") + Dash("x"):                  "-x",
		Names(names, 3):                       "a, b, c",
		Names(names, 2):                       "a, b and 1 more",
		Plural(0, "tick"):                     "0 ticks",
		Plural(1, "process"):                  "1 process",
		Plural(2, "process"):                  "2 processes",
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	var row strings.Builder
	if PrintRow(&row, "a\tb", 7, "\x1b"); row.String() != "a\\tb\t7\t\\x1b\n" {
		t.Errorf("%q", row.String())
	}
}

// A fault of an HTTP server is one line of the log. A client that fails in its TLS handshake writes none at the usual level.
func TestServerLog(t *testing.T) {
	var out strings.Builder
	log := ServerLog(slog.New(slog.NewTextHandler(&out, nil)))
	log.Print("http: TLS handshake error from 192.0.2.1:4711: EOF\n")
	log.Print("http: odd\n")
	if got := out.String(); strings.Count(got, "\n") != 1 || !strings.HasSuffix(got, `level=WARN msg="http fault" text="http: odd"`+"\n") {
		t.Error(got)
	}
}
