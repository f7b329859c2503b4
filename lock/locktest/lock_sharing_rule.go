package locktest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/cronce/cronce/lock/driver"
)

// A sharer is one owner in the sequences that sharingRule makes.
type sharer struct {
	driver.Acquisition
	fence int64 // 0: it does not hold the key
	until time.Duration
}

// sharers send requests for one key, and the expected answers are computed from the rule.
type sharers struct {
	*fixture
	rand *rand.Rand
	all  []*sharer
	now  time.Duration // since the beginning; advances only if the store's clock otherwise stands still
	last int64
	log  []string
}

// Random owners with random limits acquire, renew, release and expire; every answer is compared
// with the rule.
func sharingRule(s *fixture) {
	rounds := 12
	if s.env.exact() && s.env.Rounds == 0 {
		rounds = 200
	}
	for round := range rounds {
		c := &sharers{fixture: s, rand: rand.New(rand.NewPCG(1, uint64(round)))}
		for range 30 {
			c.step()
		}
		for _, o := range c.holding() {
			c.release(o)
		}
		if s.env.exact() {
			s.env.Wait(time.Millisecond)
		}
	}
}

func (c *sharers) step() {
	c.Helper()
	if c.env.exact() {
		c.pass(time.Millisecond) // a clock that stands still would repeat fences
	}
	switch n := c.rand.IntN(10); {
	case n < 4 || len(c.all) == 0:
		limits := []int{0, 1, 2, 2, 3, 5, driver.NoLimit, driver.NoLimit}
		o := &sharer{Acquisition: c.sharing(limits[c.rand.IntN(len(limits))], c.ttl())}
		c.all = append(c.all, o)
		c.ask(o)
	case n < 5:
		c.ask(c.some())
	case n < 6:
		c.renew(c.some())
	case n < 9:
		c.release(c.some())
	case c.env.exact():
		c.pass(time.Duration(c.rand.IntN(2000)) * time.Millisecond)
	}
}

func (c *sharers) pass(d time.Duration) {
	c.env.Wait(d)
	c.now += d
	c.logf("%v pass", d)
}

func (c *sharers) ttl() time.Duration {
	if c.env.exact() && c.rand.IntN(2) == 0 {
		return short + time.Duration(c.rand.IntN(2000))*time.Millisecond
	}
	return long
}

func (c *sharers) some() *sharer { return c.all[c.rand.IntN(len(c.all))] }

func (c *sharers) logf(format string, args ...any) {
	c.log = append(c.log, fmt.Sprintf(format, args...))
}

// holding returns the owners that hold the key now.
func (c *sharers) holding() []*sharer {
	for _, o := range c.all {
		if o.fence != 0 && c.now >= o.until {
			o.fence = 0
		}
	}
	return slices.DeleteFunc(slices.Clone(c.all), func(o *sharer) bool { return o.fence == 0 })
}

// fits applies the rule.
func (c *sharers) fits(o *sharer) bool {
	holding := c.holding()
	limit := o.Limit
	for _, h := range holding {
		limit = min(limit, h.Limit)
	}
	return len(holding) < max(limit, 1)
}

func (c *sharers) ask(o *sharer) {
	c.Helper()
	c.holding()
	had, fits := o.fence, c.fits(o)
	g, err := c.driver.Acquire(c.ctx, o.Acquisition)
	c.logf("%s asks with the limit %d: %+v, %v", o.Owner, o.Limit, g, err)
	_, held := errors.AsType[*driver.HeldError](err)
	switch {
	case had != 0 && (err != nil || g.Fence != had):
		c.wrong("want the fence %d again", had)
	case had == 0 && fits && (err != nil || g.Fence <= c.last):
		c.wrong("want a fence above %d", c.last)
	case had == 0 && !fits && !held:
		c.wrong("want a refusal")
	case had == 0 && fits:
		o.fence, o.until, c.last = g.Fence, c.now+o.TTL, g.Fence
	}
}

func (c *sharers) renew(o *sharer) {
	c.Helper()
	c.holding()
	_, err := c.driver.Renew(c.ctx, driver.LeaseRef{Key: o.Key, Owner: o.Owner, Fence: max(o.fence, 1), TTL: o.TTL, Limit: o.Limit})
	c.logf("%s renews: %v", o.Owner, err)
	switch {
	case o.fence != 0 && err != nil:
		c.wrong("it holds the key")
	case o.fence == 0 && !errors.Is(err, driver.ErrLost):
		c.wrong("it does not hold the key")
	case err == nil:
		o.until = c.now + o.TTL
	}
}

func (c *sharers) release(o *sharer) {
	c.Helper()
	holding := c.holding()
	err := c.driver.Release(c.ctx, driver.LeaseRef{Key: o.Key, Owner: o.Owner, Fence: o.fence, Limit: o.Limit})
	c.logf("%s releases: %v", o.Owner, err)
	switch {
	case (o.fence != 0 || len(holding) == 0) && err != nil:
		c.wrong("it holds the key, or nobody does")
	case o.fence == 0 && len(holding) > 0 && !errors.Is(err, driver.ErrLost):
		c.wrong("others hold the key")
	}
	o.fence = 0
}

func (c *sharers) wrong(format string, args ...any) {
	c.Helper()
	c.Fatalf("%s\n%v", fmt.Sprintf(format, args...), c.log)
}
