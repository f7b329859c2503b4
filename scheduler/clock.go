package scheduler

import (
	"cmp"
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
	off    time.Duration // how far zero may be from the truth
	read   time.Time     // since when
	step   time.Duration // a zero that differs by a step and waits for confirmation
	agreed int           // how many readings agreed with it
}

const (
	stepSize    = 500 * time.Millisecond // from here on a difference is a step, not drift
	stepReads   = 3                      // how many readings must agree before a step is believed
	slewPerRead = 50 * time.Millisecond  // how much one reading may correct drift
	drift       = 5000                   // two clocks are believed to part by no more than 1/drift of the time
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
	zero, off := c.median(rs)
	switch {
	case !c.set:
		c.adopt(zero, off)
		c.set = true
	case (zero - c.zero).Abs() < stepSize:
		c.agreed = 0
		c.slew(zero, off)
	default:
		return c.confirm(zero, off)
	}
	return 0, false
}

func (c *clock) adopt(zero, off time.Duration) { c.zero, c.off, c.read = zero, off, time.Now() }

// slew takes a reading that is off by no more than half its round trip (Cristian's
// algorithm): the truth is where all readings so far agree (Marzullo's). So one
// that was quick counts for long, and a slow one hardly at all.
func (c *clock) slew(zero, off time.Duration) {
	known := c.off + time.Since(c.read)/drift
	from, to := max(c.zero-known, zero-off), min(c.zero+known, zero+off)
	if from > to { // the clocks part faster than was believed
		from, to = zero-off, zero+off
	}
	truth := from + (to-from)/2
	moved := c.zero + min(max(truth-c.zero, -slewPerRead), slewPerRead)
	c.adopt(moved, (to-from)/2+(truth-moved).Abs())
}

// confirm adopts a step when enough readings in a row agree on it.
func (c *clock) confirm(zero, off time.Duration) (stepped time.Duration, again bool) {
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
	c.adopt(zero, off)
	c.agreed = 0
	return stepped, false
}

// median returns the reading in the middle, and how far it may be off.
func (c *clock) median(rs []lock.Reading) (zero, off time.Duration) {
	rs = slices.Clone(rs)
	of := func(r lock.Reading) time.Duration {
		middle := r.Sent.Add(r.Received.Sub(r.Sent) / 2)
		return time.Duration(r.Time.UnixMicro())*time.Microsecond - middle.Sub(c.start)
	}
	slices.SortFunc(rs, func(a, b lock.Reading) int { return cmp.Compare(of(a), of(b)) })
	r := rs[len(rs)/2]
	return of(r), r.Received.Sub(r.Sent) / 2
}
