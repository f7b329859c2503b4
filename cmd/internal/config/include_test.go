package config

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// An included file that has not changed keeps its jobs, and its faults are reported again. A file
// with faults and a changed one are read again.
func TestIncludedFilesAreReadAgain(t *testing.T) {
	dir := t.TempDir()
	put := func(name, text string) string {
		t.Helper()
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	one := put("one.yaml", "jobs: [{kind: sleep, name: one, spec: '@daily'}]\n")
	two := put("two.yaml", "job: [{kind: sleep, name: two, spec: '@daily'}]\n")
	put("same.yaml", "jobs: [{kind: sleep, name: one, spec: '@daily'}]\n")
	main := filepath.Join(dir, "c.yaml")
	var former *Config
	step := func(jobs, fault string) {
		t.Helper()
		c, err := Read(Source{Name: main, Data: []byte("include: ['[ot]*.yaml', '" + filepath.Join(dir, "same.yaml") + "']\n"), Former: former}, nil, nil)
		var names []string
		for _, j := range c.Jobs {
			names = append(names, j.Name)
		}
		if got := strings.Join(names, " "); got != jobs || (err == nil) != (fault == "") || err != nil && !strings.Contains(err.Error(), fault) {
			t.Errorf("the jobs %q, %v; want %q, %q", got, err, jobs, fault)
		}
		if got := c.place(len(c.Jobs) - 1); got != filepath.Join(dir, "same.yaml")+":1" {
			t.Errorf("the last job is at %s", got)
		}
		if got := c.Files(); !slices.Equal(got, []string{main, one, two, filepath.Join(dir, "same.yaml")}) {
			t.Errorf("the files are %q", got)
		}
		former = c
	}
	step("one one", "two.yaml:1:1: job: unknown key")
	step("one one", "two.yaml:1:1: job: unknown key")
	put("two.yaml", "jobs: [{kind: sleep, name: two, spec: '@daily'}]\n")
	step("one two one", "")
	put("one.yaml", "jobs: [{kind: sleep, name: three, spec: '@daily'}]\n")
	step("three two one", "")
}

// A configuration includes up to 1,000 files.
func TestManyIncludedFiles(t *testing.T) {
	dir := t.TempDir()
	for i := range maxIncluded + 1 {
		if err := os.WriteFile(fmt.Sprintf("%s/%04d.yaml", dir, i), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for pattern, want := range map[string]string{"0*.yaml": "", "*.yaml": "c:1:11: include[0]: names more than 1000 files"} {
		_, err := Read(Source{Name: "c", Data: []byte("include: [" + filepath.Join(dir, pattern) + "]\n")}, nil, nil)
		if (err == nil) != (want == "") || err != nil && err.Error() != want {
			t.Errorf("%s: %v, want %q", pattern, err, want)
		}
	}
}
