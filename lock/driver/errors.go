package driver

import (
	"errors"
	"fmt"
	"time"
)

// ErrLost is the answer about a lease, and the cause of its ended context, once the lease is no
// longer its owner's: its deadline passed unrenewed, or the store gave the key to another owner.
var ErrLost = errors.New("lock: lease lost")

// ErrFence is doubt: a fence of the key lies more than a day ahead of the store's clock. The fence
// was forged, or a clock was wrong by as much when the fence was granted. The store makes no grant
// for this key, below or above that fence, until its clock has come closer or an operator has
// removed the fence.
var ErrFence = errors.New("lock: a fence more than a day ahead of the store's clock")

// ErrUnfit matches, with errors.Is, an error of [StoreChecker] that refuses a store.
var ErrUnfit = errors.New("lock: the store is not fit")

// ErrUnsupported is returned for a request that the store does not support.
var ErrUnsupported = errors.New("lock: not supported by this store")

// A HeldError is the answer that another owner has the key, or that others wait for it. Match it
// with errors.AsType[*HeldError].
type HeldError struct {
	Key  string
	Left time.Duration // until the deadline of the holder, of several the first, unless it renews
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("lock: %q is held by another owner for %v or until it is released", e.Key, e.Left)
}

// An ArgumentError names the argument that was refused. Nothing was sent.
type ArgumentError struct {
	Argument string // its name
	Value    string // the given value, quoted and cut
	Allowed  string // the allowed values
}

func (e *ArgumentError) Error() string {
	return fmt.Sprintf("lock: %s is %s, must be %s", e.Argument, e.Value, e.Allowed)
}

// ErrForced is the cause of a lease's ended context when the key was freed by force. It wraps
// ErrLost. Another owner may have been granted the key already, with a higher fence.
var ErrForced = fmt.Errorf("%w: the key was freed by force", ErrLost)

// ErrUnreadable is in the errors of a store that answered, but could not read the data under the
// requested key: the data has another type, or a format that this version does not know. Other keys
// are not affected.
var ErrUnreadable = errors.New("lock: the data that the store has under the key cannot be read")

// ErrForgotten is the cause of a lease's ended context, and the answer to its release, when the
// store no longer knows the lease though its time is not over. The store lost its data, or its
// latest writes in a failover; its clock jumped; or an operator deleted the data of the lock. If
// the key was freed by force, the error is ErrForced. ErrForgotten wraps ErrLost. Another owner may
// have been granted the key already, with a higher fence.
var ErrForgotten = fmt.Errorf("%w before its time: the store forgot it, or its clock jumped", ErrLost)

// ErrNotDone is in the errors of a store that certainly did nothing, and will not do it later: the
// request was never sent, or the server refused it before it wrote anything. Such an error of a
// claim or of an acquisition is no doubt. See [NotDone].
var ErrNotDone = errors.New("lock: the store did nothing")

// NotDone returns err, with its text, as an error that also is [ErrNotDone]. Stores call it.
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
