package sqllock

import (
	"encoding/json"
	"fmt"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

func encodeLine(l *driver.Line) (string, error) {
	text, err := json.Marshal((*series.KeptLine)(l))
	return string(text), err
}

// readLine reads a line. One that cannot be read is an error: what it said is
// not known.
func readLine(key, text string) (driver.Line, error) {
	var k series.KeptLine
	if err := json.Unmarshal([]byte(text), &k); err != nil {
		return driver.Line{}, fmt.Errorf("a line of %q cannot be read: %w", key, err)
	}
	return driver.Line(k), nil
}

// readSightings reads the revisions of a series that were seen.
func readSightings(key, text string) (seen series.Sightings, err error) {
	if text == "" {
		return nil, nil
	}
	if err := json.Unmarshal([]byte(text), &seen); err != nil {
		return nil, fmt.Errorf("the revisions of %q cannot be read: %w", key, err)
	}
	return seen, nil
}
