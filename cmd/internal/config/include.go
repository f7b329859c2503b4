package config

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/cronce/cronce/cmd/internal/boundedfile"
	"github.com/cronce/cronce/cmd/internal/strictyaml"
)

// maxIncluded bounds the files that a configuration includes.
const maxIncluded = 1000

// A part is an included file. Its first job has the index from.
type part struct {
	from int
	file *strictyaml.File
	sum  [sha256.Size]byte // of its text
	jobs []Job             // as written in the file
}

// readPart reads an included file, or takes it from a configuration that was read before. Former
// may be nil.
func readPart(name string, former *Config) (p part, cannot, faults error) {
	data, err := boundedfile.ReadNow(name, strictyaml.MaxSize)
	if err != nil {
		return p, err, nil
	}
	sum := sha256.Sum256(data)
	if former != nil {
		for _, p := range former.included {
			if p.sum == sum && p.file.Name() == name {
				return p, nil, nil
			}
		}
	}
	var content struct {
		Jobs []Job `yaml:"jobs"`
	}
	file, faults := strictyaml.Decode(name, data, &content)
	if faults != nil {
		sum = [sha256.Size]byte{} // read it again next time, to find its faults
	}
	return part{file: file, sum: sum, jobs: content.Jobs}, nil, faults
}

// include appends the jobs of the included files, in the order of the patterns and then by name.
func (c *Config) include(main string, former *Config) error {
	var errs []error
	seen := map[string]bool{filepath.Clean(main): true}
	for i, pattern := range c.Include {
		at := fmt.Sprintf("include[%d]", i)
		names, err := matches(beside(main, pattern))
		if err != nil {
			errs = append(errs, c.Fault(at, "is %s, must be a file or a pattern such as jobs.d/*.yaml", strictyaml.Quote(pattern)))
		}
		for _, name := range names {
			if seen[filepath.Clean(name)] {
				continue
			}
			if seen[filepath.Clean(name)] = true; len(seen)-1 > maxIncluded { // without the main file
				return errors.Join(append(errs, c.Fault(at, "names more than %d files", maxIncluded))...)
			}
			p, cannot, faults := readPart(name, former)
			if cannot != nil {
				errs = append(errs, c.Fault(at, "names %s, which cannot be used: %v", strictyaml.Quote(name), cannot))
				continue
			}
			errs = append(errs, faults)
			p.from = len(c.Jobs)
			c.included = append(c.included, p)
			c.Jobs = append(c.Jobs, p.jobs...)
		}
	}
	return errors.Join(errs...)
}

// beside resolves a path that is relative to the directory of a file.
func beside(file, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(file), path)
}

// matches returns the files that match a pattern, as a shell does: without names that begin with a
// dot. A name that is not a pattern matches itself, even if there is no such file.
func matches(pattern string) (names []string, err error) {
	if !strings.ContainsAny(pattern, `*?[\`) {
		return []string{pattern}, nil
	}
	names, err = filepath.Glob(pattern)
	return slices.DeleteFunc(names, func(name string) bool { return strings.HasPrefix(filepath.Base(name), ".") }), err
}

// Files returns the current names of the files of the configuration, including files that were
// added since. It returns none if there is no main file.
func (c *Config) Files() []string {
	if c.file.Name() == "" {
		return nil
	}
	files := []string{c.file.Name()}
	for _, pattern := range c.Include {
		names, _ := matches(beside(c.file.Name(), pattern))
		files = append(files, names...)
	}
	return files
}

// applyDefaults sets the policies that jobs of the files leave unset.
func (c *Config) applyDefaults() {
	defaults := reflect.ValueOf(&c.Defaults).Elem()
	for i := range c.Jobs {
		policies := reflect.ValueOf(&c.Jobs[i].Policies).Elem()
		for f := range policies.NumField() {
			if policies.Field(f).IsNil() {
				policies.Field(f).Set(defaults.Field(f))
			}
		}
	}
}

// faultOfJob returns the fault of the value at path, with its place in the file that has the job,
// or in the defaults.
func (c *Config) faultOfJob(path, format string, args ...any) error {
	index, rest, _ := strings.Cut(strings.TrimPrefix(path, "jobs["), "]")
	i, err := strconv.Atoi(index)
	if !strings.HasPrefix(path, "jobs[") || err != nil || i >= len(c.Jobs) {
		return c.file.Fault(path, format, args...)
	}
	file := c.file
	for _, p := range c.included {
		if p.from <= i {
			file, path = p.file, fmt.Sprintf("jobs[%d]%s", i-p.from, rest)
		}
	}
	if key := "defaults" + rest; rest != "" && !file.Has(path) && c.file.Has(key) {
		return c.file.Fault(key, "%s, for the job %s", fmt.Sprintf(format, args...), strictyaml.Quote(c.Jobs[i].Name))
	}
	return file.Fault(path, format, args...)
}

// place returns the place of a job in the files.
func (c *Config) place(i int) string {
	at, _ := errors.AsType[*strictyaml.Error](c.Fault(fmt.Sprintf("jobs[%d]", i), ""))
	return fmt.Sprintf("%s:%d", at.File, at.Line)
}

// twice adds the place of the first of two jobs with the same name to the fault of the second one.
func (c *Config) twice(path, text string) string {
	var i int
	if _, err := fmt.Sscanf(path, "jobs[%d].name", &i); err != nil || i >= len(c.Jobs) || !strings.HasSuffix(text, "is taken by another job") {
		return text
	}
	first := slices.IndexFunc(c.Jobs, func(j Job) bool { return j.Name == c.Jobs[i].Name })
	if first == i || c.Jobs[i].Name == "" {
		return text
	}
	return text + ", at " + c.place(first)
}
