package sqllock

import (
	"encoding/json"
	"fmt"

	"github.com/cronce/cronce/lock/series"
)

// format is the latest format of the state column. A row with a newer format is doubt.
const format = series.Format

// A record is the row of a series, with the changes that a step makes to it. Its methods are the
// methods of the rules.
type record struct {
	series.State
	key    string
	found  bool   // the row exists
	text   string // the state as it was read
	seen   string // the revisions as they were read, if they were read
	newest series.Line
	stored *series.Line // the newest line as it is in the table
	first  int64        // the number of the first line of the journal
	next   int64
	bytes  int64 // of the journal, with its exceptions

	exceptions int64 // how many lines before the first line are kept
	since      int64 // when the newest exception was written that was deleted, Unix ms; 0: none was

	folded  bool          // the newest line of the table was changed
	grown   int64         // how many bytes of an error's text or of a sheet were added to it
	written []series.Line // lines that are not in the table yet
	err     error         // why the row cannot be read
}

// A keptState is the stored form of a series.
type keptState struct {
	series.Kept
	Newest *series.Line `json:"newest,omitempty"` // the last line of the journal: the next line may fold into it

	Exceptions      int64 `json:"exceptions,omitempty"`      // how many rows before the first line are kept
	ExceptionsSince int64 `json:"exceptionsSince,omitempty"` // see series.Journal
}

// read fills the record from its columns.
func (r *record) read(kept int64) {
	r.found = true
	if kept > format {
		r.err = fmt.Errorf("sqllock: series %q is kept in format %d, known is %d", r.key, kept, format)
		return
	}
	if r.text == "" {
		return
	}
	var k keptState
	err := json.Unmarshal([]byte(r.text), &k)
	if err == nil {
		r.State, err = k.State()
	}
	if err != nil {
		r.err = fmt.Errorf("sqllock: series %q cannot be read: %w", r.key, err)
		return
	}
	if k.Newest != nil {
		r.newest, r.stored = *k.Newest, k.Newest
	}
	r.exceptions, r.since = k.Exceptions, k.ExceptionsSince
}

// encode returns the state in its stored form.
func (r *record) encode() (string, error) {
	k := keptState{Kept: r.Keep(), Exceptions: r.exceptions, ExceptionsSince: r.since}
	if newest := r.last(); newest.Verdict != "" {
		k.Newest = newest
	}
	text, err := json.Marshal(&k)
	return string(text), err
}

// last returns the newest line of the journal.
func (r *record) last() *series.Line {
	if n := len(r.written); n > 0 {
		return &r.written[n-1]
	}
	return &r.newest
}

// Append adds a line to the journal, or folds it into the last line if possible.
func (r *record) Append(line series.Line) {
	last := r.last()
	switch {
	case last.Verdict == "" || !last.Fold(line):
		r.written = append(r.written, line)
	case len(r.written) == 0:
		r.folded = true
		r.grown += int64(len(line.Error) + len(line.Sheet))
	}
}
