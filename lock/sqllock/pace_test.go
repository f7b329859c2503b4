package sqllock_test

import (
	"database/sql"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/sqllock"
)

// The test checks when a waiter probes again. The first waiter of its process probes less and less
// often while nothing changes, and at least every 1.67 seconds. It probes soon after the holder's
// deadline, and later the more owners are before it, up to 6.25 seconds. It probes more often at
// once when the key changes hands or the queue moves. If its process listens, it ends at the same
// pace, and never probes more often than once a second: a notification may be lost. The waiters
// behind it in the process probe once a minute.
func TestPace(t *testing.T) {
	const ms = time.Millisecond
	const hour = time.Hour
	const calmest = time.Second - 1 // the shortest wait at the slowest pace: 4/3 s, rounded down, less its jitter
	type probe struct {
		fence  int64
		left   time.Duration // the time that the holder has left
		before int64
	}
	again := func(n int, l probe) []probe {
		all := make([]probe, n)
		for i := range all {
			all[i] = l
		}
		return all
	}
	for _, c := range []struct {
		name      string
		listening bool
		behind    bool // another owner of the process is first
		probes    []probe
		from, to  time.Duration
	}{
		{"first probe", false, false, again(1, probe{1, hour, 0}), 75 * ms / 4, 125 * ms / 4},
		{"second probe", false, false, again(2, probe{1, hour, 0}), 225 * ms / 8, 375 * ms / 8},
		{"calm", false, false, again(20, probe{1, hour, 0}), calmest, 1667 * ms},
		{"the key changed hands", false, false, append(again(20, probe{1, hour, 0}), probe{2, hour, 0}), 75 * ms / 4, 125 * ms / 4},
		{"the queue moved", false, false, append(again(20, probe{1, hour, 1}), probe{1, hour, 0}), 75 * ms / 4, 125 * ms / 4},
		{"10 before it", false, false, again(1, probe{1, hour, 10}), 750 * ms, 1250 * ms},
		{"1,000 before it", false, false, again(20, probe{1, hour, 1000}), 3750 * ms, 6250 * ms},
		{"the deadline is near", false, false, again(20, probe{1, 300 * ms, 0}), 305 * ms, 305 * ms},
		{"the deadline is near, 3 before it", false, false, again(20, probe{1, 100 * ms, 3}), 120 * ms, 120 * ms},
		{"listening, first probe", true, false, again(1, probe{1, hour, 0}), calmest, 1667 * ms},
		{"listening, calm", true, false, again(20, probe{1, hour, 0}), calmest, 1667 * ms},
		{"listening, the key changed hands", true, false, append(again(20, probe{1, hour, 0}), probe{2, hour, 0}), calmest, 1667 * ms},
		{"listening, the deadline is near", true, false, again(1, probe{1, 300 * ms, 0}), 305 * ms, 305 * ms},
		{"behind another", false, true, again(1, probe{1, 300 * ms, 0}), 45 * time.Second, 75 * time.Second},
		{"listening behind another", true, true, again(1, probe{1, 300 * ms, 0}), 45 * time.Second, 75 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			for range 100 { // to cover the jitter
				d := newDriver(t, new(sql.DB), sqllock.PostgreSQL, sqllock.Options{Poll: 100 * ms})
				if c.behind {
					d.Arrive("key", "first/1")
				}
				next := d.Probes("key", "n/1", c.listening)
				var got time.Duration
				for _, l := range c.probes {
					got = next(l.fence, l.left, l.before)
				}
				if got < c.from || got > c.to {
					t.Fatalf("it probes again after %v, want %v to %v", got, c.from, c.to)
				}
			}
		})
	}
}
