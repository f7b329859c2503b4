package driver

import (
	"regexp"
	"strconv"
)

// The defaults of the options that several stores have.
const (
	DefaultNamespace    = "cronce"
	DefaultJournalLines = 1000
)

var namespace = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// CheckNamespace returns an *ArgumentError about Options.Namespace unless name can be the
// namespace of a store: [A-Za-z0-9][A-Za-z0-9._-]{0,63}.
func CheckNamespace(name string) error {
	if namespace.MatchString(name) {
		return nil
	}
	return Refuse("Options.Namespace", strconv.Quote(name), namespace.String())
}

// CheckJournal returns an *ArgumentError about Options.JournalLines or Options.JournalBytes
// unless both are positive.
func CheckJournal(lines int, bytes int64) error {
	switch {
	case lines < 1:
		return Refuse("Options.JournalLines", strconv.Itoa(lines), "1 or more")
	case bytes < 1:
		return Refuse("Options.JournalBytes", strconv.FormatInt(bytes, 10), "1 or more")
	}
	return nil
}

// Refuse returns an *ArgumentError about an argument that has a value, quoted where it is a
// text, and what is allowed.
func Refuse(argument, value, allowed string) error {
	return &ArgumentError{Argument: argument, Value: value, Allowed: allowed}
}
