package config

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/cronce/cronce/cmd/cronce/internal/strictyaml"
)

// Split returns the errors that err joins, also below wrappers.
func Split(err error) []error {
	if err == nil {
		return nil
	}
	for inner := err; inner != nil; inner = errors.Unwrap(inner) {
		if joined, ok := inner.(interface{ Unwrap() []error }); ok {
			var all []error
			for _, e := range joined.Unwrap() {
				all = append(all, Split(e)...)
			}
			return all
		}
	}
	return []error{err}
}

// Locate adds the place in the file to faults of the scheduler (jobs[2].spec: …).
func (c *Config) Locate(err error) error {
	var errs []error
	for _, e := range Split(err) {
		path, text, ok := strings.Cut(e.Error(), ": ")
		if _, located := errors.AsType[*strictyaml.Error](e); ok && !located {
			if at := pathInFile(path); at != "" {
				e = c.Fault(at, "%s", text)
			}
		}
		errs = append(errs, e)
	}
	return errors.Join(errs...)
}

// pathInFile returns the file's path of a setting that the scheduler names by a path; "" if the
// file has none.
func pathInFile(path string) string {
	switch {
	case strings.HasPrefix(path, "jobs["), path == "name":
		return path
	case slices.Contains([]string{"grace", "cancel_grace", "store_timeout", "clock_warn"}, path):
		return "scheduler." + path
	}
	return ""
}

// InFileOrder joins faults in the order of the file.
func InFileOrder(err error) error {
	errs := Split(err)
	line := func(err error) int {
		if f, ok := errors.AsType[*strictyaml.Error](err); ok {
			return f.Line
		}
		return 0
	}
	slices.SortStableFunc(errs, func(a, b error) int { return cmp.Compare(line(a), line(b)) })
	return errors.Join(errs...)
}
