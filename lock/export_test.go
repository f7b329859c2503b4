package lock

import (
	"sync/atomic"
	"time"

	"github.com/cronce/cronce/lock/internal/renew"
)

// Suspended returns for how many nanoseconds the machine was suspended since, to be
// set: the wall clock went on meanwhile, the monotonic one did not. It counts for
// leases that are acquired later.
func (l *Locker) Suspended() *atomic.Int64 {
	var slept atomic.Int64
	c := l.keeping()
	c.Wall = func() int64 { return time.Now().UnixNano() + slept.Load() }
	l.keeper = renew.New(c)
	return &slept
}
