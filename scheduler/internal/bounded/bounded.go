// Package bounded adds and multiplies durations without an overflow.
package bounded

import (
	"math"
	"time"
)

// Sum returns a + b, or the longest duration if that is less. Neither a nor b is negative.
func Sum(a, b time.Duration) time.Duration {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// Times returns n * d, with n above 0 and d not negative, or the longest duration if that is
// less.
func Times(n int, d time.Duration) time.Duration {
	if d > math.MaxInt64/time.Duration(n) {
		return math.MaxInt64
	}
	return time.Duration(n) * d
}
