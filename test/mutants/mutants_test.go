package main

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// root is the root of the project.
const root = "../.."

// Every patch of the list applies to the current tree: a change of the code also adapts the
// mistakes that can be made in it.
func TestEveryMutantApplies(t *testing.T) {
	all, err := readMutants("list")
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 100 {
		t.Errorf("the list has %d mutants, want at least 100", len(all))
	}
	for _, m := range all {
		changed, err := m.apply(root, t.TempDir())
		if err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
		for tree, file := range changed {
			before, _ := os.ReadFile(tree)
			after, err := os.ReadFile(file)
			if err != nil || string(before) == string(after) {
				t.Errorf("%s leaves %s as it was (%v)", m.name, tree, err)
			}
		}
	}
}

// Every mutant names packages with tests, and at least one test of them: otherwise nothing would
// notice it.
func TestEveryMutantNamesATest(t *testing.T) {
	all, err := readMutants("list")
	if err != nil {
		t.Fatal(err)
	}
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Example)\w*)\(`)
	names := map[string][]string{} // by the folder of the package
	for _, m := range all {
		whole, _, _ := strings.Cut(m.run, "/")
		run, err := regexp.Compile(whole)
		if err != nil {
			t.Errorf("%s: run: %v", m.name, err)
			continue
		}
		some := false
		for _, p := range m.packages {
			if names[p] == nil {
				names[p] = []string{}
				files, _ := filepath.Glob(filepath.Join(root, p, "*_test.go"))
				for _, file := range files {
					text, err := os.ReadFile(file)
					if err != nil {
						t.Fatal(err)
					}
					for _, match := range declared.FindAllStringSubmatch(string(text), -1) {
						names[p] = append(names[p], match[1])
					}
				}
			}
			if len(names[p]) == 0 && !strings.HasSuffix(p, "...") {
				t.Errorf("%s: %s has no tests", m.name, p)
			}
			some = some || strings.HasSuffix(p, "...") || slices.ContainsFunc(names[p], run.MatchString)
		}
		if !some {
			t.Errorf("%s: %s matches no test of %s", m.name, m.run, m.packages)
		}
	}
}

func TestParseMutant(t *testing.T) {
	patch := "diff --git a/x.go b/x.go\n--- a/x.go\n+++ b/x.go\n"
	for text, want := range map[string]string{
		"A title\ntests: ./lock ./scheduler\nrun: TestX\n" + patch: "",
		"A title\n" + patch:                  "needed before the patch",
		"tests: ./lock\n" + patch:            "needed before the patch",
		"A title\ntests: ./lock\nno patch\n": "changes no file",
	} {
		m, err := parseMutant("x", []byte(text))
		switch {
		case want == "" && (err != nil || len(m.packages) != 2 || m.run != "TestX" || m.files[0] != "x.go"):
			t.Errorf("%q is read as %+v, %v", text, m, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// In a module of its own, a mistake that a test notices is found, and a mistake that no test
// notices survives. A mistake that does not build, or does not apply, is faulty.
func TestRun(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module example\n\ngo 1.26\n")
	write("x.go", "package example\n\nimport _ \"embed\"\n\n//go:embed x.txt\nvar text string\n\nfunc two() int { return 2 }\n\nfunc three() int { return 3 }\n")
	write("x.txt", "embedded\n\n")
	write("x_test.go", "package example\n\nimport \"testing\"\n\nfunc TestTwo(t *testing.T) {\n\tif two() != 2 || text != \"embedded\\n\\n\" {\n\t\tt.Fail()\n\t}\n}\n")
	write("sub/go.mod", "module example/sub\n\ngo 1.26\n\nrequire example v0.0.0\n\nreplace example => ../\n")
	write("y.go", "package example\n\nfunc Four() int { return 4 }\n")
	write("sub/y_test.go", "package sub\n\nimport (\n\t\"testing\"\n\n\t\"example\"\n)\n\nfunc TestFour(t *testing.T) {\n\tif example.Four() != 4 {\n\t\tt.Fail()\n\t}\n}\n")
	write("test/mutants/list/e-module.patch", "Only a test in a module below notices it.\ntests: ./... ./sub\ndiff --git a/y.go b/y.go\n--- a/y.go\n+++ b/y.go\n"+
		"@@ -1,3 +1,3 @@\n package example\n \n-func Four() int { return 4 }\n+func Four() int { return 5 }\n")
	patch := func(name, head, file, was, is string) {
		write("test/mutants/list/"+name+".patch", head+"\ntests: ./...\ndiff --git a/"+file+" b/"+file+"\n--- a/"+file+"\n+++ b/"+file+
			"\n@@ -1,2 +1,2 @@\n-"+was+"\n+"+is+"\n \n")
	}
	patch("a-embedded", "A text that is embedded is changed.", "x.txt", "embedded", "replaced")
	patch("b-unseen", "The package's name has a comment.", "x.go", "package example", "package example // as before")
	patch("c-broken", "Does not build.", "x.go", "package example", "package example func")
	patch("d-astray", "Does not apply.", "x.go", "package other", "package example")
	var out strings.Builder
	left, err := run(context.Background(), &out, dir, "")
	if err != nil || left != 3 {
		t.Errorf("%d not as they must be, %v\n%s", left, err, &out)
	}
	for _, want := range []string{"  found    a-embedded", "! survived b-unseen", "! faulty   c-broken", "! faulty   d-astray", "  found    e-module", "5 planted, 3 not"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, &out)
		}
	}
}
