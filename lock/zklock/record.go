package zklock

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/series"
)

// format is that of a series' node. A node of a newer one is doubt.
const format = 1

// A record is the node of a series, and what a step does to it. Its methods are
// those of the rules.
type record struct {
	series.State
	path    string
	data    []byte // as it was read; nil: there is no node
	version int32
	tail    []lock.Line // the newest lines of the journal, which are kept in the node itself
	chunks  []chunk     // the older ones, oldest first
	next    int64       // the number of the next chunk
	cut     bool        // older lines existed
}

// A chunk is a part of the journal in a node of its own.
type chunk struct {
	Number int64 `json:"number"`
	Lines  int   `json:"lines"`
	Bytes  int   `json:"bytes"`
}

// A keptState is a series as it is kept.
type keptState struct {
	Format      int        `json:"format"`
	Mark        int64      `json:"mark"`
	By          string     `json:"by,omitempty"`
	Fence       int64      `json:"fence"`
	Last        int64      `json:"last,omitempty"`
	Paused      bool       `json:"paused,omitempty"`
	PauseChange int64      `json:"change,omitempty"`
	SpentBy     string     `json:"spentBy,omitempty"`
	SpentAs     string     `json:"spentAs,omitempty"`
	SpentFence  int64      `json:"spentFence,omitempty"`
	Runs        []keptRun  `json:"runs,omitempty"`
	Lines       []keptLine `json:"lines,omitempty"`
	Chunks      []chunk    `json:"chunks,omitempty"`
	Next        int64      `json:"next,omitempty"`
	Cut         bool       `json:"cut,omitempty"`
}

type keptRun struct {
	Number   int64  `json:"number"`
	State    string `json:"state"`
	Owner    string `json:"owner"`
	Fence    int64  `json:"fence"`
	Attempt  int    `json:"attempt,omitempty"`
	Granted  int64  `json:"granted,omitempty"`
	Until    int64  `json:"until,omitempty"`
	Replaced bool   `json:"replaced,omitempty"`
}

// The states and kinds as they are kept, by their numbers.
var (
	states = []string{lock.RunOpen: "open", lock.RunGivenBack: "given back", lock.RunUnstarted: "unstarted",
		lock.RunWaiting: "waiting", lock.RunDone: "done", lock.RunLost: "lost"}
	spendings = []string{lock.Skipped: "skipped", lock.Waiting: "waiting", lock.Missed: "missed", lock.Paused: "paused"}
)

// readRecord reads the node of a series.
func readRecord(path string, data []byte, version int32) (*record, error) {
	var k keptState
	if err := json.Unmarshal(data, &k); err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", path, err)
	}
	if k.Format > format {
		return nil, fmt.Errorf("%s is kept in format %d, known is %d", path, k.Format, format)
	}
	r := &record{path: path, data: data, version: version, tail: backLines(k.Lines), chunks: k.Chunks, next: k.Next, cut: k.Cut}
	r.State = series.State{Mark: k.Mark, By: k.By, Fence: k.Fence, Last: k.Last, Paused: k.Paused, PauseChange: k.PauseChange}
	if k.SpentBy != "" {
		kind, err := number(spendings, k.SpentAs)
		if err != nil {
			return nil, fmt.Errorf("%s cannot be read: %w", path, err)
		}
		r.Spent = series.Spending{Owner: k.SpentBy, Kind: lock.Kind(kind), Fence: k.SpentFence}
	}
	for _, v := range k.Runs {
		state, err := number(states, v.State)
		if err != nil {
			return nil, fmt.Errorf("%s cannot be read: %w", path, err)
		}
		r.Runs = append(r.Runs, lock.Run{Number: v.Number, State: lock.RunState(state), Owner: v.Owner,
			Fence: v.Fence, Attempt: v.Attempt, Granted: v.Granted, Until: v.Until, Replaced: v.Replaced})
	}
	return r, nil
}

// number is that of a word in what is kept.
func number(words []string, word string) (int, error) {
	n := slices.Index(words, word)
	if n < 0 || word == "" {
		return 0, fmt.Errorf("%q is not one of %q", word, words)
	}
	return n, nil
}

// encode returns the node as it is to be kept.
func (r *record) encode() ([]byte, error) {
	k := keptState{Format: format, Mark: r.Mark, By: r.By, Fence: r.Fence, Last: r.Last, Paused: r.Paused, PauseChange: r.PauseChange,
		Lines: keepLines(r.tail), Chunks: r.chunks, Next: r.next, Cut: r.cut}
	if r.Spent.Owner != "" {
		k.SpentBy, k.SpentAs, k.SpentFence = r.Spent.Owner, spendings[r.Spent.Kind], r.Spent.Fence
	}
	for _, v := range r.Runs {
		k.Runs = append(k.Runs, keptRun{v.Number, states[v.State], v.Owner, v.Fence, v.Attempt, v.Granted, v.Until, v.Replaced})
	}
	return json.Marshal(&k)
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
func (r *record) Append(line lock.Line) {
	if n := len(r.tail); n == 0 || !series.Fold(&r.tail[n-1], line) {
		r.tail = append(r.tail, line)
	}
}
