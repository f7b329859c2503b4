package sms

import (
	"fmt"
)

// A Priority says which of the messages that are due leave first. Urgent ones leave in
// quiet hours as well. Low ones leave behind the others, but are not kept for ever: every
// eighth handful begins with them.
type Priority int8

// The priorities. The zero value is Normal.
const (
	Normal Priority = iota
	Urgent
	Low
)

const priorityAllowed = "urgent, normal or low"

var priorityNames = [...]string{Normal: "normal", Urgent: "urgent", Low: "low"}

// ParsePriority reads a priority's name; empty is Normal. Its error is a *FieldError.
func ParsePriority(s string) (Priority, error) {
	if s == "" {
		return Normal, nil
	}
	for p, name := range priorityNames {
		if s == name {
			return Priority(p), nil
		}
	}
	return Normal, &FieldError{"priority", quote(s), priorityAllowed}
}

func (p Priority) known() bool { return p >= 0 && int(p) < len(priorityNames) }

// String is the priority's name.
func (p Priority) String() string {
	if !p.known() {
		return fmt.Sprintf("priority(%d)", int8(p))
	}
	return priorityNames[p]
}

// MarshalText writes the priority's name.
func (p Priority) MarshalText() ([]byte, error) {
	if !p.known() {
		return nil, &FieldError{"priority", p.String(), priorityAllowed}
	}
	return []byte(p.String()), nil
}

// UnmarshalText reads what MarshalText writes.
func (p *Priority) UnmarshalText(text []byte) (err error) {
	*p, err = ParsePriority(string(text))
	return err
}

// place is where the lane of a priority stands among queued, urgent and low, in scripts.
func (p Priority) place() int { return int(p) }

// lanes are the sets of messages that wait, in the order in which the n-th handful of a
// run is taken from them. What was refused before begins every fourth handful and what has a
// low priority every eighth, so that a full lane before theirs does not keep them for ever.
func lanes(n int) []string {
	switch {
	case n%4 == 0:
		return []string{keyRetry, keyUrgent, keyQueued, keyLow}
	case n%8 == 6:
		return []string{keyLow, keyUrgent, keyQueued, keyRetry}
	}
	return []string{keyUrgent, keyQueued, keyLow, keyRetry}
}
