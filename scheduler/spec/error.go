package spec

import (
	"fmt"
	"slices"
)

// An Error is the reason why [Parse] refused a spec. Field and Value are empty if the spec as a
// whole is at fault.
type Error struct {
	Spec   string // the text, without surrounding space
	Field  string // "second", "day of month", "zone", ...
	Value  string // the wrong part of the field
	Reason string // the fault, and the allowed values
}

// Error returns one line with the spec, the field, its value and the reason.
func (e *Error) Error() string {
	if e.Field == "" {
		return fmt.Sprintf("spec %q: %s", shorten(e.Spec), e.Reason)
	}
	return fmt.Sprintf("spec %q: %s %q: %s", shorten(e.Spec), e.Field, shorten(e.Value), e.Reason)
}

// Limit returns the name of the limit at fault, such as not_before, or "at" for an @at. It is empty
// if another part of the spec is at fault.
func (e *Error) Limit() string {
	if slices.Contains(limitNames, e.Field) {
		return e.Field
	}
	return ""
}

// shorten keeps a hostile spec from filling a log line.
func shorten(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return s[:most] + "..."
}
