package zklock

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

func encodeLines(lines []lock.Line) ([]byte, error) { return json.Marshal(keepLines(lines)) }

func keepLines(lines []lock.Line) []keptLine {
	kept := make([]keptLine, len(lines))
	for i, l := range lines {
		kept[i] = keptLine(l)
	}
	return kept
}

// readLines reads a chunk. One that cannot be read is an error: what it said is
// not known.
func readLines(path string, data []byte) ([]lock.Line, error) {
	var kept []keptLine
	if err := json.Unmarshal(data, &kept); err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", path, err)
	}
	return backLines(kept), nil
}

func backLines(kept []keptLine) []lock.Line {
	lines := make([]lock.Line, len(kept))
	for i, k := range kept {
		lines[i] = lock.Line(k)
	}
	return lines
}
