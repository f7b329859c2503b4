package series

import (
	"strconv"

	"github.com/cronce/cronce/lock/driver"
)

// CheckJournal returns an *ArgumentError about Options.JournalLines or Options.JournalBytes
// unless both are positive.
func CheckJournal(lines int, bytes int64) error {
	switch {
	case lines < 1:
		return driver.Refuse("Options.JournalLines", strconv.Itoa(lines), "1 or more")
	case bytes < 1:
		return driver.Refuse("Options.JournalBytes", strconv.FormatInt(bytes, 10), "1 or more")
	}
	return nil
}
