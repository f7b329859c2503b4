// Package readme holds the README, and the pages beside it, to what they say.
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
	"log"

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
	block := regexp.MustCompile("(?s)```go\n(" + begin + ".*?)```").FindStringSubmatch(read(t, filepath.Join(root, "README.md")))
	if block == nil {
		t.Fatalf("the README has no block that begins with %q", begin)
	}
	vet(t, head+block[1])
}

// pageHead declares what the blocks of a page name and do not make.
const pageHead = `package page

import (
	"context"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/redislock"
)

var (
	ctx    context.Context
	client redis.UniversalClient
	locker *lock.Locker
	log    *zap.Logger
	send   func(ctx context.Context, fence int64) error
	_      = redislock.New
)
`

// Every block of Go on the other pages compiles as the body of a function.
func TestPagesCompile(t *testing.T) {
	blocks := 0
	for _, page := range pages(t) {
		source := pageHead
		for _, block := range regexp.MustCompile("(?ms)^ *```go\n(.*?)^ *```").FindAllStringSubmatch(read(t, page), -1) {
			source += "\nfunc _() (err error) {\n" + block[1] + "return err\n}\n"
			blocks++
		}
		if source != pageHead {
			t.Run(filepath.Base(page), func(t *testing.T) { vet(t, source) })
		}
	}
	if blocks == 0 {
		t.Error("no page has a block of Go")
	}
}

// vet fails the test unless go vet has nothing to say about a file.
func vet(t *testing.T, source string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	vet := exec.CommandContext(t.Context(), "go", "vet", file)
	vet.Dir = root
	if out, err := vet.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s\n%s", err, out, source)
	}
}

// pages are the documentation beside the README.
func pages(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func read(t *testing.T, page string) string {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Every file and folder that the documentation links to exists.
func TestLinksExist(t *testing.T) {
	for _, page := range append(pages(t), filepath.Join(root, "README.md"), filepath.Join(root, "CONTRIBUTING.md")) {
		for _, m := range regexp.MustCompile(`\]\(([^)#]+)\)`).FindAllStringSubmatch(read(t, page), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			if _, err := os.Stat(filepath.Join(filepath.Dir(page), m[1])); err != nil {
				t.Errorf("%s links to %s: %v", page, m[1], err)
			}
		}
	}
}
