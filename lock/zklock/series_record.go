package zklock

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
)

// format is the latest of a series' node. A node of a newer one is doubt.
const format = series.Format

// A record is the node of a series, and what a step does to it. Its methods are
// those of the rules.
type record struct {
	series.State
	path    string
	data    []byte // as it was read; nil: there is no node
	version int32
	tail    []series.Line // the newest lines of the journal, which are kept in the node itself
	chunks  []chunk       // the older ones, oldest first
	next    int64         // the number of the next chunk
	cut     bool          // older lines existed
	audit   audit         // of a control change
}

// A chunk is a part of the journal in a node of its own.
type chunk struct {
	Number int64 `json:"number"`
	Lines  int   `json:"lines"`
	Bytes  int   `json:"bytes"`
}

// A keptState is a series as it is kept.
type keptState struct {
	Format int `json:"format"`
	series.Kept
	Lines  []series.KeptLine `json:"lines,omitempty"`
	Chunks []chunk           `json:"chunks,omitempty"`
	Next   int64             `json:"next,omitempty"`
	Cut    bool              `json:"cut,omitempty"`
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
		tail: backLines(k.Lines), chunks: k.Chunks, next: k.Next, cut: k.Cut}, nil
}

// encode returns the node as it is to be kept.
func (r *record) encode() ([]byte, error) {
	return json.Marshal(&keptState{Format: r.Format(), Kept: r.Keep(), Lines: keepLines(r.tail), Chunks: r.chunks, Next: r.next, Cut: r.cut})
}

// changed returns the node as it is to be kept, or nil if it is kept so already. A
// series that was never opened is not kept.
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

// Append adds a line to the journal, or to its last line if the two fold.
func (r *record) Append(line series.Line) {
	if n := len(r.tail); n == 0 || !series.Fold(&r.tail[n-1], line) {
		r.tail = append(r.tail, line)
	}
}
