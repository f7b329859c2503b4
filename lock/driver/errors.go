package driver

import (
	"errors"
	"fmt"
	"time"
)

// ErrLost is the answer, and the cause of a lease's ended context, when a lease
// is not its owner's any more: its deadline passed unrenewed, or the store gave the key
// to another owner.
var ErrLost = errors.New("lock: lease lost")

// ErrFence is doubt: a fence of the key lies more than a day ahead of the store's
// clock. It was forged, or a clock was off by as much when it was granted. The store
// grants nothing under it and above it, for this key, until its clock has come
// closer or an operator has removed it.
var ErrFence = errors.New("lock: a fence more than a day ahead of the store's clock")

// ErrUnfit is what an error of [StoreChecker] is, for errors.Is, that refuses a store.
var ErrUnfit = errors.New("lock: the store is not fit")

// ErrUnsupported is returned for what a store cannot do.
var ErrUnsupported = errors.New("lock: not supported by this store")

// A HeldError is the answer that another owner has the key, or others wait for
// it. Match it with errors.AsType[*HeldError].
type HeldError struct {
	Key  string
	Left time.Duration // until the holder's deadline, of several the first, unless it renews
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("lock: %q is held by another owner for %v or until it is released", e.Key, e.Left)
}

// An ArgumentError says which argument was refused. Nothing was sent.
type ArgumentError struct {
	Argument string // its name
	Value    string // what was given, quoted and cut
	Allowed  string // what is allowed
}

func (e *ArgumentError) Error() string {
	return fmt.Sprintf("lock: %s is %s, must be %s", e.Argument, e.Value, e.Allowed)
}

// ErrForced is the cause of a lease's ended context when the key was freed by force. It
// wraps ErrLost. Another owner may have been granted the key already, with a higher fence.
var ErrForced = fmt.Errorf("%w: the key was freed by force", ErrLost)

// ErrUnreadable is in the errors of a store that answered, and could not read what it
// has under the key that was asked for: it is of another type, or of a format that this
// version does not know. Other keys are not affected.
var ErrUnreadable = errors.New("lock: what the store has under the key cannot be read")

// ErrForgotten is the cause of a lease's ended context, and the answer to its release,
// when the store does not know the lease any more though its time is not over: the
// store lost its data, or the last of it in a failover, its clock jumped, or an operator
// deleted what it had of the lock: one that is freed by force is ErrForced. It wraps ErrLost.
// Another owner may have been granted the key already, with a higher fence.
var ErrForgotten = fmt.Errorf("%w before its time: the store forgot it, or its clock jumped", ErrLost)

// ErrNotDone is in the errors of a store that certainly did nothing, and will
// not do it later: the request was never sent, or the server refused it before it wrote
// anything. Such an error of a claim or of a grant is no doubt. See [NotDone].
var ErrNotDone = errors.New("lock: the store did nothing")

// NotDone is for stores: it returns err, with its text, as an error that is [ErrNotDone] too.
// NotDone of nil is nil.
func NotDone(err error) error {
	if err == nil {
		return nil
	}
	return &notDoneError{err}
}

type notDoneError struct{ error }

func (e *notDoneError) Unwrap() error        { return e.error }
func (e *notDoneError) Is(target error) bool { return target == ErrNotDone }
