package history

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/anishathalye/porcupine"
)

// A state is the state of one key in a correct store.
type state struct {
	owner string // "": the key is free
	fence int64  // of the owner; 0: unknown, because the reply of the grant was lost
	last  int64  // the highest fence that a client received
	set   int    // the operation that set the deadline
	votes bool   // see Limits.Votes
	freed string // the owners, each between spaces, that freed the key by a release whose reply was lost
}

// model returns the model of a store with one key.
func model(votes bool) *porcupine.NondeterministicModel {
	return &porcupine.NondeterministicModel{
		Init:              func() []any { return []any{state{votes: votes}} },
		Step:              func(s, in, _ any) []any { return s.(state).after(in.(*Op)) },
		DescribeOperation: func(in, _ any) string { return in.(*Op).String() },
		DescribeState:     func(s any) string { return fmt.Sprintf("%+v", s) },
	}
}

// after returns the possible states of the store after the reply of o. It returns none if no correct
// store sends this reply in the state s.
func (s state) after(o *Op) []any {
	switch o.Kind {
	case Acquire:
		return s.acquired(o)
	case Renew:
		return s.renewed(o)
	case Release:
		return s.released(o)
	}
	if s.set == o.ID && s.owner != "" && (o.Kind == Expire || s.fence == 0) {
		return []any{s.free()}
	}
	return []any{s}
}

func (s state) free() state { return state{last: s.last, votes: s.votes, freed: s.freed} }

func (s state) grant(o *Op) state {
	s.owner, s.fence, s.last, s.set = o.Owner, o.Granted, max(s.last, o.Granted), o.ID
	return s
}

func (s state) acquired(o *Op) []any {
	switch {
	case o.Outcome == Unknown && s.owner == "":
		return []any{s, s.grant(o)}
	case o.Outcome == Unknown:
		return []any{s}
	case o.Outcome == Held && s.owner != "" && s.owner != o.Owner:
		return []any{s}
	case o.Outcome == OK && s.owner == "" && o.Granted > s.last:
		return []any{s.grant(o)}
	case o.Outcome == OK && s.owner == o.Owner && cmp.Or(s.fence, o.Granted) == o.Granted && (s.fence != 0 || o.Granted > s.last):
		s.fence, s.last = o.Granted, max(s.last, o.Granted)
		return []any{s} // a repeated request: the deadline stays
	}
	return nil
}

// has reports whether the owner that sent o holds the key under the fence of o.
func (s state) has(o *Op) bool {
	return s.owner != "" && s.owner == o.Owner && (o.Fence == 0 || s.fence == o.Fence || s.fence == 0)
}

func (s state) renewed(o *Op) []any {
	longer := s
	longer.set = o.ID
	switch {
	case o.Outcome == Unknown && s.has(o):
		return []any{s, longer}
	case o.Outcome == Unknown, o.Outcome == Lost && !s.has(o):
		return []any{s}
	case o.Outcome == OK && s.has(o):
		return []any{longer}
	}
	return nil
}

func (s state) released(o *Op) []any {
	has, freed := s.has(o), strings.Contains(s.freed, " "+o.Owner+" ")
	if !o.more { // the owner sends no release after this one
		s.freed = strings.ReplaceAll(s.freed, " "+o.Owner+" ", "")
	}
	switch {
	case o.Outcome == Unknown && has:
		done := s.free()
		if o.more {
			done.freed += " " + o.Owner + " "
		}
		return []any{s, done}
	case o.Outcome == OK && has:
		return []any{s.free()}
	case o.Outcome == OK && freed: // it repeats its release, and the store still knows that the first one freed the key
		return []any{s}
	case o.Outcome == Unknown, o.Outcome == OK && s.owner == "", o.Outcome == Lost && (s.votes || s.owner != "") && !has:
		return []any{s}
	case o.Outcome == Forgotten && (s.votes || s.owner == "") && !has:
		return []any{s}
	}
	return nil
}
