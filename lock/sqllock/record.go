package sqllock

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/series"
)

// format is that of the state column. A row of a newer one is doubt.
const format = 1

// A record is the row of a series, and what a step does to it. Its methods are
// those of the rules.
type record struct {
	series.State
	key     string
	found   bool   // there is a row
	text    string // the state as it was read
	seen    string // the revisions as they were read, if they were
	newest  lock.Line
	first   int64 // of the journal
	next    int64
	bytes   int64
	folded  bool        // the newest line of the table was changed
	written []lock.Line // lines that are not in the table yet
	err     error       // it cannot be read
}

// A keptState is a series as it is kept.
type keptState struct {
	Mark        int64     `json:"mark"`
	By          string    `json:"by,omitempty"`
	Fence       int64     `json:"fence"`
	Last        int64     `json:"last,omitempty"`
	Paused      bool      `json:"paused,omitempty"`
	PauseChange int64     `json:"change,omitempty"`
	SpentBy     string    `json:"spentBy,omitempty"`
	SpentAs     string    `json:"spentAs,omitempty"`
	SpentFence  int64     `json:"spentFence,omitempty"`
	Runs        []keptRun `json:"runs,omitempty"`
	Newest      *keptLine `json:"newest,omitempty"` // the last line of the journal: the next may fold into it
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
	if err := json.Unmarshal([]byte(r.text), &k); err != nil {
		r.err = fmt.Errorf("sqllock: series %q cannot be read: %w", r.key, err)
		return
	}
	r.State = series.State{Mark: k.Mark, By: k.By, Fence: k.Fence, Last: k.Last, Paused: k.Paused, PauseChange: k.PauseChange}
	if k.SpentBy != "" {
		r.Spent = series.Spending{Owner: k.SpentBy, Kind: lock.Kind(r.number(spendings, k.SpentAs)), Fence: k.SpentFence}
	}
	for _, v := range k.Runs {
		r.Runs = append(r.Runs, lock.Run{Number: v.Number, State: lock.RunState(r.number(states, v.State)), Owner: v.Owner,
			Fence: v.Fence, Attempt: v.Attempt, Granted: v.Granted, Until: v.Until, Replaced: v.Replaced})
	}
	if k.Newest != nil {
		r.newest = k.Newest.line()
	}
}

// number is that of a word in what is kept.
func (r *record) number(words []string, word string) int {
	n := slices.Index(words, word)
	if n < 0 || word == "" {
		r.err = fmt.Errorf("sqllock: series %q cannot be read: %q is not one of %q", r.key, word, words)
		return 0
	}
	return n
}

// encode returns the state as it is to be kept.
func (r *record) encode() (string, error) {
	k := keptState{Mark: r.Mark, By: r.By, Fence: r.Fence, Last: r.Last, Paused: r.Paused, PauseChange: r.PauseChange}
	if r.Spent.Owner != "" {
		k.SpentBy, k.SpentAs, k.SpentFence = r.Spent.Owner, spendings[r.Spent.Kind], r.Spent.Fence
	}
	for _, v := range r.Runs {
		k.Runs = append(k.Runs, keptRun{v.Number, states[v.State], v.Owner, v.Fence, v.Attempt, v.Granted, v.Until, v.Replaced})
	}
	if newest := r.last(); newest.Verdict != "" {
		k.Newest = keep(newest)
	}
	text, err := json.Marshal(&k)
	return string(text), err
}

// last is the newest line of the journal.
func (r *record) last() *lock.Line {
	if n := len(r.written); n > 0 {
		return &r.written[n-1]
	}
	return &r.newest
}

// Append adds a line to the journal, or to its last line if the two fold.
func (r *record) Append(line lock.Line) {
	last := r.last()
	switch {
	case last.Verdict == "" || !series.Fold(last, line):
		r.written = append(r.written, line)
	case len(r.written) == 0:
		r.folded = true
	}
}
