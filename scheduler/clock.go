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
	slewed time.Duration // how much of off is known, and still to be corrected
	read   time.Time     // since when
	step   time.Duration // a zero that differs by a step and waits for confirmation
	wrong  time.Duration // how far that may be from the truth
	agreed int           // how many readings agreed with it
}

const (
	stepSize    = 500 * time.Millisecond // a difference beyond what round trips explain is a step from here on, not drift
	stepReads   = 3                      // how many readings must agree before a step is believed
	mostReads   = 3 * stepReads          // how many are taken at once to decide about a step
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

// wrongBy is how far the clock may be off.
func (c *clock) wrongBy() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known()
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
	case (zero - c.zero).Abs() < stepSize+off+c.known():
		c.agreed = 0
		c.slew(zero, off)
	default:
		return c.confirm(zero, off)
	}
	return 0, false
}

// adopt sets the clock to zero, which may be off by so much.
func (c *clock) adopt(zero, off time.Duration) {
	c.zero, c.off, c.slewed, c.read = zero, off, 0, time.Now()
}

// known is how far the clock may be off by now.
func (c *clock) known() time.Duration { return c.off + time.Since(c.read)/drift }

// slew takes a reading that is off by no more than half its round trip (Cristian's
// algorithm): the truth is where all readings so far agree (Marzullo's). So one
// that was quick counts for long, and a slow one hardly at all. What is drift is
// corrected little by little. What the readings before could not tell, because they
// were slow, is corrected at once.
func (c *clock) slew(zero, off time.Duration) {
	known := c.known()
	from, to := max(c.zero-known, zero-off), min(c.zero+known, zero+off)
	if from > to { // the clocks part faster than was believed
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
// its round trip lets it tell.
func (c *clock) confirm(zero, off time.Duration) (stepped time.Duration, again bool) {
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
