package zklock

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

// format is the latest format of the node of a series. A node with a newer format is doubt.
const format = series.Format

// A record is the node of a series, with the changes that a step makes to it. Its methods are the
// methods of the rules.
type record struct {
	series.State
	path    string
	data    []byte // the data as it was read; nil: there is no node
	version int32
	tail    []series.Line // the newest lines of the journal, which the node itself holds
	chunks  []chunk       // the older lines, oldest first
	next    int64         // the number of the next chunk
	cut     bool          // older lines existed
	audit   audit         // for a control change

	exceptions chunk   // the exceptions that are older than the lines
	since      int64   // when the latest exception was written that was deleted; 0: none was
	fresh      []any   // the creations of new chunks
	gone       []int64 // the numbers of the chunks to which the record refers no more
}

// A chunk is a part of the journal in a node of its own, which is never changed.
type chunk struct {
	Number int64 `json:"number"`
	Lines  int   `json:"lines"`
	Bytes  int   `json:"bytes"`
}

// A keptState is the stored form of a series.
type keptState struct {
	Format int `json:"format"`
	series.Kept
	Lines  []series.Line `json:"lines,omitempty"`
	Chunks []chunk       `json:"chunks,omitempty"`
	Next   int64         `json:"next,omitempty"`
	Cut    bool          `json:"cut,omitempty"`

	Exceptions chunk `json:"exceptions,omitzero"`
	Since      int64 `json:"since,omitempty"`
}

// readRecord reads the node of a series.
func readRecord(path string, data []byte, version int32) (*record, error) {
	var k keptState
	if err := json.Unmarshal(data, &k); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", driver.ErrUnreadable, path, err)
	}
	if k.Format > format {
		return nil, fmt.Errorf("%w: %s is kept in format %d, known is %d", driver.ErrUnreadable, path, k.Format, format)
	}
	state, err := k.State()
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", driver.ErrUnreadable, path, err)
	}
	return &record{State: state, path: path, data: data, version: version,
		tail: k.Lines, chunks: k.Chunks, next: k.Next, cut: k.Cut, exceptions: k.Exceptions, since: k.Since}, nil
}

// encode returns the node in its stored form.
func (r *record) encode() ([]byte, error) {
	return json.Marshal(&keptState{Format: r.Format(), Kept: r.Keep(), Lines: r.tail, Chunks: r.chunks, Next: r.next, Cut: r.cut,
		Exceptions: r.exceptions, Since: r.since})
}

// changed returns the node in its stored form, or nil if it is stored like that already. A series
// that was never opened is not stored.
func (r *record) changed() ([]byte, error) {
	if r.Mark == 0 {
		return nil, nil
	}
	data, err := r.encode()
	if err != nil || bytes.Equal(data, r.data) {
		return nil, err
	}
	return data, nil
}

// Append adds a line to the journal, or folds it into the last line if possible.
func (r *record) Append(line series.Line) {
	if n := len(r.tail); n == 0 || !r.tail[n-1].Fold(line) {
		r.tail = append(r.tail, line)
	}
}
