package lock

import "context"

// Peeker is a Numbered driver that can tell which numbers are decided at much
// less than the cost of claims. Where many nodes ask for each number, that is
// what all but one of them want to know.
type Peeker interface {
	// Peek returns, in the order of ps, what a claim by an owner that the store
	// has not seen would be answered if that is Passed, and nil otherwise: then
	// claim the number. It grants nothing and decides nothing. Answers may share
	// memory: do not write to them. Unless whole is asked for, an answer may leave
	// out Last, and if it is about a run that is settled all but Kind, Number,
	// State, Mark and Now. An error is doubt about all.
	Peek(ctx context.Context, ps []Peek, whole bool) ([]*Answer, error)
}

// A Peek asks whether one number of a series is decided.
type Peek struct {
	Key    string
	Number int64 // Unix milliseconds
}
