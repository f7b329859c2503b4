// Package readme holds the README to what it says.
package readme

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const root = "../.."

// The README's program compiles as it stands.
func TestProgramCompiles(t *testing.T) {
	compiles(t, "", "package main")
}

// So does its function that uses a lock, in a file that imports what it names.
func TestLockCompiles(t *testing.T) {
	compiles(t, `package shop

import (
	"context"
	"database/sql"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/guard"
	"github.com/cronce/cronce/lock/redislock"
)

var _ = markSent

`, "func markSent")
}

// compiles vets the README's block that begins with these words, behind a head.
func compiles(t *testing.T, head, begin string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```go\n(" + begin + ".*?)```").FindSubmatch(text)
	if block == nil {
		t.Fatalf("the README has no block that begins with %q", begin)
	}
	file := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(file, append([]byte(head), block[1]...), 0o600); err != nil {
		t.Fatal(err)
	}
	vet := exec.CommandContext(t.Context(), "go", "vet", file)
	vet.Dir = root
	if out, err := vet.CombinedOutput(); err != nil {
		t.Errorf("the README's program: %v\n%s", err, out)
	}
}

// Every file and folder that the documentation links to exists.
func TestLinksExist(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append(pages, filepath.Join(root, "README.md"), filepath.Join(root, "CONTRIBUTING.md")) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`\]\(([^)#]+)\)`).FindAllStringSubmatch(string(text), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), m[1])); err != nil {
				t.Errorf("%s links to %s: %v", page, m[1], err)
			}
		}
	}
}
