package opscommands

import (
	"testing"
	"time"

	"github.com/cronce/cronce/ops"
)

// The next tick is shown as skipped only if it is the one that an operator skips.
func TestNextOf(t *testing.T) {
	now := time.Date(2026, 1, 5, 3, 0, 0, 0, time.UTC)
	for want, v := range map[string]ops.JobView{
		"-":                 {Skip: now},
		"in 5.0 s":          {Next: now.Add(5 * time.Second)},
		"in 6.0 s":          {Next: now.Add(6 * time.Second), Skip: now.Add(time.Hour)},
		"in 7.0 s, skipped": {Next: now.Add(7 * time.Second), Skip: now.Add(7 * time.Second)},
	} {
		if got := nextOf(&v, now); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A store grants a tick up to 20 ms early, but no run is shown as older than its tick.
func TestRunIsNotOlderThanItsTick(t *testing.T) {
	tick := time.Date(2026, 1, 5, 3, 0, 0, 0, time.UTC)
	left := int64(4000)
	r := ops.Run{State: ops.Running, Tick: ops.InstantOf(tick), Granted: ops.InstantOf(tick.Add(-2 * time.Millisecond)), LeftMs: &left}
	for after, want := range map[time.Duration]string{
		time.Second:       "lease for 4000 ms more; alive since 03:00:00 (1.0 s)",
		-time.Millisecond: "lease for 4000 ms more; alive since 03:00:00 (0 ms)",
	} {
		if got := remark(&r, tick.Add(after)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	left = 0
	r.State = ops.Waiting
	if got, want := remark(&r, tick), "its lease ended"; got != want {
		t.Errorf("of a run whose node was lost: %q, want %q", got, want)
	}
}
