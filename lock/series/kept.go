package series

import (
	"fmt"
	"slices"

	"github.com/cronce/cronce/lock/driver"
)

// A Kept is a [State] as stores that keep text keep it, as JSON. Each embeds it in
// what it keeps beside, and numbers the format of the whole.
type Kept struct {
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
	states = []string{driver.RunOpen: "open", driver.RunGivenBack: "given back", driver.RunUnstarted: "unstarted",
		driver.RunWaiting: "waiting", driver.RunDone: "done", driver.RunLost: "lost"}
	spendings = []string{driver.KindSkipped: "skipped", driver.KindWaiting: "waiting", driver.KindMissed: "missed", driver.KindPaused: "paused"}
)

// Keep returns s as it is to be kept.
func (s *State) Keep() Kept {
	k := Kept{Mark: s.Mark, By: s.By, Fence: s.Fence, Last: s.Last, Paused: s.Paused, PauseChange: s.PauseChange}
	if s.Spent.Owner != "" {
		k.SpentBy, k.SpentAs, k.SpentFence = s.Spent.Owner, spendings[s.Spent.Kind], s.Spent.Fence
	}
	for _, v := range s.Runs {
		k.Runs = append(k.Runs, keptRun{v.Number, states[v.State], v.Owner, v.Fence, v.Attempt, v.Granted, v.Until, v.Replaced})
	}
	return k
}

// State returns what was kept. An error says which word of it is not known.
func (k *Kept) State() (State, error) {
	s := State{Mark: k.Mark, By: k.By, Fence: k.Fence, Last: k.Last, Paused: k.Paused, PauseChange: k.PauseChange}
	if k.SpentBy != "" {
		kind, err := number(spendings, k.SpentAs)
		if err != nil {
			return State{}, err
		}
		s.Spent = Spending{Owner: k.SpentBy, Kind: driver.Kind(kind), Fence: k.SpentFence}
	}
	for _, v := range k.Runs {
		state, err := number(states, v.State)
		if err != nil {
			return State{}, err
		}
		s.Runs = append(s.Runs, driver.Run{Number: v.Number, State: driver.RunState(state), Owner: v.Owner,
			Fence: v.Fence, Attempt: v.Attempt, Granted: v.Granted, Until: v.Until, Replaced: v.Replaced})
	}
	return s, nil
}

// number is that of a word in what is kept.
func number(words []string, word string) (int, error) {
	n := slices.Index(words, word)
	if n < 0 || word == "" {
		return 0, fmt.Errorf("%q is not one of %q", word, words)
	}
	return n, nil
}

// A KeptLine is a [driver.Line] as stores that keep text keep it, as JSON.
type KeptLine struct {
	At       int64          `json:"at"`
	Verdict  driver.Verdict `json:"verdict"`
	From     int64          `json:"from"`
	To       int64          `json:"to"`
	Between  driver.Verdict `json:"between,omitempty"`
	Reason   string         `json:"reason,omitempty"`
	Node     string         `json:"node,omitempty"`
	Revision string         `json:"revision,omitempty"`
	Fence    int64          `json:"fence,omitempty"`
	Attempt  int            `json:"attempt,omitempty"`
	Outcome  string         `json:"outcome,omitempty"`
	Ended    int64          `json:"ended,omitempty"`
	Error    string         `json:"error,omitempty"`

	Blocker      int64 `json:"blocker,omitempty"`
	BlockerFence int64 `json:"blockerFence,omitempty"`
}
