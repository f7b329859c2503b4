// Package clock keeps the cluster's time: the store's clock, continued between readings by this
// machine's monotonic clock. The machine's wall clock has no influence on it.
package clock

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/cronce/cronce/lock/driver"
)

// A Clock is the cluster's time. The zero Clock has not been read yet. It is safe for concurrent
// use.
type Clock struct {
	mu     sync.Mutex
	start  time.Time     // the monotonic reference
	zero   time.Duration // the cluster's time at start, since 1970
	set    bool
	off    time.Duration // how far zero may be wrong
	slewed time.Duration // the part of off that is known and still to be corrected
	read   time.Time     // the time that off refers to
	step   time.Duration // a value of zero that differs by a step and awaits confirmation
	wrong  time.Duration // how far step may be wrong
	agreed int           // number of readings that agreed with step
}

// MostReads bounds the number of successive readings that decide about a step.
const MostReads = 3 * stepReads

const (
	stepSize    = 500 * time.Millisecond // a larger difference that round trips do not explain is a step, not drift
	stepReads   = 3                      // readings that must agree before a step is adopted
	slewPerRead = 50 * time.Millisecond  // the most drift that one reading may correct
	drift       = 5000                   // two clocks are assumed to diverge by at most 1/drift of the elapsed time
)

// Now returns the cluster's time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.UnixMicro((c.zero + time.Since(c.start)).Microseconds()).UTC()
}

// Ms is Now in Unix milliseconds.
func (c *Clock) Ms() int64 { return c.Now().UnixMilli() }

// Ready reports whether the clock has been read.
func (c *Clock) Ready() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.set
}

// WrongBy returns the bound of the clock's error.
func (c *Clock) WrongBy() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known()
}

// Observe applies one reading of each server; of several readings it uses the median. It returns
// the step that was adopted, if any, and whether the caller should read again soon because this
// reading differed by a step.
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

// adopt sets the clock to zero, which may be wrong by up to off.
func (c *Clock) adopt(zero, off time.Duration) {
	c.zero, c.off, c.slewed, c.read = zero, off, 0, time.Now()
}

// known returns the bound of the clock's error at present. The caller holds the mutex.
func (c *Clock) known() time.Duration { return c.off + time.Since(c.read)/drift }

// slew applies a reading, whose error is at most half its round trip (Cristian's algorithm). The
// true time lies where all readings so far agree (Marzullo's algorithm), so a quick reading narrows
// the error for long and a slow one hardly at all. Drift is corrected gradually. An error that
// earlier readings could not exclude, because they were slow, is corrected at once.
func (c *Clock) slew(zero, off time.Duration) {
	known := c.known()
	from, to := max(c.zero-known, zero-off), min(c.zero+known, zero+off)
	if from > to { // the clocks diverge faster than assumed
		from, to = zero-off, zero+off
	}
	truth := from + (to-from)/2
	most := max(slewPerRead, known-c.slewed)
	moved := c.zero + min(max(truth-c.zero, -most), most)
	rest := (truth - moved).Abs()
	c.adopt(moved, (to-from)/2+rest)
	c.slewed = rest
}

// confirm adopts a step when enough readings in a row agree on it within their round trips.
func (c *Clock) confirm(zero, off time.Duration) (stepped time.Duration, again bool) {
	if (zero - c.step).Abs() < stepSize/2+off+c.wrong {
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
	c.adopt(c.step, c.wrong) // the next step differs from c.step: it begins a new count
	return stepped, false
}

// median returns the median reading and the bound of its error.
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
