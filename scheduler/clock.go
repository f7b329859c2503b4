package scheduler

import (
	"slices"
	"sync"
	"time"

	"github.com/cronce/cronce/lock"
)

// A clock is the cluster's time: the store's clock, kept between readings on
// this machine's monotonic clock, so that the machine's wall clock has no say.
type clock struct {
	mu     sync.Mutex
	start  time.Time     // the monotonic reference
	zero   time.Duration // the cluster's time at start, since 1970
	set    bool
	step   time.Duration // a zero that differs by a step and waits for confirmation
	agreed int           // how many readings agreed with it
}

const (
	stepSize    = 500 * time.Millisecond // from here on a difference is a step, not drift
	stepReads   = 3                      // how many readings must agree before a step is believed
	slewPerRead = 50 * time.Millisecond  // how much one reading may correct drift
)

// now returns the cluster's time.
func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.UnixMicro((c.zero + time.Since(c.start)).Microseconds()).UTC()
}

func (c *clock) ms() int64 { return c.now().UnixMilli() }

// ready reports whether the clock was ever read.
func (c *clock) ready() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.set
}

// observe takes one reading of each server; of several the median counts. It
// returns the step that was adopted, if any, and whether another reading should
// be taken soon because this one differed by a step.
func (c *clock) observe(rs []lock.Reading) (stepped time.Duration, again bool) {
	if len(rs) == 0 {
		return 0, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.start.IsZero() {
		c.start = time.Now()
	}
	zero := c.median(rs)
	diff := zero - c.zero
	switch {
	case !c.set:
		c.zero, c.set = zero, true
	case diff.Abs() < stepSize:
		// Cristian's algorithm bounds the error by half the round trip: a
		// quarter of the difference per reading lets noise cancel out.
		c.zero += min(max(diff/4, -slewPerRead), slewPerRead)
		c.agreed = 0
	default:
		return c.confirm(zero)
	}
	return 0, false
}

// confirm adopts a step when enough readings in a row agree on it.
func (c *clock) confirm(zero time.Duration) (stepped time.Duration, again bool) {
	if c.agreed > 0 && (zero-c.step).Abs() < stepSize/2 {
		c.agreed++
	} else {
		c.agreed = 1
	}
	c.step = zero
	if c.agreed < stepReads {
		return 0, true
	}
	stepped = zero - c.zero
	c.zero, c.agreed = zero, 0
	return stepped, false
}

func (c *clock) median(rs []lock.Reading) time.Duration {
	zeros := make([]time.Duration, len(rs))
	for i, r := range rs {
		middle := r.Sent.Add(r.Received.Sub(r.Sent) / 2)
		zeros[i] = time.Duration(r.Time.UnixMicro())*time.Microsecond - middle.Sub(c.start)
	}
	slices.Sort(zeros)
	return zeros[len(zeros)/2]
}
