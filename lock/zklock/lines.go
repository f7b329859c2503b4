package zklock

import (
	"encoding/json"
	"fmt"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

func encodeLines(lines []driver.Line) ([]byte, error) { return json.Marshal(keepLines(lines)) }

func keepLines(lines []driver.Line) []series.KeptLine {
	kept := make([]series.KeptLine, len(lines))
	for i, l := range lines {
		kept[i] = series.KeptLine(l)
	}
	return kept
}

// readLines reads a chunk. One that cannot be read is an error: what it said is
// not known.
func readLines(path string, data []byte) ([]driver.Line, error) {
	var kept []series.KeptLine
	if err := json.Unmarshal(data, &kept); err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", path, err)
	}
	return backLines(kept), nil
}

func backLines(kept []series.KeptLine) []driver.Line {
	lines := make([]driver.Line, len(kept))
	for i, k := range kept {
		lines[i] = driver.Line(k)
	}
	return lines
}
