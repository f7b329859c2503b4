package importcommand

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/cmd/internal/strictyaml"
	"github.com/cronce/cronce/scheduler/spec"
)

type k8sOptions struct {
	zone        string
	imageIsHere bool
}

// readK8s reads CronJobs. It returns an error if the input is neither YAML nor JSON.
func readK8s(name string, data []byte, o k8sOptions) (*result, error) {
	r := &result{source: "CronJobs in " + name, zone: o.zone}
	r.note("schedules without timeZone are in the zone %s (--zone): set the zone of the controller, in most clusters UTC", o.zone)
	r.note("Kubernetes starts a tick however late if there is no startingDeadlineSeconds; here the deadline is the interval then")
	if o.imageIsHere {
		r.note("commands run in the container of a node: it needs the programs, files and rights of their images")
	} else {
		r.note("each job makes a Job of its CronJob by kubectl, which needs the right to read CronJobs and create Jobs; suspend the CronJobs, or both run. A run is over when the Job exists: its end is not awaited (--image-is-here runs the commands themselves)")
	}
	objects, err := documents(name, data)
	if err != nil {
		return nil, err
	}
	for _, at := range objects {
		r.jobs = append(r.jobs, cronJob(at, o))
	}
	return r, nil
}

// An object is one object of Kubernetes with its origin.
type object struct {
	origin string
	tree   any
}

// documents returns the objects of a file, including those in lists.
func documents(name string, data []byte) (objects []object, err error) {
	if text := bytes.TrimSpace(data); len(text) > 0 && text[0] == '{' {
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		for {
			var tree any
			if err := d.Decode(&tree); errors.Is(err, io.EOF) {
				return objects, nil
			} else if err != nil {
				return nil, fmt.Errorf("%s: is not valid JSON: %w", name, err)
			}
			objects = append(objects, inList(object{name, tree})...)
		}
	}
	first := 1
	for _, part := range split(data) {
		var tree any
		_, err := strictyaml.Decode(name, part, &tree)
		if err != nil {
			for _, e := range config.Split(err) {
				if fault, ok := errors.AsType[*strictyaml.Error](e); ok {
					fault.Line += first - 1
				}
			}
			return nil, err
		}
		if tree != nil {
			begin := first + bytes.Count(part[:len(part)-len(bytes.TrimLeft(part, "\r\n"))], []byte("\n"))
			objects = append(objects, inList(object{fmt.Sprintf("%s:%d", name, begin), tree})...)
		}
		first += bytes.Count(part, []byte("\n"))
	}
	return objects, nil
}

// split splits a stream of YAML before each line that begins a document. That line is kept as an
// empty line.
func split(data []byte) (parts [][]byte) {
	var part []byte
	for line := range bytes.Lines(data) {
		if rest, ok := bytes.CutPrefix(line, []byte("---")); ok && (len(bytes.TrimSpace(rest)) == 0 || bytes.HasPrefix(bytes.TrimSpace(rest), []byte("#"))) {
			parts = append(parts, part)
			part, line = nil, []byte("\n")
		}
		part = append(part, line...)
	}
	return append(parts, part)
}

func inList(o object) []object {
	items, ok := get(o.tree, "items").([]any)
	if !ok || !strings.HasSuffix(text(o.tree, "kind"), "List") {
		return []object{o}
	}
	var objects []object
	for i, item := range items {
		objects = append(objects, object{fmt.Sprintf("%s, items[%d]", o.origin, i), item})
	}
	return objects
}

// get returns the value at a path in a tree, or nil.
func get(tree any, path ...string) any {
	for _, key := range path {
		m, ok := tree.(map[string]any)
		if !ok {
			return nil
		}
		tree = m[key]
	}
	return tree
}

// text returns the scalar at a path in a tree as it was written, or "".
func text(tree any, path ...string) string {
	switch v := get(tree, path...).(type) {
	case string:
		return v
	case json.Number, bool:
		return fmt.Sprint(v)
	}
	return ""
}

func list(tree any, path ...string) []any {
	l, _ := get(tree, path...).([]any)
	return l
}

// cronJob makes a job from a CronJob.
func cronJob(o object, opt k8sOptions) job {
	kind, name, space := text(o.tree, "kind"), text(o.tree, "metadata", "name"), text(o.tree, "metadata", "namespace")
	j := job{origin: o.origin, text: strings.Join([]string{kind, space, name}, " "), name: name}
	if space != "" && space != "default" {
		j.name = space + "." + name
	}
	s := get(o.tree, "spec")
	switch {
	case kind == "":
		j.refuse("has no kind, must be a CronJob")
		return j
	case kind != "CronJob":
		j.refuse("is a %q, must be a CronJob", kind)
		return j
	case name == "":
		j.refuse("has no metadata.name")
		return j
	case text(s, "suspend") == "true":
		j.refuse("is suspended: set suspend to false to import it")
		return j
	}
	if err := j.k8sSpec(s, opt.zone); err != nil {
		j.refuse("%v", err)
		return j
	}
	switch text(s, "concurrencyPolicy") {
	case "", "Allow":
		j.set("overlap", "allow")
	case "Replace":
		j.set("overlap", "replace")
	case "Forbid":
		j.set("overlap", "queue")
		j.note("Forbid starts the latest missed tick when the run ends, so overlap is queue: skip does not start it")
	default:
		j.refuse("concurrencyPolicy is %q", text(s, "concurrencyPolicy"))
		return j
	}
	j.seconds("deadline", s, "startingDeadlineSeconds")
	if opt.imageIsHere && j.reason == "" {
		j.container(get(s, "jobTemplate", "spec"))
		return j
	}
	create := "kubectl create job"
	if space != "" {
		create = "kubectl --namespace " + shellWord(space) + " create job"
	}
	// The tick is in the name, so that a repeated run creates no second Job. It has ten digits,
	// because the name of a Job has at most 63 characters and the name of a CronJob at most 52.
	j.shell = create + " --from=cronjob/" + shellWord(name) + " " + shellWord(name) + `-"$(printf %s "$CRONCE_TICK" | tr -dc 0-9 | cut -c3-12)"`
	if p := text(s, "concurrencyPolicy"); p == "Forbid" || p == "Replace" {
		j.note("concurrencyPolicy %s is not kept between Jobs: a run is over when its Job exists", p)
	}
	return j
}

// k8sSpec sets the spec and the zone from a schedule.
func (j *job) k8sSpec(s any, zoneName string) error {
	schedule := text(s, "schedule")
	if zone := text(s, "timeZone"); zone != "" {
		schedule = "CRON_TZ=" + zone + " " + schedule
	}
	zone, err := config.ParseZone(zoneName)
	if err != nil {
		return err
	}
	parsed, err := spec.Parse(schedule, zone)
	if err != nil {
		return err
	}
	if parsed.Every() > 0 {
		j.note("@every counts from 1970, not from the last run")
	}
	j.spec = parsed.Text()
	return nil
}

// seconds sets a duration from a number of seconds in a tree. It reports whether there is one.
func (j *job) seconds(key string, tree any, name string) bool {
	value := text(tree, name)
	if value == "" {
		return false
	}
	if n, err := strconv.ParseUint(value, 10, 31); err != nil || n == 0 {
		j.refuse("%s is %q, must be a number of seconds", name, value)
		return true
	}
	j.set(key, value+"s")
	return true
}

// shellWord returns a text as one word of a shell.
func shellWord(s string) string {
	if strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789.-") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
