package lock

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/cronce/cronce/lock/driver"
)

// NoLimit is the limit of a reader: see [Options].Limit.
const NoLimit = driver.NoLimit

// What a store answers, as package driver has it.
var (
	// ErrLost is the answer, and the cause of a lease's ended context, when a lease is not
	// its owner's any more: its deadline passed unrenewed, or the store gave the key to
	// another owner.
	ErrLost = driver.ErrLost
	// ErrForgotten is an ErrLost: the store does not know the lease though its time is not
	// over. It lost its data, its clock jumped, or an operator deleted what it had.
	ErrForgotten = driver.ErrForgotten
	// ErrForced is an ErrLost: the key was freed by [Locker.Force].
	ErrForced = driver.ErrForced
	// ErrUnsupported is returned for what a store cannot do.
	ErrUnsupported = driver.ErrUnsupported
	// ErrUnfit is what an error of [Open] is, for errors.Is, that refuses the store.
	ErrUnfit = driver.ErrUnfit
)

// A HeldError is the answer that another owner has the key, or others wait for it. Match
// it with errors.AsType[*HeldError].
type HeldError = driver.HeldError

// An ArgumentError says which argument was refused. Nothing was sent.
type ArgumentError = driver.ArgumentError

// ErrReleased is returned by the methods of a lease that was released.
var ErrReleased = errors.New("lock: lease released")

// An UpgradeError is the answer to a caller that asks, with the context of a lease that it
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
