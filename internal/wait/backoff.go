package wait

import (
	"math/rand/v2"
	"time"
)

// A Backoff is a series of pauses between repetitions. Each pause is twice as long as the pause
// before it.
type Backoff struct {
	First   time.Duration // the first pause
	Longest time.Duration // the longest pause
	Spread  bool          // each pause varies at random, from half of its length to one and a half
}

// After returns the pause after the n-th failure in a row. A number below 1 counts as 1.
func (b Backoff) After(n int) time.Duration {
	d := min(b.First, b.Longest)
	for ; n > 1 && d < b.Longest; n-- {
		d += min(d, b.Longest-d) // never overflows
	}
	if b.Spread && d > 0 {
		return d/2 + rand.N(d)
	}
	return d
}
