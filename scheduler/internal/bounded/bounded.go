// Package bounded adds and multiplies durations without overflow.
package bounded

import (
	"math"
	"time"
)

// Sum returns a + b, or the longest duration if the sum exceeds it. Neither a nor b may be
// negative.
func Sum(a, b time.Duration) time.Duration {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// Times returns n * d, or the longest duration if the product exceeds it. The factor n must be
// above 0 and d not negative.
func Times(n int, d time.Duration) time.Duration {
	if d > math.MaxInt64/time.Duration(n) {
		return math.MaxInt64
	}
	return time.Duration(n) * d
}
