package readme

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A block is a block of Go on a page. If a comment above it names a file, the block is a part of
// that file; the other blocks are a program, a declaration, or the body of a function.
type block struct {
	file string // below the root; empty: none is named
	text string
}

var goBlock = regexp.MustCompile("(?ms)^(?:<!-- file: (\\S+) -->\n)? *```go\n(.*?)^ *```$")

func blocks(t *testing.T, page string) (all []block) {
	t.Helper()
	for _, m := range goBlock.FindAllStringSubmatch(read(t, page), -1) {
		all = append(all, block{file: m[1], text: m[2]})
	}
	return all
}

// A block that names a file is contained in that file, which the compiler, the linter and the tests
// of its package read.
func TestBlocksAreOfTheirFiles(t *testing.T) {
	named := 0
	for _, page := range pages(t) {
		for _, b := range blocks(t, page) {
			if b.file == "" {
				continue
			}
			named++
			if !strings.Contains(read(t, b.file), b.text) {
				t.Errorf("%s: a block is no part of %s:\n%s", page, b.file, b.text)
			}
		}
	}
	if named < 5 {
		t.Errorf("%d blocks name a file: the README, getting started and testing have more", named)
	}
}

// pageHead declares the names that the blocks of a page use and do not declare.
const pageHead = `package page

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"
	"go.uber.org/zap/exp/zapslog"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/guard"
	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/lock/redislock"
	"github.com/cronce/cronce/scheduler"
)

var (
	ctx    context.Context
	client redis.UniversalClient
	locker *lock.Locker
	log    *slog.Logger
	logger *zap.Logger
	config scheduler.Config
	_      = zapslog.NewHandler
	send   func(ctx context.Context, fence int64) error
	job    scheduler.Job
	tick   time.Time
	_      = redislock.New
	_      = guard.Written
	_      = memlock.New
	_      = errors.Is
	_      = fmt.Errorf
	_      *sql.DB
)
`

// Every block of Go that names no file compiles: a declaration without changes, other blocks as the body of a function.
// One command compiles all pages, each as a package that is only in the compiler's view of the module.
func TestPagesCompile(t *testing.T) {
	view := struct{ Replace map[string]string }{map[string]string{}}
	var packages []string
	for _, page := range pages(t) {
		source := pageHead
		for _, b := range blocks(t, page) {
			switch {
			case b.file != "":
			case strings.Contains("\n"+b.text, "\nfunc "):
				source += "\n" + b.text
			default:
				source += "\nfunc _() (err error) {\n" + b.text + "return err\n}\n"
			}
		}
		if source == pageHead {
			continue
		}
		name := strings.TrimSuffix(strings.ReplaceAll(page, "/", "_"), ".md")
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
			t.Fatal(err)
		}
		view.Replace["internal/readme/"+name+"/page.go"] = file // below root, where the command runs
		packages = append(packages, "./internal/readme/"+name)
	}
	if len(packages) == 0 {
		t.Fatal("no page has a block of Go")
	}
	overlay := filepath.Join(t.TempDir(), "overlay.json")
	text, err := json.Marshal(view)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(overlay, text, 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.CommandContext(t.Context(), "go", append([]string{"build", "-overlay", overlay}, packages...)...)
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
