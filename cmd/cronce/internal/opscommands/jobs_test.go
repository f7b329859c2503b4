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
