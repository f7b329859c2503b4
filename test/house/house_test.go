package main

import (
	"flag"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
)

const root = "../.."

var update = flag.Bool("update", false, "write testdata/names.golden")

var readOnce = sync.OnceValues(func() ([]*file, error) { return readTree(root) })

func tree(t *testing.T) []*file {
	t.Helper()
	files, err := readOnce()
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 500 {
		t.Fatalf("found %d files: the project has more", len(files))
	}
	return files
}

// The exported names of the library match the golden file, so that each new one shows in a diff. These tests read files outside of
// their module, which the cache of go test does not notice: run them with -count=1.
func TestNames(t *testing.T) {
	const golden = "testdata/names.golden"
	got := surface(tree(t))
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	added, removed := difference(string(want), got)
	for _, n := range added {
		t.Errorf("+ %s", n)
	}
	for _, n := range removed {
		t.Errorf("- %s", n)
	}
	if t.Failed() {
		t.Error("if this is intended, run in the folder test: go test ./house -run TestNames -update")
	}
}

// difference returns the names that only one of two surfaces has, each with its package.
func difference(before, after string) (added, removed []string) {
	qualified := func(text string) (all []string) {
		folder := ""
		for row := range strings.Lines(text) {
			n, indented := strings.CutPrefix(strings.TrimRight(row, "\n"), "\t")
			if !indented {
				folder = n
				continue
			}
			all = append(all, folder+"."+n)
		}
		return all
	}
	old, now := qualified(before), qualified(after)
	without := func(all, others []string) []string {
		return slices.DeleteFunc(slices.Clone(all), func(n string) bool { return slices.Contains(others, n) })
	}
	return without(now, old), without(old, now)
}

func TestDifference(t *testing.T) {
	added, removed := difference("a\n\tX func\n\tY type\nb\n\tX func\n", "a\n\tX func\nb\n\tX func\n\tZ var\n")
	if !slices.Equal(added, []string{"b.Z var"}) || !slices.Equal(removed, []string{"a.Y type"}) {
		t.Errorf("added %q, removed %q, want b.Z and a.Y", added, removed)
	}
}

// most is the limit of the wordy lines of a room, per hundred lines of its comments.
const most = 0.5

// Comments, help, metric, log and error texts name the thing that they mean: see Words in CONTRIBUTING. A text of a package for
// tests is not read by users.
func TestWordsOfRooms(t *testing.T) {
	for _, r := range rooms(tree(t)) {
		if r.share() > most {
			t.Errorf("%s: %d wordy lines are %.1f per hundred lines of comments, want %.1f at most:\n%s",
				r.name, len(r.wordy), r.share(), most, strings.Join(r.wordy[:min(20, len(r.wordy))], "\n"))
		}
	}
}

func TestWordy(t *testing.T) {
	for text, want := range map[string]bool{
		"What is left of it is returned.":    true,
		"the fence, and that of the run":     true,
		"of which none is known":             true,
		"returns Whatever the store has":     true,
		"What happens if the store is full?": false,
		"somewhat later":                     false,
		"that offers it":                     false,
	} {
		if got := wordy(text); got != want {
			t.Errorf("wordy(%q) = %v", text, got)
		}
	}
}

const source = `// Package p has 12 lines.
package p

import "errors"

// F is of which you know.
func F() error { // what?
	/* two
	lines */

	return errors.New("what " + "remains of it")
}
` + "\nvar (\n\tV, w = 1, `\n// one\nwhat of two`\n)\n\ntype T struct {\n\tA int `json:\"what is\"`\n}\n\nfunc (T) M() {}\n"

func TestReadGo(t *testing.T) {
	f := &file{path: "lock/p/p.go"}
	if err := readGo(f, source); err != nil {
		t.Fatal(err)
	}
	if f.code != 14 || f.longest != 6 || len(f.comments) != 5 {
		t.Errorf("%d lines of code, longest function %d, %d lines of comments", f.code, f.longest, len(f.comments))
	}
	want := []string{"lock/p/p.go:6: F is of which you know.", "lock/p/p.go:7: what?", "lock/p/p.go:17: what of two"}
	if got := f.wordyLines(); !slices.Equal(got, want) {
		t.Errorf("wordy lines %q, want %q", got, want)
	}
	if got, want := surface([]*file{f}), "lock/p\n\tF func\n\tT type\n\tV var\n"; got != want {
		t.Errorf("names %q, want %q", got, want)
	}
}

func TestCount(t *testing.T) {
	table := module + "lock/a.go:3:\tF\t50.0%\n" + module + "lock/a.go:9:\tF\t10.0%\n" + module + "lock/a.go:20:\tG\t0.0%\n" +
		module + "ops/b.go:3:\tF\t100.0%\n" + module + "test/house/c.go:3:\tF\t100.0%\ntotal\t(statements)\t12.0%\n"
	if functions, files, packages := count(table); functions != 2 || files != 2 || packages != 2 {
		t.Errorf("%d functions, %d files, %d packages, want 2 of each", functions, files, packages)
	}
}
