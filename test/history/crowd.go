package history

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
)

// A Crowd is a group of clients that compete for a few keys. Only Driver is required.
type Crowd struct {
	Driver  func(client int) driver.Driver
	First   int           // the number of the first client; client numbers must be unique in a history
	Clients int           // zero: 6
	Keys    int           // zero: 3
	TTL     time.Duration // zero: twice driver.MinTTL
	Timeout time.Duration // the timeout of one request; zero: 200ms
	Pause   time.Duration // the longest random pause between two requests; zero: 30ms
	Pace    time.Duration // multiplies TTL, Timeout and Pause, see Paced; zero: 1
	Seed    uint64        // of the random choices of the clients
}

func (c Crowd) withDefaults() Crowd {
	or(&c.Clients, 6)
	or(&c.Keys, 3)
	or(&c.TTL, 2*driver.MinTTL)
	or(&c.Timeout, 200*time.Millisecond)
	or(&c.Pause, 30*time.Millisecond)
	or(&c.Pace, 1)
	c.TTL, c.Timeout, c.Pause = c.TTL*c.Pace, c.Timeout*c.Pace, c.Pause*c.Pace
	return c
}

func or[T comparable](v *T, fallback T) {
	var zero T
	if *v == zero {
		*v = fallback
	}
}

// Run runs the clients until ctx ends and returns their requests.
func (c Crowd) Run(ctx context.Context) []Op {
	c = c.withDefaults()
	all := make([][]Op, c.Clients)
	var wg sync.WaitGroup
	start := newClock()
	for i := range c.Clients {
		wg.Go(func() {
			w := &client{
				Crowd: c, clock: start, number: c.First + i, driver: c.Driver(c.First + i),
				rnd: rand.New(rand.NewPCG(c.Seed, uint64(c.First+i))),
			}
			for ctx.Err() == nil {
				w.visit()
			}
			all[i] = w.ops
		})
	}
	wg.Wait()
	var ops []Op
	for _, o := range all {
		ops = append(ops, o...)
	}
	return ops
}

// A client sends one request after another.
type client struct {
	Crowd
	clock
	number int
	driver driver.Driver
	rnd    *rand.Rand
	owners int
	ops    []Op
}

// visit tries to acquire a key once, and uses the lease if it gets one.
func (c *client) visit() {
	c.owners++
	key := fmt.Sprintf("key-%d", c.rnd.IntN(c.Keys))
	owner := fmt.Sprintf("c%d/%d", c.number, c.owners)
	got := c.acquire(key, owner)
	for tries := 0; got.Outcome == Unknown && tries < 3; tries++ {
		c.rest(c.Pause)
		got = c.acquire(key, owner)
	}
	switch got.Outcome {
	case OK:
		c.use(driver.LeaseRef{Key: key, Owner: owner, Fence: got.Granted, TTL: c.TTL})
	case Unknown:
		c.release(driver.LeaseRef{Key: key, Owner: owner, TTL: c.TTL}) // it may have been granted
	}
	c.rest(c.Pause)
}

// use renews a lease up to twice, and then releases it or lets it expire. In one case of three it sends
// another request later, when another owner may have the key.
func (c *client) use(h driver.LeaseRef) {
	for range c.rnd.IntN(3) {
		c.rest(c.TTL / 2)
		if c.renew(h) == Lost {
			return
		}
	}
	c.rest(c.Pause)
	late := c.rnd.IntN(3) == 0
	if late && c.rnd.IntN(2) == 0 {
		<-time.After(c.TTL + c.upTo(c.Pause)) // it expires
	} else if c.release(h) == Unknown {
		c.rest(c.Pause)
		c.release(h)
	}
	if late {
		c.rest(c.TTL)
		if c.rnd.IntN(2) == 0 {
			c.renew(h)
		} else {
			c.release(h)
		}
	}
}

func (c *client) rest(most time.Duration) { <-time.After(c.upTo(most)) }

func (c *client) upTo(most time.Duration) time.Duration {
	return time.Duration(c.rnd.Int64N(int64(most)))
}

func (c *client) acquire(key, owner string) *Op {
	o := Op{Kind: Acquire, Key: key, Owner: owner}
	return c.do(o, func(ctx context.Context, o *Op) error {
		g, err := c.driver.Acquire(ctx, driver.Acquisition{Key: key, Owner: owner, TTL: c.TTL})
		o.Granted = g.Fence
		return err
	})
}

func (c *client) renew(h driver.LeaseRef) Outcome {
	o := Op{Kind: Renew, Key: h.Key, Owner: h.Owner, Fence: h.Fence}
	return c.do(o, func(ctx context.Context, _ *Op) error {
		_, err := c.driver.Renew(ctx, h)
		return err
	}).Outcome
}

func (c *client) release(h driver.LeaseRef) Outcome {
	o := Op{Kind: Release, Key: h.Key, Owner: h.Owner, Fence: h.Fence}
	return c.do(o, func(ctx context.Context, _ *Op) error { return c.driver.Release(ctx, h) }).Outcome
}

// do sends one request and records its outcome.
func (c *client) do(o Op, ask func(context.Context, *Op) error) *Op {
	ctx, stop := context.WithTimeout(context.Background(), c.Timeout)
	defer stop()
	o.Client, o.TTL = c.number, c.TTL
	o.ID = c.number<<32 + len(c.ops)
	o.Call = c.now()
	err := ask(ctx, &o)
	o.Return = c.now()
	o.Outcome = outcome(err)
	c.ops = append(c.ops, o)
	return &c.ops[len(c.ops)-1]
}

func outcome(err error) Outcome {
	_, held := errors.AsType[*lock.HeldError](err)
	switch {
	case err == nil:
		return OK
	case held:
		return Held
	case errors.Is(err, lock.ErrForgotten):
		return Forgotten
	case errors.Is(err, lock.ErrLost):
		return Lost
	}
	return Unknown
}
