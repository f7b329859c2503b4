package sqllock

import (
	"encoding/json"
	"fmt"

	"github.com/cronce/cronce/lock/series"
)

// format is the latest of the state column. A row of a newer one is doubt.
const format = series.Format

// A record is the row of a series, and what a step does to it. Its methods are
// those of the rules.
type record struct {
	series.State
	key     string
	found   bool   // there is a row
	text    string // the state as it was read
	seen    string // the revisions as they were read, if they were
	newest  series.Line
	first   int64 // of the journal
	next    int64
	bytes   int64
	folded  bool          // the newest line of the table was changed
	grown   int64         // by how many bytes of an error's text
	written []series.Line // lines that are not in the table yet
	err     error         // it cannot be read
}

// A keptState is a series as it is kept.
type keptState struct {
	series.Kept
	Newest *series.KeptLine `json:"newest,omitempty"` // the last line of the journal: the next may fold into it
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
		r.newest = series.Line(*k.Newest)
	}
}

// encode returns the state as it is to be kept.
func (r *record) encode() (string, error) {
	k := keptState{Kept: r.Keep()}
	if newest := r.last(); newest.Verdict != "" {
		k.Newest = (*series.KeptLine)(newest)
	}
	text, err := json.Marshal(&k)
	return string(text), err
}

// last is the newest line of the journal.
func (r *record) last() *series.Line {
	if n := len(r.written); n > 0 {
		return &r.written[n-1]
	}
	return &r.newest
}

// Append adds a line to the journal, or to its last line if the two fold.
func (r *record) Append(line series.Line) {
	last := r.last()
	switch {
	case last.Verdict == "" || !series.Fold(last, line):
		r.written = append(r.written, line)
	case len(r.written) == 0:
		r.folded = true
		r.grown += int64(len(line.Error))
	}
}
