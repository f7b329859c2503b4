package zklock_test

import (
	"sync/atomic"
	"testing"

	"github.com/cronce/cronce/internal/plays"
	"github.com/cronce/cronce/internal/zkserver"
	"github.com/cronce/cronce/lock/zklock"
)

// Nodes and operators that act at random leave a sound journal on a real server.
func TestPlaysHold(t *testing.T) {
	t.Parallel()
	addr := zkserver.Shared(t)
	var now atomic.Int64
	open := func() plays.Store {
		d := newDriver(t, addr, zklock.Options{Namespace: fresh()})
		d.ClockFrom(now.Load)
		return d
	}
	plays.HoldOn(t, 25, open, now.Store)
}
