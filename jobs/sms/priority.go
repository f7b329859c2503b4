package sms

import (
	"fmt"
)

// A Priority determines which due messages leave first. Low ones leave behind the others, except that every eighth take of a run begins with them,
// so that they do not starve.
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

// place returns the index of the priority's lane among queued, urgent and low, in scripts.
func (p Priority) place() int { return int(p) }

// lanes returns the sets of waiting messages, in the order in which the n-th take of a run reads
// them. Every fourth take begins with refused messages and every eighth with low ones, so that a
// full lane before theirs does not starve them.
func lanes(n int) []string {
	switch {
	case n%4 == 0:
		return []string{keyRetry, keyUrgent, keyQueued, keyLow}
	case n%8 == 6:
		return []string{keyLow, keyUrgent, keyQueued, keyRetry}
	}
	return []string{keyUrgent, keyQueued, keyLow, keyRetry}
}
