package lock

import "errors"

// Sharded is a Numbered driver whose series live in several shards, each of which can
// be silent while the others answer. A caller that asks about series of several shards
// in one request waits for the slowest of them: a scheduler sends one for each.
type Sharded interface {
	// Shards returns how many there are, at least 1.
	Shards() int
	// Shard returns the one that a series lives in, from 0.
	Shard(key string) int
}

// Explainer is a Driver that says in plain words why a request failed, for those who
// may not see what a driver's errors name: addresses, users and keys.
type Explainer interface {
	// Explain returns the reason, such as "the password is wrong"; empty: it is not
	// known. It may be called concurrently.
	Explain(err error) string
}

// Refuser is a Driver that separates a refusal from a store that is not reached: the store
// answered that the user may not do what was asked. Until an operator permits it, it answers so again.
type Refuser interface {
	// Refuses reports whether err is a refusal. It may be called concurrently.
	Refuses(err error) bool
}

// ErrUnreadable is in the errors of a store that answered, and could not read what it
// has under the key that was asked for: it is of another type, or of a format that this
// version does not know. Other keys are not affected.
var ErrUnreadable = errors.New("lock: what the store has under the key cannot be read")
