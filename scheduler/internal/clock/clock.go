// Package clock keeps the cluster's time: the store's clock, held between readings on
// this machine's monotonic clock. The machine's wall clock has no influence on it.
package clock

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/cronce/cronce/lock/driver"
)

// A Clock is the cluster's time. The zero Clock has not been read yet. It is safe for
// concurrent use.
type Clock struct {
	mu     sync.Mutex
	start  time.Time     // the monotonic reference
	zero   time.Duration // the cluster's time at start, since 1970
	set    bool
	off    time.Duration // how far zero may be from the truth
	slewed time.Duration // how much of off is known, and still to be corrected
	read   time.Time     // since when
	step   time.Duration // a zero that differs by a step and waits for confirmation
	wrong  time.Duration // how far that may be from the truth
	agreed int           // how many readings agreed with it
}

// MostReads bounds how many readings are taken in a row to decide about a step.
const MostReads = 3 * stepReads

const (
	stepSize    = 500 * time.Millisecond // a difference above this, beyond what round trips explain, is a step and not drift
	stepReads   = 3                      // how many readings must agree before a step is adopted
	slewPerRead = 50 * time.Millisecond  // how much one reading may correct drift
	drift       = 5000                   // two clocks are assumed to part by no more than 1/drift of the time
)

// Now returns the cluster's time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.UnixMicro((c.zero + time.Since(c.start)).Microseconds()).UTC()
}

// Ms is Now in Unix milliseconds.
func (c *Clock) Ms() int64 { return c.Now().UnixMilli() }

// Ready reports whether the clock was ever read.
func (c *Clock) Ready() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.set
}

// WrongBy returns how far the clock may be off.
func (c *Clock) WrongBy() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known()
}

// Observe takes one reading of each server; of several the median counts. It
// returns the step that was adopted, if any, and whether the caller should read
// again soon because this reading differed by a step.
func (c *Clock) Observe(rs []driver.ClockReading) (stepped time.Duration, again bool) {
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
	case (zero - c.zero).Abs() < stepSize+off+c.known():
		c.agreed = 0
		c.slew(zero, off)
	default:
		return c.confirm(zero, off)
	}
	return 0, false
}

// adopt sets the clock to zero, which may be off by so much.
func (c *Clock) adopt(zero, off time.Duration) {
	c.zero, c.off, c.slewed, c.read = zero, off, 0, time.Now()
}

// known is how far the clock may be off by now. The mutex is held.
func (c *Clock) known() time.Duration { return c.off + time.Since(c.read)/drift }

// slew takes a reading, which is off by no more than half its round trip (Cristian's
// algorithm). The truth lies where all readings so far agree (Marzullo's), so a quick
// reading counts for long and a slow one hardly at all. Drift is corrected little by
// little. An error that earlier readings could not exclude, because they were slow, is
// corrected at once.
func (c *Clock) slew(zero, off time.Duration) {
	known := c.known()
	from, to := max(c.zero-known, zero-off), min(c.zero+known, zero+off)
	if from > to { // the clocks part faster than was assumed
		from, to = zero-off, zero+off
	}
	truth := from + (to-from)/2
	most := max(slewPerRead, known-c.slewed)
	moved := c.zero + min(max(truth-c.zero, -most), most)
	rest := (truth - moved).Abs()
	c.adopt(moved, (to-from)/2+rest)
	c.slewed = rest
}

// confirm adopts a step when enough readings in a row agree on it, each as far as
// its round trip allows.
func (c *Clock) confirm(zero, off time.Duration) (stepped time.Duration, again bool) {
	if c.agreed > 0 && (zero-c.step).Abs() < stepSize/2+off+c.wrong {
		c.agreed++
	} else {
		c.agreed = 1
	}
	if c.agreed == 1 || off <= c.wrong {
		c.step, c.wrong = zero, off
	}
	if c.agreed < stepReads {
		return 0, true
	}
	stepped = c.step - c.zero
	c.adopt(c.step, c.wrong)
	c.agreed = 0
	return stepped, false
}

// median returns the reading in the middle, and how far it may be off.
func (c *Clock) median(rs []driver.ClockReading) (zero, off time.Duration) {
	rs = slices.Clone(rs)
	of := func(r driver.ClockReading) time.Duration {
		middle := r.Sent.Add(r.Received.Sub(r.Sent) / 2)
		return time.Duration(r.Time.UnixMicro())*time.Microsecond - middle.Sub(c.start)
	}
	slices.SortFunc(rs, func(a, b driver.ClockReading) int { return cmp.Compare(of(a), of(b)) })
	r := rs[len(rs)/2]
	return of(r), r.Received.Sub(r.Sent) / 2
}
