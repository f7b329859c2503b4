// Package readme checks that the README and the other pages are correct.
package readme

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

// pages returns the README, the documentation in docs, and the other pages at the root.
func pages(t *testing.T) []string {
	t.Helper()
	all := []string{"README.md", "CONTRIBUTING.md", "SECURITY.md", "bench/README.md", "examples/README.md"}
	docs, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil || len(docs) == 0 {
		t.Fatalf("no pages in docs: %v", err)
	}
	for _, page := range docs {
		all = append(all, "docs/"+filepath.Base(page))
	}
	return all
}

// read returns a file of the repository.
func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A new user reads the README first, and should read it to its end.
func TestReadmeIsShort(t *testing.T) {
	const most = 180
	if n := strings.Count(read(t, "README.md"), "\n"); n > most {
		t.Errorf("the README has %d lines, want %d at most", n, most)
	}
}

// Every page of docs is in the index, and the README links to the pages that are not about an
// example.
func TestIndexIsWhole(t *testing.T) {
	index, readme := targets(read(t, "docs/README.md")), targets(read(t, "README.md"))
	for _, page := range pages(t) {
		name, inside := strings.CutPrefix(page, "docs/")
		if !inside || name == "README.md" {
			continue
		}
		if !slices.Contains(index, name) {
			t.Errorf("docs/README.md has no link to %s", name)
		}
		if !slices.Contains(readme, page) {
			t.Errorf("README.md has no link to %s", page)
		}
	}
}

// Every example is in the list of examples.
func TestExamplesAreListed(t *testing.T) {
	list := targets(read(t, "examples/README.md"))
	programs, err := filepath.Glob(filepath.Join(root, "examples", "*", "main.go"))
	if err != nil || len(programs) == 0 {
		t.Fatalf("no examples: %v", err)
	}
	for _, program := range programs {
		if name := filepath.Base(filepath.Dir(program)); !slices.Contains(list, name+"/main.go") {
			t.Errorf("examples/README.md has no link to %s", name)
		}
	}
}
