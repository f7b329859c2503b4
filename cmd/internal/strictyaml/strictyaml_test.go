package strictyaml_test

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cronce/cronce/cmd/internal/strictyaml"
)

type seconds struct{ time.Duration }

func (s *seconds) UnmarshalText(text []byte) (err error) {
	s.Duration, err = time.ParseDuration(string(text))
	if err != nil {
		return errors.New("is no duration")
	}
	return nil
}

type settings struct {
	Name   string   `yaml:"name"`
	Grace  seconds  `yaml:"grace"`
	Redis  redis    `yaml:"redis"`
	Jobs   []job    `yaml:"jobs"`
	Tags   []string `yaml:"tags"`
	Secret string
}

type redis struct {
	URL    string `yaml:"url"`
	DB     int    `yaml:"db"`
	Strict bool   `yaml:"strict"`
	File   string `yaml:"password_file"`
}

type job struct {
	Name    string `yaml:"name"`
	Overlap string `yaml:"overlap"`
	Retry   *retry `yaml:"retry"`
}

type retry struct {
	Tries int `yaml:"tries"`
}

func TestDecode(t *testing.T) {
	const text = `
# a comment
name: a
grace: 90s
redis: {url: "redis://h", db: 3, strict: true}
jobs:
  - name: first
    retry:
      tries: 3
  - {name: second, overlap: queue}
  - name: |
      several
      lines
tags: [x, 'y	z', 7]
`
	got := settings{Redis: redis{File: "kept"}}
	f, err := strictyaml.Decode("c.yaml", []byte(text), &got)
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case got.Name != "a", got.Grace.Duration != 90*time.Second:
		t.Errorf("scalars: %+v", got)
	case got.Redis != redis{"redis://h", 3, true, "kept"}:
		t.Errorf("redis: %+v", got.Redis)
	case len(got.Jobs) != 3, got.Jobs[2].Name != "several\nlines\n", got.Jobs[0].Retry.Tries != 3, got.Jobs[1].Overlap != "queue":
		t.Errorf("jobs: %+v", got.Jobs)
	case strings.Join(got.Tags, "|") != "x|y\tz|7":
		t.Errorf("tags: %q", got.Tags)
	case f.Fault("jobs[1].overlap", "x").Error() != "c.yaml:10:20: jobs[1].overlap: x":
		t.Error(f.Fault("jobs[1].overlap", "x"))
	case f.Fault("jobs[1].retry.tries", "x").Error() != "c.yaml:10:5: jobs[1].retry.tries: x":
		t.Error(f.Fault("jobs[1].retry.tries", "x"))
	case f.Unreadable():
		t.Error("what was read is unreadable")
	}
}

// A byte order mark, as editors on Windows write it, is no part of the first key and moves no line
// or column.
func TestByteOrderMark(t *testing.T) {
	var got settings
	f, err := strictyaml.Decode("c.yaml", []byte("\uFEFFname: a\ngrace: 90s\n"), &got)
	if err != nil || got.Name != "a" {
		t.Fatalf("name %q, %v", got.Name, err)
	}
	if at := f.Fault("name", "x").Error(); at != "c.yaml:1:1: name: x" {
		t.Error(at)
	}
	if _, err := strictyaml.Decode("c.yaml", []byte("\uFEFF# a comment\nnam: a\n"), &got); err == nil || !strings.HasPrefix(err.Error(), "c.yaml:2:1: nam: ") {
		t.Error(err)
	}
}

func TestFaults(t *testing.T) {
	for text, want := range map[string]string{
		"nam: a":                                    `c.yaml:1:1: nam: unknown key, did you mean "name"?`,
		"zzzzzz: a":                                 `c.yaml:1:1: zzzzzz: unknown key, known are grace, jobs, name, redis, tags`,
		"redis: {password: x}":                      `c.yaml:1:9: redis.password: unknown key, did you mean "password_file"?`,
		"Secret: a":                                 `c.yaml:1:1: Secret: unknown key, known are grace, jobs, name, redis, tags`,
		"grace: 30":                                 `c.yaml:1:8: grace: is no duration`,
		"redis:\n  db: many":                        `c.yaml:2:7: redis.db: is "many", must be a whole number`,
		"redis:\n  db: 9223372036854775808":         `c.yaml:2:7: redis.db: is "9223372036854775808", must be a whole number from -9223372036854775808 to 9223372036854775807`,
		"redis:\n  strict: \"true\"":                `c.yaml:2:11: redis.strict: is "true", must be true or false`,
		"redis:\n  db: u:hunter2@h":                 `c.yaml:2:7: redis.db: is a text with credentials (not shown), must be a whole number`,
		"redis:\n  u:hunter2@h: x":                  `c.yaml:2:3: redis: unknown key, known are db, password_file, strict, url`,
		"redis: 7":                                  `c.yaml:1:8: redis: is "7", must be a mapping`,
		"jobs: {a: b}":                              `c.yaml:1:7: jobs: is a mapping, must be a list`,
		"redis: " + strings.Repeat("x", 80):         `c.yaml:1:8: redis: is "` + strings.Repeat("x", 80) + `", must be`,
		"redis: " + strings.Repeat("x", 81):         `c.yaml:1:8: redis: is "` + strings.Repeat("x", 80) + `"… (81 bytes), must be`,
		"name: [a]":                                 `c.yaml:1:7: name: is a list, must be one value`,
		"jobs:\n- name: a\n  ovrlap: b":             `c.yaml:3:3: jobs[0].ovrlap: unknown key, did you mean "overlap"?`,
		"name: &a b":                                `c.yaml:1:7: name: anchors, aliases and tags are not allowed`,
		"name: !!str b":                             `c.yaml:1:7: name: anchors, aliases and tags are not allowed`,
		"jobs:\n- {<<: *a, name: a}":                `c.yaml:2:4: jobs[0].<<: merge keys are not allowed, nor are anchors, aliases and tags`,
		"zzzzzz: &a {name: a}":                      `c.yaml:1:9: zzzzzz: anchors, aliases and tags are not allowed`,
		"redis: {&a db: 7}":                         `redis: anchors, aliases and tags are not allowed`,
		"name: a\n---\nname: b":                     `is a second document, must be the only one`,
		"name: a\nname: b":                          `c.yaml:2:1: is not valid YAML: mapping key "name" already defined at [1:1]`,
		"name: [a":                                  `c.yaml:1:7: is not valid YAML: sequence end token ']' not found`,
		strings.Repeat("[", 50000):                  `c.yaml:1:51: nested in more than 50 brackets`,
		strings.Repeat("- ", 30000):                 `c.yaml:1:4097: nested in more than 50 brackets, or beyond column 4096`,
		"jobs:\n- name: * * * * *":                  `c.yaml:2:9: begins with *, which YAML reserves: quote the name, as in name: "* * * * *"`,
		"name: */5 * * * *":                         `c.yaml:1:7: begins with *, which YAML reserves: quote the name, as in name: "*/5 * * * *"`,
		"name:\t*/5\t*\t* * *":                      `c.yaml:1:7: begins with *, which YAML reserves: quote the name, as in name: "*/5 * * * *"`,
		"name: @daily # midnight":                   `c.yaml:1:7: begins with @, which YAML reserves: quote the name, as in name: "@daily"`,
		"name: ? * * * *":                           `quote the name`,
		"name: *x":                                  `quote a value that begins with *`,
		"jobs: [{name: * * * * *}]":                 `c.yaml:1:15: begins with *, which YAML reserves: quote the name, as in name: "* * * * *"`,
		"jobs:\n\t- name: a":                        `c.yaml:2:1: is a tab, must be spaces`,
		"jobs:\n- name: a\n \tgrace: b":             `c.yaml:3:2: is a tab, must be spaces`,
		"name: 0 1\t2 * * *":                        `c.yaml:1:7: name: has a tab, must be in single quotes then: quote the name`,
		"jobs:\n- name: \"0\t1 * *\"\n  overlap: b": `c.yaml:2:9: has a tab in double quotes, must be in single quotes then, or written as \t`,
		"- a": `is a list, must be a mapping`,
	} {
		_, err := strictyaml.Decode("c.yaml", []byte(text), &settings{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80q:\n got %v\nwant %s", text, err, want)
		} else if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the secret is in %v", err)
		}
	}
}

// All unquoted values are named at once, because a crontab has many.
func TestUnquotedValues(t *testing.T) {
	const text = "jobs:\n# name: * * *\n- name: * * * * *\n- name: '*'\n- name: b\n- {name: @daily, overlap: skip}\n"
	_, err := strictyaml.Decode("c.yaml", []byte(text), &settings{})
	const want = `c.yaml:3:9: begins with *, which YAML reserves: quote the name, as in name: "* * * * *"
c.yaml:6:10: begins with @, which YAML reserves: quote the name, as in name: "@daily"`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v", err)
	}
}

func TestAllFaultsInOrder(t *testing.T) {
	const text = "nam: a\nredis:\n  db: x\n  ulr: y\njobs: 3\n"
	_, err := strictyaml.Decode("c.yaml", []byte(text), &settings{})
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != 4 || !strings.HasPrefix(lines[0], "c.yaml:1:") || !strings.HasPrefix(lines[3], "c.yaml:5:") {
		t.Errorf("got\n%v", err)
	}
}

func TestFloodIsCut(t *testing.T) {
	var text strings.Builder
	for i := range 100 {
		text.WriteString("key" + strings.Repeat("x", i) + ": a\n")
	}
	_, err := strictyaml.Decode("c.yaml", []byte(text.String()), &settings{})
	if n := strings.Count(err.Error(), "\n") + 1; n != 21 || !strings.HasSuffix(err.Error(), "and 80 more") {
		t.Errorf("%d lines", n)
	}
}

func TestTooLarge(t *testing.T) {
	_, err := strictyaml.Decode("c.yaml", make([]byte, strictyaml.MaxSize+1), &settings{})
	if err == nil || !strings.Contains(err.Error(), "must be up to 1048576") {
		t.Error(err)
	}
}

// A file that would cost the parser seconds or gigabytes is refused before it is parsed, and one
// for a large fleet is not.
func TestTooMuch(t *testing.T) {
	keys := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	for name, c := range map[string]struct{ text, want string }{
		"1 MiB of keys":     {keys(104_000, "k%05d: a\n"), "c.yaml: has more than 100000 nodes"},
		"1 MiB of items":    {strings.Repeat("- a\n", 1<<18), "c.yaml: has more than 100000 nodes"},
		"items in one line": {"tags: [" + strings.Repeat("a,", 100_001) + "]", "c.yaml: has more than 100000 nodes"},
		"brackets":          {strings.Repeat("- [] \n- {}\n", 30_000), "c.yaml: has more than 100000 nodes"},
		"dashes":            {strings.Repeat("- - - -\n", 50_000), "c.yaml: has more than 100000 nodes"},
		"100,000 keys":      {keys(99_000, "k%05d: a\n"), "c.yaml:1001:1: is a mapping with more than 1000 keys"},
		"1,001 keys inside": {"jobs:\n- name: a\n" + keys(1000, "  k%d: {a: b, c: d}\n"), "c.yaml:1002:3: is a mapping with more than 1000 keys"},
		"1,000 keys":        {keys(1000, "k%03d: a\n"), `c.yaml:1:1: k000: unknown key`},
		"documents":         {strings.Repeat("---\nname: a\n", 30_000), "c.yaml:3:1: is a second document, must be the only one"},
		"blank lines":       {"name: >\n" + strings.Repeat("\n", 1<<20-9), "c.yaml:1002:1: is the end of more than 1000 blank lines"},
		"blank Mac lines":   {"name: |\n" + strings.Repeat("\r", 1001) + "x", "c.yaml:1002:1: is the end of more than 1000 blank lines"},
		"1,000 blank lines": {"name: >\n" + strings.Repeat(strings.Repeat("  \r\n", 1000)+"  x\r\n", 100), ""},
		"a long line":       {"name: a\nzone: " + strings.Repeat("&", 1<<16), "c.yaml:2:1: is a line of 65542 bytes, must be up to 65536"},
		"10,000 jobs":       {"jobs:\n" + strings.Repeat("- name: abcdefghij\n  overlap: skip\n  retry: {tries: 5}\n", 10_000), ""},
	} {
		before := used(t)
		_, err := strictyaml.Decode("c.yaml", []byte(c.text), &settings{})
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)) {
			t.Errorf("%s: %.200v, want %s", name, err, c.want)
		}
		if took := used(t) - before; took > 20*time.Second { // with the race detector the parser takes minutes
			t.Errorf("%s takes %v of a processor", name, took)
		}
	}
}

// used returns the time for which processors have run this process, which does not grow while others keep them busy.
func used(t *testing.T) time.Duration {
	t.Helper()
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		t.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

func TestNearest(t *testing.T) {
	names := []string{"db", "deadline", "jitter", "jitters", "lease", "log", "misfire", "overlap", "password_env"}
	for key, want := range map[string]string{
		"overlapp": "overlap", "Lease": "lease", "dedline": "deadline", "password": "password_env",
		"x": "", "xx": "", "": "", "timeout": "", "jiter": "jitter", "jitterss": "jitters", "misfyr": "misfire", "misfyrrx": "", "pas": "password_env", "pa": "",
		"foo": "", "xyz": "", "lgo": "log", "logs": "log", "laese": "lease", "lemon": "", "bd": "db",
	} {
		if got := strictyaml.Nearest(key, names); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", key, got, want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("name: a\njobs:\n- name: b\n  retry: {tries: 1}\n"))
	f.Add([]byte("? [a]\n: b\n<<: *x\n"))
	f.Add([]byte("grace: |\n  30s\n---\n...\n"))
	f.Add([]byte("{{[\"\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var s settings
		_, err := strictyaml.Decode("c.yaml", data, &s)
		if err != nil && (err.Error() == "" || !strings.HasPrefix(err.Error(), "c.yaml")) {
			t.Errorf("fault without its file: %v", err)
		}
	})
}
