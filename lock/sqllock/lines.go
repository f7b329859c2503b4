package sqllock

import (
	"encoding/json"
	"fmt"

	"github.com/cronce/cronce/lock"
)

// A keptLine is a line of a journal as it is kept.
type keptLine struct {
	At       int64        `json:"at"`
	Verdict  lock.Verdict `json:"verdict"`
	From     int64        `json:"from"`
	To       int64        `json:"to"`
	Between  lock.Verdict `json:"between,omitempty"`
	Reason   string       `json:"reason,omitempty"`
	Node     string       `json:"node,omitempty"`
	Revision string       `json:"revision,omitempty"`
	Fence    int64        `json:"fence,omitempty"`
	Attempt  int          `json:"attempt,omitempty"`
	Outcome  string       `json:"outcome,omitempty"`
	Ended    int64        `json:"ended,omitempty"`
}

func keep(l *lock.Line) *keptLine {
	k := keptLine(*l)
	return &k
}

func (k *keptLine) line() lock.Line { return lock.Line(*k) }

func encodeLine(l *lock.Line) (string, error) {
	text, err := json.Marshal(keep(l))
	return string(text), err
}

// readLine reads a line. One that cannot be read is an error: what it said is
// not known.
func readLine(key, text string) (lock.Line, error) {
	var k keptLine
	if err := json.Unmarshal([]byte(text), &k); err != nil {
		return lock.Line{}, fmt.Errorf("a line of %q cannot be read: %w", key, err)
	}
	return k.line(), nil
}
