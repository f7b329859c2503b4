package redislock_test

import (
	"testing"
	"time"

	"github.com/cronce/cronce/internal/plays"
	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/lock/redislock"
)

// Nodes and operators that act at random leave a sound journal on a real server.
func TestPlaysHold(t *testing.T) {
	t.Parallel()
	c := client(t, redisserver.Start(t).Addr())
	open := func() plays.Store {
		d := newDriver(t, c, redislock.Options{Namespace: fresh()})
		d.ClockFrom("clock")
		t.Cleanup(func() { must(t, d.Close()) })
		return d
	}
	plays.HoldOn(t, 100, open, func(ms int64) {
		to := time.UnixMilli(ms)
		must(t, c.HSet(t.Context(), "clock", "s", to.Unix(), "u", to.Nanosecond()/1000).Err())
	})
}
