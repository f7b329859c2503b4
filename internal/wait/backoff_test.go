package wait_test

import (
	"math"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/wait"
)

// The pauses double from the first up to the longest, for any number of failures, and never overflow.
func TestBackoff(t *testing.T) {
	for name, c := range map[string]struct {
		backoff wait.Backoff
		n       int
		want    time.Duration
	}{
		"none":               {wait.Backoff{First: 2, Longest: 100}, 0, 2},
		"negative":           {wait.Backoff{First: 2, Longest: 100}, -7, 2},
		"the first":          {wait.Backoff{First: 2, Longest: 100}, 1, 2},
		"the second":         {wait.Backoff{First: 2, Longest: 100}, 2, 4},
		"the sixth":          {wait.Backoff{First: 2, Longest: 100}, 6, 64},
		"bounded":            {wait.Backoff{First: 2, Longest: 100}, 7, 100},
		"always":             {wait.Backoff{First: 2, Longest: 100}, math.MaxInt, 100},
		"first above":        {wait.Backoff{First: 200, Longest: 100}, 3, 100},
		"without overflow":   {wait.Backoff{First: 3, Longest: math.MaxInt64}, math.MaxInt, math.MaxInt64},
		"one step below max": {wait.Backoff{First: math.MaxInt64/2 + 1, Longest: math.MaxInt64}, 2, math.MaxInt64},
	} {
		if got := c.backoff.After(c.n); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

// A spread pause varies around its length, from half of it to one and a half.
func TestBackoffSpread(t *testing.T) {
	b := wait.Backoff{First: time.Second, Longest: time.Minute, Spread: true}
	seen := map[time.Duration]bool{}
	for range 1000 {
		d := b.After(3)
		if d < 2*time.Second || d >= 6*time.Second {
			t.Fatalf("%v, want 2 s to 6 s", d)
		}
		seen[d] = true
	}
	if d := (wait.Backoff{Spread: true}).After(1); d != 0 {
		t.Errorf("no pause, spread: %v", d)
	}
	if len(seen) < 2 {
		t.Error("the pause does not vary")
	}
}
