package serverprocess

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// A recorder is a test that records whether it must skip or fail.
type recorder struct {
	testing.TB
	verdict string
}

func (r *recorder) Helper() {}

func (r *recorder) Skipf(format string, args ...any)  { r.end("skip: " + fmt.Sprintf(format, args...)) }
func (r *recorder) Fatalf(format string, args ...any) { r.end("fail: " + fmt.Sprintf(format, args...)) }
func (r *recorder) Fatal(args ...any)                 { r.end("fail: " + fmt.Sprint(args...)) }

func (r *recorder) end(verdict string) {
	r.verdict = verdict
	panic(r)
}

func record(t *testing.T, f func(testing.TB)) string {
	r := &recorder{TB: t}
	func() {
		defer func() {
			if p := recover(); p != nil && p != r {
				panic(p)
			}
		}()
		f(r)
	}()
	return r.verdict
}

func TestMissing(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for require, want := range map[string]string{
		"":  "skip: mouse is not installed (Debian: apt-get install mice)",
		"1": "fail: mouse is not installed and CRONCE_REQUIRE_SERVERS=1 requires it (Debian: apt-get install mice)",
	} {
		t.Setenv(Require, require)
		if got := record(t, func(tb testing.TB) { Find(tb, "mouse", "mice", filepath.Join(t.TempDir(), "*")) }); got != want {
			t.Errorf("verdict %q, want %q", got, want)
		}
	}
}

// Find prefers a program in PATH, and otherwise takes the latest version in the folders.
func TestFind(t *testing.T) {
	folders := t.TempDir()
	for _, version := range []string{"14", "15"} {
		install(t, filepath.Join(folders, version))
	}
	t.Setenv("PATH", t.TempDir())
	if got, want := Find(t, "mouse", "mice", "/nowhere", filepath.Join(folders, "*")), filepath.Join(folders, "15", "mouse"); got != want {
		t.Errorf("Find = %s, want %s", got, want)
	}
	first := t.TempDir()
	install(t, first)
	t.Setenv("PATH", first)
	if got, want := Find(t, "mouse", "mice", filepath.Join(folders, "*")), filepath.Join(first, "mouse"); got != want {
		t.Errorf("Find = %s, want %s", got, want)
	}
}

func install(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "mouse"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}
