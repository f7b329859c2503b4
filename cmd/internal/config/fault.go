package config

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cronce/cronce/cmd/internal/strictyaml"
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
				e = c.Fault(at, "%s", c.twice(at, text))
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
	case slices.Contains([]string{"grace", "cancel_grace", "spread", "store_timeout", "clock_warn"}, path):
		return "scheduler." + path
	}
	return ""
}

// maxFaults bounds the faults that are reported: one default may be wrong for all jobs.
const maxFaults = 100

// InFileOrder joins faults by files, in the order of each file, without those that follow from others.
func InFileOrder(err error) error {
	errs := slices.DeleteFunc(Split(err), func(err error) bool {
		f, ok := errors.AsType[*strictyaml.Error](err)
		return ok && f.Follows
	})
	place := func(err error) (string, int) {
		if f, ok := errors.AsType[*strictyaml.Error](err); ok {
			return f.File, f.Line
		}
		return "", 0
	}
	slices.SortStableFunc(errs, func(a, b error) int {
		fileA, lineA := place(a)
		fileB, lineB := place(b)
		return cmp.Or(cmp.Compare(fileA, fileB), cmp.Compare(lineA, lineB))
	})
	if more := len(errs) - maxFaults; more > 0 {
		errs = append(errs[:maxFaults], fmt.Errorf("and %d more", more))
	}
	return errors.Join(errs...)
}
