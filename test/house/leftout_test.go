package main

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// make test leaves out tests by their names alone, in whichever package they are. Each test of such a name is run by make proof: its
// package is in the list of make searches.
func TestEachTestIsRun(t *testing.T) {
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	proofs, err := os.ReadFile(filepath.Join(root, ".ci/proof"))
	if err != nil {
		t.Fatal(err)
	}
	variable := func(name string) []string {
		return strings.Split(group(t, makefile, `(?m)^`+name+` = (.*)$`), "|")
	}
	names := slices.Concat(variable("SEARCHES"), variable("SPANS"), regexp.MustCompile(`(?m)^Test\w+$`).FindAllString(string(proofs), -1))
	at := regexp.MustCompile(`\./\S+`).FindAllString(group(t, makefile, `(?m)^searches:\n\t(.*)$`), -1)
	tests := testsByName(t)
	for _, name := range names {
		where := tests[name]
		if len(where) == 0 {
			t.Errorf("%s: there is no such test", name)
		}
		for _, folder := range where {
			if !slices.ContainsFunc(at, func(pattern string) bool { return matches(pattern, folder) }) {
				t.Errorf("%s of %s: make test leaves it out, and make searches does not run it there: rename one of %v", name, folder, where)
			}
		}
	}
}

func group(t *testing.T, text []byte, pattern string) string {
	t.Helper()
	found := regexp.MustCompile(pattern).FindSubmatch(text)
	if found == nil {
		t.Fatalf("nothing in the Makefile matches %s", pattern)
	}
	return string(found[1])
}

// testsByName returns, for each name of a test of the module at the root, the folders that have one.
func testsByName(t *testing.T) map[string][]string {
	t.Helper()
	folders := map[string][]string{}
	for _, f := range tree(t) {
		if strings.HasPrefix(f.path, "test/") || !strings.HasSuffix(f.path, "_test.go") {
			continue
		}
		source, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(f.path)))
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllSubmatch(source, -1) {
			name := string(found[1])
			folders[name] = append(folders[name], path.Dir(f.path))
		}
	}
	return folders
}

// matches reports whether a pattern of the go command names a folder.
func matches(pattern, folder string) bool {
	above, all := strings.CutSuffix(pattern, "/...")
	return "./"+folder == above || all && strings.HasPrefix("./"+folder, above+"/")
}
