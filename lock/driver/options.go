package driver

import (
	"regexp"
	"strconv"
)

// DefaultNamespace is the default of the option Namespace of each store.
const DefaultNamespace = "cronce"

var namespace = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// CheckNamespace returns an *ArgumentError about Options.Namespace unless name can be the
// namespace of a store: [A-Za-z0-9][A-Za-z0-9._-]{0,63}.
func CheckNamespace(name string) error {
	if namespace.MatchString(name) {
		return nil
	}
	return Refuse("Options.Namespace", strconv.Quote(name), namespace.String())
}

// Refuse returns an *ArgumentError for an argument, with its value, which the caller quotes if it
// is a text, and the allowed values.
func Refuse(argument, value, allowed string) error {
	return &ArgumentError{Argument: argument, Value: value, Allowed: allowed}
}
