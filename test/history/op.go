package history

import (
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// A Kind is the kind of a request.
type Kind uint8

// The kinds of operations. Check adds an Expire for each lease, and an Undo for each unknown
// acquisition if the store undoes such acquisitions.
const (
	Acquire Kind = iota
	Renew
	Release
	Expire
	Undo
)

var kinds = [...]string{"acquire", "renew", "release", "expire", "undo"}

// An Outcome is the result of a request for its client.
type Outcome uint8

// The outcomes. Unknown: the store may have executed the request, and may still execute it.
const (
	Unknown Outcome = iota
	OK
	Held
	Lost
	Forgotten // of a release: the key was free, but perhaps not because its owner released it
)

var outcomes = [...]string{"unknown", "ok", "held", "lost", "forgotten"}

// An Op is one request of a client with its reply.
type Op struct {
	Client  int
	ID      int // unique; also identifies the deadline that the operation set
	Kind    Kind
	Key     string
	Owner   string
	TTL     time.Duration
	Fence   int64 // the fence that a renewal or a release sent
	Call    int64 // the time of sending, in ns
	Return  int64 // the time of the reply, or the time when the client gave up
	Outcome Outcome
	Granted int64 // the fence that an acquisition got

	more bool // of a release: its owner sends another one later
}

// String returns the operation in one line.
func (o *Op) String() string {
	switch o.Kind {
	case Acquire:
		return fmt.Sprintf("acquire(%s) %s %d", o.Owner, outcomes[o.Outcome], o.Granted)
	case Expire, Undo:
		return fmt.Sprintf("%s(%d)", kinds[o.Kind], o.ID)
	}
	return fmt.Sprintf("%s(%s, %d) %s", kinds[o.Kind], o.Owner, o.Fence, outcomes[o.Outcome])
}

// A clock counts nanoseconds since 1970 and never steps. The clocks of two processes on one host agree
// unless the clock of the host was stepped between their starts.
type clock struct{ start time.Time }

func newClock() clock { return clock{time.Now()} }

func (c clock) now() int64 { return c.start.UnixNano() + int64(time.Since(c.start)) }

// Write writes operations in the format of [Read].
func Write(w io.Writer, ops []Op) error { return json.NewEncoder(w).Encode(ops) }

// Read reads the operations that [Write] wrote.
func Read(r io.Reader) (ops []Op, err error) {
	err = json.NewDecoder(r).Decode(&ops)
	return ops, err
}
