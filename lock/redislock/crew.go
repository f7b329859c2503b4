package redislock

import (
	"context"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
)

// patience is for how long a passenger waits for nothing but its answer, and then for
// the end of its context as well: that costs more than all the rest of its waiting.
const patience = 5 * time.Millisecond

// A crew are the passengers of one flight. It is guarded by the gather's mutex, but
// for those in the air, whom nobody adds to.
type crew struct {
	members []*passenger
	late    *time.Timer // nudges them
}

// A passenger is a request that waits for its flight.
type passenger struct {
	ctx     context.Context
	script  *redis.Script // that serves it
	many    *redis.Script // that serves several such requests in one run; nil: none does
	request *request
	asked   *redis.Cmd
	nudged  bool
	told    chan bool // false, once at most: it takes long; then true: the reply is there
	reply   any
	err     error
}

func (p *passenger) land(reply any, err error) {
	p.reply, p.err = reply, err
	p.told <- true
}

// gone reports whether the context of a passenger has ended, and tells it so.
func (p *passenger) gone() bool {
	err := p.ctx.Err()
	if err != nil {
		p.land(nil, err)
	}
	return err != nil
}

// ready reports whether there is anybody to be sent. Who is gone is left behind.
func (c *crew) ready() bool {
	c.members = slices.DeleteFunc(c.members, (*passenger).gone)
	return len(c.members) > 0
}

func (c *crew) leave(p *passenger) bool {
	i := slices.Index(c.members, p)
	if i >= 0 {
		c.members = slices.Delete(c.members, i, i+1)
	}
	return i >= 0
}

// wait adds passengers, who wait from now on. The mutex is held.
func (g *gather) wait(c *crew, ps []*passenger) {
	n := len(c.members)
	switch {
	case n > 0 && !c.members[n-1].nudged: // the timer is yet to tell them all
	case c.late == nil:
		c.late = time.AfterFunc(patience, func() { g.nudge(c) })
	default:
		c.late.Reset(patience)
	}
	c.members = append(c.members, ps...)
}

// nudge tells those who wait that it takes long. If they wait for a flight, one may
// be overdue.
func (g *gather) nudge(c *crew) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, p := range c.members {
		if !p.nudged {
			p.nudged = true
			p.told <- false
		}
	}
	if c == g.next {
		g.relieve()
	}
}

// arrive ends the waiting of a crew whose answers are there.
func (g *gather) arrive(c *crew) {
	g.mu.Lock()
	defer g.mu.Unlock()
	clear(c.members)
	c.members = c.members[:0]
}

// again lets those wait who have no answer yet.
func (g *gather) again(c *crew, rest []*passenger) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.wait(c, rest)
}
