package history

import (
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// Kind is what a client asked for.
type Kind uint8

// The kinds of operations. Check adds Expire, for each lease, and Undo, for each
// acquisition in doubt that a store undoes.
const (
	Acquire Kind = iota
	Renew
	Release
	Expire
	Undo
)

var kinds = [...]string{"acquire", "renew", "release", "expire", "undo"}

// Outcome is what a client was answered.
type Outcome uint8

// The outcomes. Unknown is doubt: it may have been done, also later.
const (
	Unknown Outcome = iota
	OK
	Held
	Lost
	Forgotten // of a release: the key was free, and is not known to have been freed by its owner
)

var outcomes = [...]string{"unknown", "ok", "held", "lost", "forgotten"}

// An Op is one request of a client and its answer.
type Op struct {
	Client  int
	ID      int // unique: it also names the deadline that the operation set
	Kind    Kind
	Key     string
	Owner   string
	TTL     time.Duration
	Fence   int64 // of a renewal or a release: what was asked with
	Call    int64 // when it was sent, ns
	Return  int64 // when its answer came, or the client gave up
	Outcome Outcome
	Granted int64 // of an acquisition: the fence
}

// String is one line for people.
func (o *Op) String() string {
	switch o.Kind {
	case Acquire:
		return fmt.Sprintf("acquire(%s) %s %d", o.Owner, outcomes[o.Outcome], o.Granted)
	case Expire, Undo:
		return fmt.Sprintf("%s(%d)", kinds[o.Kind], o.ID)
	}
	return fmt.Sprintf("%s(%s, %d) %s", kinds[o.Kind], o.Owner, o.Fence, outcomes[o.Outcome])
}

// A clock counts nanoseconds since 1970 and takes no step: two processes of one
// host agree on it as far as the host's clock took none between their starts.
type clock struct{ start time.Time }

func newClock() clock { return clock{time.Now()} }

func (c clock) now() int64 { return c.start.UnixNano() + int64(time.Since(c.start)) }

// Write writes operations for another process to read.
func Write(w io.Writer, ops []Op) error { return json.NewEncoder(w).Encode(ops) }

// Read reads what Write wrote.
func Read(r io.Reader) (ops []Op, err error) {
	err = json.NewDecoder(r).Decode(&ops)
	return ops, err
}
