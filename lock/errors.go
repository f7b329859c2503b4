package lock

import (
	"errors"
	"fmt"
	"strconv"
	"time"
)

// ErrLost is the answer, and the cause of a lease's ended context, when a lease
// is not ours any more: its deadline passed unrenewed, or the store gave the key
// to another owner.
var ErrLost = errors.New("lock: lease lost")

// ErrReleased is returned by the methods of a lease that was released.
var ErrReleased = errors.New("lock: lease released")

// ErrReplaced is the cause of a numbered lease's ended context when a newer
// number waits for its end. The lease is still held: end it soon.
var ErrReplaced = errors.New("lock: replaced by a newer number")

// errAskedAgain: a lost ending in answer to a repeated request is doubt, since
// the first request may have been the one that ended the run.
var errAskedAgain = errors.New("lock: the run was settled, by this ending or before it")

// ErrFence is doubt: a fence of the key lies more than a day ahead of the store's
// clock. It was forged, or a clock was off by as much when it was granted. The store
// grants nothing under it and above it, for this key, until its clock has come
// closer or an operator has removed it.
var ErrFence = errors.New("lock: a fence more than a day ahead of the store's clock")

// ErrUnfit is what an error of [Fitness] is, for errors.Is, that refuses a store.
var ErrUnfit = errors.New("lock: the store is not fit")

// ErrUnsupported is returned for what a store cannot do.
var ErrUnsupported = errors.New("lock: not supported by this store")

// ErrNotOpen is the answer to a pause, or a resume, of a series that was never opened.
var ErrNotOpen = errors.New("lock: the series was never opened")

// A HeldError is the answer that another owner has the key, or others wait for
// it. Match it with errors.AsType[*HeldError].
type HeldError struct {
	Key  string
	Left time.Duration // until the holder's deadline, of several the first, unless it renews
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("lock: %q is held by another owner for %v or until it is released", e.Key, e.Left)
}

// An UpgradeError is the answer to who asks, with the context of a lease that it
// shares with others, for the same key with fewer: as a reader that would write.
// It would wait for itself. Release the lease first; another may have the key
// before it is granted again. Match it with errors.AsType[*UpgradeError].
type UpgradeError struct {
	Key         string
	Held, Asked int // the limits
}

func (e *UpgradeError) Error() string {
	return fmt.Sprintf("lock: %q is held by this context with the limit %s, it cannot be had with the limit %s before that is released",
		e.Key, limitText(e.Held), limitText(e.Asked))
}

func limitText(limit int) string {
	if limit == NoLimit {
		return "none"
	}
	return strconv.Itoa(max(limit, 1))
}

// An ArgumentError tells which argument was refused. Nothing was sent.
type ArgumentError struct {
	Argument string // its name
	Value    string // what was given, quoted and cut
	Allowed  string // what is allowed
}

func (e *ArgumentError) Error() string {
	return fmt.Sprintf("lock: %s is %s, allowed is %s", e.Argument, e.Value, e.Allowed)
}
