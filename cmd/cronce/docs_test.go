package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/cmd/internal/shown"
)

// documents returns the pages that show commands, by name.
func documents(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, pattern := range []string{"../../*.md", "../../docs/*.md"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			all[path] = string(text)
		}
	}
	return all
}

// Every command that the documents show exists, and takes the flags that it is shown with. The change
// log describes the past.
func TestDocumentedCommands(t *testing.T) {
	t.Parallel()
	count, faults := shown.Program{New: rootCommand}.Pages("../../README.md", "../../[D-Z]*.md", "../../docs/*.md")
	for _, err := range faults {
		t.Error(err)
	}
	if count < 30 {
		t.Errorf("found %d commands: the documents show more", count)
	}
}

// Each command that is not hidden has an example, with existing flags.
func TestHelpHasExamples(t *testing.T) {
	t.Parallel()
	for _, err := range (shown.Program{New: rootCommand}).Examples() {
		t.Error(err)
	}
}

// A node accepts every configuration that the documents show.
func TestDocumentedConfigurations(t *testing.T) {
	t.Parallel()
	block := regexp.MustCompile("(?ms)^<!-- config -->\n```yaml\n(.*?)^```$")
	found := 0
	for page, text := range documents(t) {
		for _, m := range block.FindAllStringSubmatch(text, -1) {
			found++
			if r := cronce(t, "node", "--check", "--config", file(t, "config.yaml", m[1])); r.code != exit.Fine {
				t.Errorf("%s: exit code %d\n%s%s\n%s", page, r.code, r.stdout, r.stderr, m[1])
			}
		}
	}
	if found == 0 {
		t.Error("no page has a configuration")
	}
}
