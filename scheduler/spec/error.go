package spec

import (
	"fmt"
	"slices"
)

// Error says why [Parse] refused a spec. Field and Value are empty when the
// fault is in the spec as a whole.
type Error struct {
	Spec   string // the text, without the space around it
	Field  string // "second", "day of month", "zone", ...
	Value  string // the part of the field that is wrong
	Reason string // what is wrong, and what is allowed
}

// Error returns one line with the spec, the field, its value and the reason.
func (e *Error) Error() string {
	if e.Field == "" {
		return fmt.Sprintf("spec %q: %s", shorten(e.Spec), e.Reason)
	}
	return fmt.Sprintf("spec %q: %s %q: %s", shorten(e.Spec), e.Field, shorten(e.Value), e.Reason)
}

// Limit returns the name of the limit at fault, as not_before, or "at" for an @at. It is empty if
// another part of the spec is at fault.
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
