package web

import (
	"net/http/httptest"
	"slices"
	"testing"
)

// Each event of a stream is a line with its kind, a line with its data and one empty line, even if its parts have line breaks and markup:
// the page splits the stream at empty lines, and would not find an end that follows a further one.
func TestEventsAreThreeLines(t *testing.T) {
	pl := newPlane(t, "the gateway\nis <away>")
	server := httptest.NewServer(pl)
	t.Cleanup(server.Close)
	f := pl.follow(t.Context(), t, server, "/jobs/report")
	for range 3 {
		var lines []string
		for range 3 {
			if !f.lines.Scan() {
				t.Fatalf("the stream ended: %v", f.lines.Err())
			}
			lines = append(lines, f.lines.Text()[:min(len(f.lines.Text()), 7)])
		}
		if want := []string{"event: ", "data: {", ""}; !slices.Equal(lines, want) {
			t.Fatalf("the lines of an event begin with %q, want %q", lines, want)
		}
		pl.p.Refresh(t.Context())
	}
}
