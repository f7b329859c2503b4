package series

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/cronce/cronce/lock/driver"
)

// A Kept is a [State] as JSON, for stores that keep text. Each store embeds it in its own record,
// and numbers the format of the whole record.
type Kept struct {
	Mark       int64       `json:"mark"`
	By         string      `json:"by,omitempty"`
	Fence      int64       `json:"fence"`
	Last       int64       `json:"last,omitempty"`
	Paused     bool        `json:"paused,omitempty"`
	Change     int64       `json:"change,omitempty"`
	Pause      *keptChange `json:"pause,omitempty"`
	Latest     *keptChange `json:"latest,omitempty"`
	Ops        []Op        `json:"ops,omitempty"`
	Manual     int64       `json:"manual,omitempty"`
	Skip       int64       `json:"skip,omitempty"`
	Backfill   string      `json:"backfill,omitempty"` // see Backfill.String
	SpentBy    string      `json:"spentBy,omitempty"`
	SpentAs    string      `json:"spentAs,omitempty"`
	SpentFence int64       `json:"spentFence,omitempty"`
	Runs       []keptRun   `json:"runs,omitempty"`
	Sheet      *keptSheet  `json:"sheet,omitempty"`
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

	Cancelled bool  `json:"cancelled,omitempty"`
	StartBy   int64 `json:"startBy,omitempty"`
	For       int64 `json:"for,omitempty"`
	Room      int64 `json:"room,omitempty"`
	Shards    int   `json:"shards,omitempty"`
}

// A keptSheet is the shards of the run that is sharded.
type keptSheet struct {
	Params    []string    `json:"params,omitempty"`
	FailAll   bool        `json:"failAll,omitempty"`
	Broadcast bool        `json:"broadcast,omitempty"`
	Shards    []keptShard `json:"shards"`
}

type keptShard struct {
	State   string `json:"state,omitempty"` // "": free
	Owner   string `json:"owner,omitempty"`
	Fence   int64  `json:"fence,omitempty"`
	Attempt int    `json:"attempt,omitempty"`
	Granted int64  `json:"granted,omitempty"`
	Until   int64  `json:"until,omitempty"`
	Ended   int64  `json:"ended,omitempty"`
	Outcome string `json:"outcome,omitempty"`
	OK      bool   `json:"ok,omitempty"`
	Error   string `json:"error,omitempty"`
}

// A keptChange is a pause, or the latest change.
type keptChange struct {
	Action Action `json:"action,omitempty"` // of the latest change
	Op     string `json:"op"`
	Who    string `json:"who"`
	Reason string `json:"reason,omitempty"`
	At     int64  `json:"at"`
	Until  int64  `json:"until,omitempty"` // of a pause
}

// The stored words of states and kinds, by their numbers.
var (
	states = []string{RunOpen: "open", RunGivenBack: "given back", RunUnstarted: "unstarted",
		RunWaiting: "waiting", RunDone: "done", RunLost: "lost"}
	spendings = []string{KindSkipped: "skipped", KindWaiting: "waiting", KindMissed: "missed", KindPaused: "paused", KindOperator: "operator"}
)

// Format is the latest format of a [Kept] that this version reads.
const Format = 4

// Format returns the lowest format that can keep all of s, so that nodes of an older version can
// read series that no operator has changed. An older node would grant a run of a backfill without its
// earlier number, and store the state without the rest of the backfill, or without the shards.
func (s *State) Format() int {
	switch {
	case len(s.Sheet.Shards) > 0:
		return 4
	case len(s.Backfill.Numbers) > 0 || s.backfilling() != nil:
		return 3
	case s.Change > 0:
		return 2
	}
	return 1
}

// Keep returns s in its stored form.
func (s *State) Keep() Kept {
	k := Kept{Mark: s.Mark, By: s.By, Fence: s.Fence, Last: s.Last, Paused: s.Paused, Change: s.Change, Ops: s.Ops, Manual: s.Manual, Skip: s.Skip, Backfill: s.Backfill.String()}
	if p := s.Pause; p != (Pause{}) {
		k.Pause = &keptChange{Op: p.Op, Who: p.Who, Reason: p.Reason, At: p.Since, Until: p.Until}
	}
	if l := s.Latest; l != (Change{}) {
		k.Latest = &keptChange{Action: l.Action, Op: l.Op, Who: l.Who, Reason: l.Reason, At: l.At}
	}
	if s.SpentBy != "" {
		k.SpentBy, k.SpentAs, k.SpentFence = s.SpentBy, spendings[s.SpentAs], s.SpentFence
	}
	for _, v := range s.Runs {
		k.Runs = append(k.Runs, keptRun{v.Number, states[v.State], v.Owner, v.Fence, v.Attempt, v.Granted, v.Until, v.Replaced, v.Cancelled, v.StartBy, v.For, v.Room, v.Shards})
	}
	k.Sheet = s.Sheet.keep()
	return k
}

// State returns the stored state. An error names the unknown word.
func (k *Kept) State() (State, error) {
	s := State{Mark: k.Mark, By: k.By, Fence: k.Fence, Last: k.Last, Paused: k.Paused, Change: k.Change, Ops: k.Ops, Manual: k.Manual, Skip: k.Skip}
	var err error
	if s.Backfill, err = readBackfill(k.Backfill); err != nil {
		return State{}, err
	}
	if p := k.Pause; p != nil {
		s.Pause = Pause{Op: p.Op, Who: p.Who, Reason: p.Reason, Since: p.At, Until: p.Until}
	}
	if l := k.Latest; l != nil {
		s.Latest = Change{Action: l.Action, Op: l.Op, Who: l.Who, Reason: l.Reason, At: l.At}
	}
	if k.SpentBy != "" {
		kind, err := number(spendings, k.SpentAs)
		if err != nil {
			return State{}, err
		}
		s.SpentBy, s.SpentAs, s.SpentFence = k.SpentBy, Kind(kind), k.SpentFence
	}
	for _, v := range k.Runs {
		state, err := number(states, v.State)
		if err != nil {
			return State{}, err
		}
		s.Runs = append(s.Runs, Run{Number: v.Number, State: RunState(state), Owner: v.Owner,
			Fence: v.Fence, Attempt: v.Attempt, Granted: v.Granted, Until: v.Until, Replaced: v.Replaced, Cancelled: v.Cancelled, StartBy: v.StartBy, For: v.For, Room: v.Room, Shards: v.Shards})
	}
	if k.Sheet != nil {
		if s.Sheet, err = k.Sheet.sheet(); err != nil {
			return State{}, err
		}
	}
	for i := range s.Runs {
		if n := s.Runs[i].Shards; n > 0 && n != len(s.Sheet.Shards) {
			return State{}, fmt.Errorf("the run of %d has %d shards, and its sheet %d", s.Runs[i].Number, n, len(s.Sheet.Shards))
		}
	}
	return s, nil
}

// keep returns the sheet in its stored form, or nil if there is none.
func (s *Sheet) keep() *keptSheet {
	if len(s.Shards) == 0 {
		return nil
	}
	k := &keptSheet{Params: s.Params, FailAll: s.FailAll, Broadcast: s.Broadcast, Shards: make([]keptShard, len(s.Shards))}
	for i, h := range s.Shards {
		k.Shards[i] = keptShard{states[h.State], h.Owner, h.Fence, h.Attempt, h.Granted, h.Until, h.Ended, h.Outcome, h.OK, h.Error}
	}
	return k
}

func (k *keptSheet) sheet() (Sheet, error) {
	s := Sheet{Params: k.Params, FailAll: k.FailAll, Broadcast: k.Broadcast, Shards: make([]Shard, len(k.Shards))}
	if k.Broadcast && len(k.Params) != len(k.Shards) {
		return Sheet{}, fmt.Errorf("a broadcast to %d nodes has %d shards", len(k.Params), len(k.Shards))
	}
	for i, h := range k.Shards {
		state := 0
		if h.State != "" {
			var err error
			if state, err = number(states, h.State); err != nil {
				return Sheet{}, err
			}
		}
		s.Shards[i] = Shard{RunState(state), h.Owner, h.Fence, h.Attempt, h.Granted, h.Until, h.Ended, h.Outcome, h.OK, h.Error}
	}
	return s, nil
}

// number returns the index of a stored word.
func number(words []string, word string) (int, error) {
	n := slices.Index(words, word)
	if n < 0 || word == "" {
		return 0, fmt.Errorf("%q is not one of %q", word, words)
	}
	return n, nil
}

// ReadRecords reads stored records. A record that cannot be read becomes one with Unreadable.
func ReadRecords(texts []string) []AuditRecord {
	records := make([]AuditRecord, len(texts))
	for i, text := range texts {
		r := &records[i]
		if err := json.Unmarshal([]byte(text), r); err != nil || r.Number <= 0 {
			*r = AuditRecord{Unreadable: driver.Quote(text)}
		}
	}
	return records
}
