package importcommand

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/cmd/internal/strictyaml"
	"github.com/cronce/cronce/scheduler/spec"
)

func crontabFile(t *testing.T, o crontabOptions) *result {
	t.Helper()
	data, err := os.ReadFile("testdata/crontab")
	if err != nil {
		t.Fatal(err)
	}
	return readCrontab("testdata/crontab", data, o)
}

// accepted returns the jobs of a result by the line of their origin, from a configuration that the
// check accepts.
func accepted(t *testing.T, r *result) map[string]config.Job {
	t.Helper()
	text, err := r.configuration()
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if err := check(text); err != nil {
		t.Fatalf("the check refuses the configuration: %v\n%s", err, text)
	}
	c, err := config.Read(config.Source{Name: "result", Data: text}, nil, nil)
	if err != nil || len(c.Jobs) != len(r.imported()) {
		t.Fatalf("%d jobs, want %d: %v", len(c.Jobs), len(r.imported()), err)
	}
	jobs := map[string]config.Job{}
	for i, j := range r.imported() {
		jobs[j.origin] = c.Jobs[i]
	}
	return jobs
}

// Each line is imported, is named with a reason, or is a comment or a variable.
func TestCrontabOfOddities(t *testing.T) {
	r := crontabFile(t, crontabOptions{zone: "Europe/Berlin"})
	jobs := accepted(t, r)
	data, _ := os.ReadFile("testdata/crontab")
	lines := strings.Split(string(data), "\n")
	if len(lines) < 200 || len(jobs) < 100 {
		t.Fatalf("%d lines, %d jobs", len(lines), len(jobs))
	}
	refused := map[string]string{}
	for _, j := range r.refused() {
		refused[j.origin] = j.reason
		if j.reason == "" || j.text == "" {
			t.Errorf("%s is refused without a reason", j.origin)
		}
	}
	wrong := false
	for i, line := range lines {
		origin := fmt.Sprintf("testdata/crontab:%d", i+1)
		_, imported := jobs[origin]
		_, named := refused[origin]
		line = strings.TrimSpace(line)
		switch section := strings.TrimPrefix(line, "# "); {
		case line == "":
		case line[0] == '#':
			wrong = section == "wrong"
		case wrong && imported && line != "-5 * * * * half a range":
			t.Errorf("%s is imported: %s", origin, line)
		case !imported && !named && !variableLine.MatchString(line):
			t.Errorf("%s is neither imported nor named: %s", origin, line)
		}
	}
}

// A job does the same as its line.
func TestCrontabLines(t *testing.T) {
	jobs := accepted(t, crontabFile(t, crontabOptions{zone: "Europe/Berlin"}))
	line := func(no int) config.Job { return jobs[fmt.Sprintf("testdata/crontab:%d", no)] }
	command := func(j config.Job) string { return j.Exec.Shell + strings.Join(j.Exec.Command, "|") }
	for no, want := range map[int]struct{ spec, command, stdin string }{
		14:  {"* * * * *", "/bin/bash|-c|true", ""},
		21:  {"0 22 * * 1-5", `/bin/bash|-c|mail -s "It's 10pm" joe`, "Joe,\n\nWhere are your kids?\n"},
		27:  {"@hourly", "/bin/bash|-c|hourly.sh", ""},
		40:  {"0 1 * * 0", "/bin/bash|-c|sunday7", ""},
		43:  {"0 1 * * 0,5,6", "/bin/bash|-c|fri to sun", ""},
		57:  {"0 2 * * *", "/bin/bash|-c|every day, as either matches", ""},
		61:  {"0 2 * * MON#1", "/bin/bash|-c|first Monday", ""},
		90:  {"0 6 * * *", "/bin/bash|-c|unlogged", ""},
		138: {"0 1 * * *", `/bin/bash|-c|date +%Y-%m-%d > /tmp/x`, ""},
		141: {"0 1 * * *", "/bin/bash|-c|cat", "a%b\nc\\d\n"},
		142: {"0 1 * * *", `/bin/bash|-c|echo \\`, "x\n"},
		151: {"0 1 * * *", "/bin/bash|-c|echo 你好 – “quotes” 🎉", ""},
		152: {"0 1 * * *", "/bin/bash|-c|echo tab\tinside", ""},
		187: {"0 7 * * *", "in sh", ""},
		189: {"CRON_TZ=Asia/Shanghai 0 7 * * *", "in Shanghai", ""},
		192: {"CRON_TZ=Asia/Shanghai 0 8 * * *", "still in Shanghai", ""},
		194: {"CRON_TZ=UTC 0 8 * * *", "in UTC", ""},
		209: {"CRON_TZ=UTC 0 11 * * *", "NAME=value command with an equals sign", ""},
		214: {"CRON_TZ=UTC 0 23 * * *", "last", ""},
	} {
		j := line(no)
		if j.Exec == nil || j.Spec != want.spec || command(j) != want.command || j.Exec.Stdin != want.stdin {
			t.Errorf("line %d: %+v %+v\nwant %q", no, j, j.Exec, want)
		}
	}
	if env := line(14).Exec.Env; env["QUOTED"] != "a b  " || env["PATH"] != "/usr/local/bin:/usr/bin:/bin" || env["HOME"] != "/var/tmp" || line(14).Exec.Dir != "/var/tmp" {
		t.Errorf("the environment is %q", env)
	}
	if a, b := line(181).Name, line(182).Name; a == "" || b != a+"-2" {
		t.Errorf("twins are %q and %q", a, b)
	}
	if line(198).Jitter == nil || line(199).Jitter != nil {
		t.Error("RANDOM_DELAY must be a jitter where it is below the interval")
	}
}

// A CRON_TZ without a zone has no effect, and the report has the reason.
func TestEmptyZoneOfACrontab(t *testing.T) {
	r := readCrontab("c", []byte("CRON_TZ=Asia/Shanghai\nCRON_TZ=\n0 1 * * * run x\n"), crontabOptions{zone: "UTC"})
	bad := r.refused()
	if len(bad) != 1 || bad[0].origin != "c:2" || !strings.Contains(bad[0].reason, "the zone is empty: later lines are in the zone before") {
		t.Errorf("%+v", bad)
	}
	if good := r.imported(); len(good) != 1 || good[0].spec != "CRON_TZ=Asia/Shanghai 0 1 * * *" {
		t.Errorf("%+v", good)
	}
}

// Names stay when other lines come and go.
func TestNamesAreStable(t *testing.T) {
	name := func(text string) string {
		r := readCrontab("c", []byte(text), crontabOptions{zone: "UTC"})
		return r.jobs[len(r.jobs)-1].name
	}
	if a, b := name("0 1 * * * run x\n"), name("# more\n0 2 * * * run y\n0 1 * * * run x\n"); a != b || !strings.HasPrefix(a, "run-") {
		t.Errorf("%q and %q", a, b)
	}
}

func TestUserColumn(t *testing.T) {
	const text = "17 * * * * root cd / && run-parts --report /etc/cron.hourly\n@daily root:adm x\n"
	for _, o := range []crontabOptions{{zone: "UTC"}, {zone: "UTC", system: true, systemGiven: true}} {
		r := readCrontab("stdin", []byte(text), o)
		jobs := accepted(t, r)
		j := jobs["stdin:1"]
		if j.Exec == nil || j.Exec.Shell != "cd / && run-parts --report /etc/cron.hourly" || !strings.HasPrefix(j.Name, "run-parts-") {
			t.Errorf("%+v", j)
		}
		text, _ := r.configuration()
		if want := `user: "root"`; !strings.Contains(string(text), want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	j := accepted(t, readCrontab("stdin", []byte(text), crontabOptions{zone: "UTC", systemGiven: true}))["stdin:1"]
	if !strings.HasPrefix(j.Exec.Shell, "root cd") {
		t.Errorf("without a column for users: %+v", j.Exec)
	}
	for name, want := range map[string]bool{"/etc/crontab": true, "/etc/cron.d/php": true, "/var/spool/cron/crontabs/joe": false, "stdin": false} {
		if hasUsers(name, []string{"* * * * * joe x"}) != want {
			t.Errorf("%s has users: %v", name, !want)
		}
	}
	if !hasUsers("stdin", []string{"# m h dom mon dow user	command"}) {
		t.Error("the heading is not read")
	}
}

// The next 200 ticks of a spec are the same as those of its line, read one minute after the other.
func TestTicksAreThoseOfCron(t *testing.T) {
	from := time.Date(2027, 2, 27, 22, 58, 30, 0, time.UTC)
	until := from.AddDate(12, 0, 0)
	r := crontabFile(t, crontabOptions{zone: "UTC"})
	jobs := accepted(t, r)
	compared := 0
	for _, j := range r.imported() {
		words := strings.Fields(strings.TrimPrefix(j.text, "-"))
		if words[0][0] == '@' || strings.Contains(j.text, "~") && !strings.Contains(j.text, "~/bin") || strings.HasPrefix(j.spec, "CRON_TZ=Asia") {
			continue
		}
		s, err := spec.Parse(jobs[j.origin].Spec, time.UTC)
		if err != nil {
			t.Fatal(err)
		}
		want := bruteTicks(words, from, until, 200)
		at := from
		for n, tick := range want {
			if at = s.Next(at); !at.Equal(tick) {
				t.Errorf("%s %q is spec %q: tick %d is %v, want %v", j.origin, j.text, s.Text(), n, at, tick)
				break
			}
		}
		if next := s.Next(at); len(want) < 200 && next.Before(until) {
			t.Errorf("%s %q is spec %q, which has a tick at %v", j.origin, j.text, s.Text(), next)
		}
		compared++
	}
	if compared < 90 {
		t.Errorf("%d lines were compared", compared)
	}
}

// bruteTicks reads a line as Vixie's cron does: it tests each minute of each day that matches.
func bruteTicks(words []string, from, until time.Time, most int) (ticks []time.Time) {
	in := func(word string, v, low, high int) bool {
		for item := range strings.SplitSeq(strings.ToLower(word), ",") {
			for n, name := range weekdays[:7] {
				if high == 7 {
					item = strings.ReplaceAll(item, name, strconv.Itoa(n))
				}
			}
			for n, name := range months {
				if high == 12 {
					item = strings.ReplaceAll(item, name, strconv.Itoa(n+1))
				}
			}
			first, last, step := low, high, 1
			span, by, stepped := strings.Cut(item, "/")
			if stepped {
				step, _ = strconv.Atoi(by)
			}
			if a, b, ok := strings.Cut(span, "-"); ok {
				first, _ = strconv.Atoi(a)
				last, _ = strconv.Atoi(b)
			} else if span != "*" {
				first, _ = strconv.Atoi(span)
				last = first
			}
			if v >= first && v <= last && (v-first)%step == 0 {
				return true
			}
		}
		return false
	}
	var minutes [60]bool
	var hours [24]bool
	for v := range minutes {
		minutes[v] = in(words[0], v, 0, 59)
	}
	for v := range hours {
		hours[v] = in(words[1], v, 0, 23)
	}
	for day := from.Truncate(24 * time.Hour); day.Before(until); day = day.AddDate(0, 0, 1) {
		week := int(day.Weekday())
		ofMonth := in(words[2], day.Day(), 1, 31)
		ofWeek := in(words[4], week, 0, 7) || week == 0 && words[4][0] != '*' && in(words[4], 7, 0, 7)
		both := words[2][0] == '*' || words[4][0] == '*'
		if !in(words[3], int(day.Month()), 1, 12) || both && !(ofMonth && ofWeek) || !both && !ofMonth && !ofWeek {
			continue
		}
		for minute := range 24 * 60 {
			at := day.Add(time.Duration(minute) * time.Minute)
			if at.After(from) && minutes[minute%60] && hours[minute/60] {
				if ticks = append(ticks, at); len(ticks) == most {
					return ticks
				}
			}
		}
	}
	return ticks
}

// Random values stay in their range, and are the same each time.
func TestRandomValues(t *testing.T) {
	for text, in := range map[string][2]int{"~": {0, 59}, "10~20": {10, 20}, "~5": {0, 5}, "50~": {50, 59}, "7~7": {7, 7}} {
		seen := map[set]bool{}
		for seed := range uint64(200) {
			s, random, err := fields[0].parse(text, seed)
			again, _, _ := fields[0].parse(text, seed)
			v := 0
			for !s.has(v) {
				v++
			}
			if err != nil || !random || s != again || s != 1<<v || v < in[0] || v > in[1] {
				t.Fatalf("%s: %d %v", text, v, err)
			}
			seen[s] = true
		}
		if len(seen) != in[1]-in[0]+1 {
			t.Errorf("%s has %d values", text, len(seen))
		}
	}
}

func FuzzCrontab(f *testing.F) {
	data, err := os.ReadFile("testdata/crontab")
	if err != nil {
		f.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		f.Add([]byte(line), false)
	}
	f.Add([]byte("* * * * * root x\x00\x7f\u2028\u0085\xff\n"), true)
	f.Fuzz(func(t *testing.T, data []byte, system bool) {
		r := readCrontab("c", data, crontabOptions{zone: "UTC", system: system, systemGiven: true})
		again(t, r)
	})
}

// again reads the configuration of a result, and compares the commands with those that were written.
func again(t *testing.T, r *result) {
	t.Helper()
	r.uniqueNames()
	text := r.render()
	if len(r.imported()) == 0 || len(text) > strictyaml.MaxSize {
		return
	}
	c, err := config.Read(config.Source{Name: "result", Data: text}, nil, nil)
	if err != nil || len(c.Jobs) != len(r.imported()) {
		t.Fatalf("%v\n%s", err, text)
	}
	for i, j := range r.imported() {
		e := c.Jobs[i].Exec
		if e == nil || e.Shell != j.shell || strings.Join(e.Command, "\x00") != strings.Join(j.command, "\x00") || e.Stdin != j.stdin || c.Jobs[i].Spec != j.spec {
			t.Fatalf("%+v is %+v in\n%s", j, e, text)
		}
	}
}
