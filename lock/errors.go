package lock

import (
	"fmt"
	"strconv"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/internal/renew"
)

// NoLimit is the limit of a reader: see [Options].Limit.
const NoLimit = driver.NoLimit

// The answers of a store, as package driver defines them.
var (
	// ErrLost is the answer about a lease, and the cause of its ended context, once the lease is no
	// longer its owner's: its deadline passed unrenewed, or the store gave the key to another
	// owner.
	ErrLost = driver.ErrLost
	// ErrForgotten is an ErrLost: the store does not know the lease though its time is not over.
	// The store lost its data, its clock jumped, or an operator deleted the data of the lease.
	ErrForgotten = driver.ErrForgotten
	// ErrForced is an ErrLost: the key was freed by [Locker.Force].
	ErrForced = driver.ErrForced
	// ErrUnsupported is returned for a request that the store does not support.
	ErrUnsupported = driver.ErrUnsupported
	// ErrUnfit matches, with errors.Is, an error of [Open] that refuses the store.
	ErrUnfit = driver.ErrUnfit
)

// A HeldError is the answer that another owner has the key, or that others wait for it. Match it
// with errors.AsType[*HeldError].
type HeldError = driver.HeldError

// An ArgumentError names the argument that was refused. Nothing was sent.
type ArgumentError = driver.ArgumentError

// ErrReleased is returned by the methods of a lease that was released.
var ErrReleased = renew.ErrReleased

// An UpgradeError refuses to acquire a key again with a lower limit: the caller's context comes
// from a lease on the key that allows more holders, as when a reader wants to write. Such a caller
// would wait for itself. Release the lease first; another owner may have the key before it is
// granted again. Match it with errors.AsType[*UpgradeError].
type UpgradeError struct {
	Key         string
	Held, Asked int // the limits
}

func (e *UpgradeError) Error() string {
	return fmt.Sprintf("lock: %q is held by this context with the limit %s, it cannot be acquired with the limit %s before it is released",
		e.Key, limitText(e.Held), limitText(e.Asked))
}

func limitText(limit int) string {
	if limit == NoLimit {
		return "none"
	}
	return strconv.Itoa(max(limit, 1))
}
