package importcommand

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cronce/cronce/cmd/cronce/internal/node"
	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/cmd/internal/strictyaml"
	"github.com/cronce/cronce/cmd/internal/terminal"
	"github.com/cronce/cronce/scheduler/spec"
)

// A result has the jobs of an input, and remarks.
type result struct {
	source  string   // a crontab, or CronJobs of Kubernetes
	zone    string   // the zone of specs without one
	remarks []string // remarks on the whole input
	jobs    []job
}

// A job is one entry of the input. A job with a reason is not imported.
type job struct {
	origin  string // file:line
	text    string // the entry, for a comment
	remarks []string
	reason  string

	name, spec string
	settings   []setting // additional settings
	command    []string
	shell      string
	dir, stdin string
	env        map[string]string
	envFrom    []string
	permanent  []string
	user       string
	group      string
	otherUser  string // a user that this machine cannot check
}

// A setting is a key of a job with its text in YAML.
type setting struct{ key, value string }

func (j *job) set(key, value string) { j.settings = append(j.settings, setting{key, value}) }

func (j *job) note(format string, args ...any) {
	j.remarks = append(j.remarks, fmt.Sprintf(format, args...))
}

func (j *job) refuse(format string, args ...any) { j.reason = fmt.Sprintf(format, args...) }

func (r *result) note(format string, args ...any) {
	r.remarks = append(r.remarks, fmt.Sprintf(format, args...))
}

func (r *result) imported() (jobs []*job) {
	return r.those(func(j *job) bool { return j.reason == "" })
}
func (r *result) refused() (jobs []*job) { return r.those(func(j *job) bool { return j.reason != "" }) }

func (r *result) those(want func(*job) bool) (jobs []*job) {
	for i := range r.jobs {
		if want(&r.jobs[i]) {
			jobs = append(jobs, &r.jobs[i])
		}
	}
	return jobs
}

// configuration returns the text of a configuration that the check accepts. Jobs that the check
// refuses become entries that are not imported.
func (r *result) configuration() ([]byte, error) {
	r.uniqueNames()
	for {
		text := r.render()
		jobs := r.imported()
		if len(jobs) == 0 {
			return text, nil
		}
		err := check(text)
		if err == nil {
			return text, nil
		}
		if !blame(jobs, err) {
			return nil, err
		}
	}
}

// check returns the faults of a configuration, as cronce node --check does.
func check(text []byte) error {
	c, err := config.Read(config.Source{Name: "result", Data: text}, nil, nil)
	if c == nil {
		return err
	}
	_, _, faults := node.DryRun(c)
	return errors.Join(err, faults)
}

var jobPath = regexp.MustCompile(`^jobs\[(\d+)\]\.?`)

// blame assigns faults to their jobs. It reports whether it has assigned any.
func blame(jobs []*job, err error) (found bool) {
	for _, e := range config.Split(err) {
		fault, ok := errors.AsType[*strictyaml.Error](e)
		if !ok {
			continue
		}
		m := jobPath.FindStringSubmatch(fault.Path)
		if m == nil {
			continue
		}
		i, _ := strconv.Atoi(m[1])
		if i >= len(jobs) {
			continue
		}
		j, key := jobs[i], strings.TrimPrefix(fault.Path, m[0])
		found = true
		if (key == "exec.user" || key == "exec.group") && j.otherUser == "" {
			j.otherUser, j.user, j.group = strings.TrimSuffix(j.user+":"+j.group, ":"), "", ""
			j.note("runs as the user of the node, not as %s: nodes that run as root on machines with that user can have the key user", j.otherUser)
			continue
		}
		j.refuse("%s", strings.TrimPrefix(key+": "+fault.Text, ": "))
	}
	return found
}

// uniqueNames adds a number to duplicate names.
func (r *result) uniqueNames() {
	taken := map[string]int{}
	for i := range r.jobs {
		name := r.jobs[i].name
		if taken[name]++; taken[name] > 1 && name != "" {
			r.jobs[i].name = fmt.Sprintf("%s-%d", name, taken[name])
		}
	}
}

func (r *result) render() []byte {
	var b bytes.Buffer
	comment := func(indent, format string, args ...any) {
		fmt.Fprintf(&b, "%s# %s\n", indent, terminal.Printable(fmt.Sprintf(format, args...)))
	}
	comment("", "From %s, by cronce config import. Check it with: cronce node --config FILE --check", r.source)
	for _, remark := range r.remarks {
		comment("", "note: %s", remark)
	}
	fmt.Fprintf(&b, "namespace: cronce\nzone: %s\n", quote(r.zone))
	if len(r.imported()) == 0 {
		b.WriteString("jobs: []\n")
	} else {
		b.WriteString("jobs:\n")
	}
	for _, j := range r.imported() {
		comment("  ", "%s: %s", j.origin, j.text)
		for _, remark := range j.remarks {
			comment("  ", "note: %s", remark)
		}
		j.render(&b)
	}
	if len(r.refused()) > 0 {
		comment("", "Not imported:")
	}
	for _, j := range r.refused() {
		comment("", "%s: %s: %s", j.origin, j.reason, j.text)
	}
	return b.Bytes()
}

func (j *job) render(b *bytes.Buffer) {
	fmt.Fprintf(b, "  - kind: exec\n    name: %s\n    spec: %s\n", quote(j.name), quote(j.spec))
	for _, s := range j.settings {
		fmt.Fprintf(b, "    %s: %s\n", s.key, s.value)
	}
	b.WriteString("    exec:\n")
	line := func(key, value string) { fmt.Fprintf(b, "      %s\n", strings.TrimSpace(key+": "+value)) }
	for _, s := range []setting{{"shell", j.shell}, {"dir", j.dir}, {"stdin", j.stdin}, {"user", j.user}, {"group", j.group}} {
		if s.value != "" {
			line(s.key, quote(s.value))
		}
	}
	for _, s := range []struct {
		key    string
		values []string
	}{{"command", j.command}, {"env_from", j.envFrom}} {
		if len(s.values) > 0 {
			line(s.key, "")
		}
		for _, v := range s.values {
			fmt.Fprintf(b, "        - %s\n", quote(v))
		}
	}
	if j.otherUser != "" {
		line("# user", quote(j.otherUser))
	}
	if len(j.permanent) > 0 {
		line("permanent", "["+strings.Join(j.permanent, ", ")+"]")
	}
	if len(j.env) > 0 {
		line("env", "")
		for _, name := range slices.Sorted(maps.Keys(j.env)) {
			fmt.Fprintf(b, "        %s: %s\n", quote(name), quote(config.Literal(j.env[name])))
		}
	}
}

// quote returns a text in double quotes, as in YAML and JSON.
func quote(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // encoding a string returns no error
	return strings.TrimSuffix(b.String(), "\n")
}

var (
	assignment = regexp.MustCompile(`^\s*[A-Za-z_]\w*=(?:"[^"]*"|'[^']*'|\S*)\s+`)
	condition  = regexp.MustCompile(`^\s*(?:cd|test|\[)\s[^&|;]*&&\s*`)
	notInName  = regexp.MustCompile(`[^A-Za-z0-9._-]+`)
)

// nameOf returns the name of a job: the name of its program with a hash of the line, so that the
// name stays the same when other lines change.
func nameOf(command, line string) string {
	for {
		rest := condition.ReplaceAllString(assignment.ReplaceAllString(command, ""), "")
		if rest == command {
			break
		}
		command = rest
	}
	program, _, _ := strings.Cut(strings.TrimSpace(command), " ")
	program = program[strings.LastIndexByte(program, '/')+1:]
	program = strings.Trim(notInName.ReplaceAllString(program, "-"), "-._")
	if program == "" {
		program = "job"
	}
	return fmt.Sprintf("%.60s-%x", program, sha256.Sum256([]byte(line)))[:min(len(program), 60)+7]
}

// interval returns the shortest distance between the next ticks of a spec, or 0 if it has fewer
// than two.
func interval(s *spec.Schedule) (least time.Duration) {
	at := s.Next(time.Now())
	for range 100 {
		next := s.Next(at)
		if next.IsZero() {
			break
		}
		if d := next.Sub(at); least == 0 || d < least {
			least = d
		}
		at = next
	}
	return least
}
