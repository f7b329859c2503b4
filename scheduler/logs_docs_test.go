package scheduler_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Each kind of event, and each other line of the log, has a row in the table of docs/operating.md,
// and each row belongs to one of these.
func TestLinesAreDocumented(t *testing.T) {
	t.Parallel()
	read := func(name string) string {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	lines := map[string]bool{"log lines lost": true} // written by package delivery
	for _, m := range regexp.MustCompile(`EventKind = "([^"]+)"`).FindAllStringSubmatch(read("observer.go"), -1) {
		lines[m[1]] = true
	}
	if len(lines) < 20 {
		t.Fatalf("only %d kinds of events are found", len(lines))
	}
	for _, m := range regexp.MustCompile(`write\((?:level|slog\.Level\w+), "([^"]+)"`).FindAllStringSubmatch(read("events.go"), -1) {
		lines[m[1]] = true
	}
	_, section, _ := strings.Cut(read("../docs/operating.md"), "\n## Logs\n")
	section, _, _ = strings.Cut(section, "\n## ")
	for line := range lines {
		if !strings.Contains(section, "`"+line+"`") {
			t.Errorf("docs/operating.md does not have %q", line)
		}
	}
	for row := range strings.Lines(section) {
		if !strings.HasPrefix(row, "| `") {
			continue
		}
		messages, _, _ := strings.Cut(row[1:], "|")
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(messages, -1) {
			if !lines[m[1]] {
				t.Errorf("docs/operating.md has %q, want one of %q", m[1], slices.Sorted(maps.Keys(lines)))
			}
		}
	}
}
