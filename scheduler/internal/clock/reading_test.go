package clock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/scheduler/internal/clock"
)

// The store's clock is ahead by an hour, and requests and replies of readings take very different
// times. After a quick reading the clock is right, and slow readings do not make it worse.
func TestQuickReadingsCount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const ahead = time.Hour
		var c clock.Clock
		read := func(there, back time.Duration) time.Duration {
			sent := time.Now()
			time.Sleep(there)
			at := time.Now().Add(ahead)
			time.Sleep(back)
			c.Observe([]driver.ClockReading{{Server: "s", Time: at, Sent: sent, Received: time.Now()}})
			return c.Now().Sub(time.Now().Add(ahead)).Abs()
		}
		const ms = time.Millisecond
		if off := read(0, 60*ms); off > 30*ms {
			t.Errorf("after the first reading the clock is off by %v", off)
		}
		if off := read(ms/10, ms/10); off > ms/5 {
			t.Errorf("after a quick reading the clock is off by %v", off)
		}
		for range 20 {
			time.Sleep(time.Second)
			if off := read(80*ms, 0); off > 5*ms {
				t.Fatalf("after a slow reading the clock is off by %v", off)
			}
		}
	})
}
