package redlock

import (
	"math/rand/v2"
	"time"
)

const (
	minPause = 2 * time.Millisecond
	maxPause = 500 * time.Millisecond
)

// backoff is a random pause before votes that were split are asked for again, by
// an owner that gave its votes back lost+1 times in a row and needed took for the
// last time; lost is -1 for an owner that keeps its votes.
//
// Whoever asks takes votes from the owner that is ahead for as long as it needs
// to ask and to give back. So the times to choose from double with each loss until
// they exceed what all the others need together, however slow the servers are,
// while the owner that is ahead comes back at once for what has become free.
func backoff(lost int, took time.Duration) time.Duration {
	if lost < 0 {
		return rand.N(minPause)
	}
	took = min(max(took, minPause), maxPause)
	return minPause + rand.N(min(took<<min(lost+1, 8), maxPause))
}
