package redislock

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	// flights is how many gathered requests are under way at once: while one is on
	// the wire the server works on another.
	flights = 2
	// overdue is after what time a flight no longer counts as one of these: its
	// connection may be silent, and the others need not wait for that.
	overdue = 20 * time.Millisecond
	// mostFlights bounds those that are under way, the overdue ones included. A
	// server that is merely slow gets no more requests at once than this.
	mostFlights = 16
)

// A gather sends what many callers ask in few round trips. A lone caller's
// request goes out at once and alone. While all flights are under way requests
// gather; when the first flight lands all that have gathered by then go out in one
// pipeline, and so on until nobody waits. Nobody waits for a time to pass.
type gather struct {
	client redis.UniversalClient
	limit  time.Duration // of a flight
	late   time.Duration // overdue, but for tests
	slots  atomic.Bool   // it is known that a script may not have any keys

	mu     sync.Mutex
	flying int                 // flights under way that are not overdue
	air    [mostFlights]flight // all that are under way
	next   *crew               // the crew that waits for a flight; nil: none
	spare  []*crew             // to be used again
	idle   sync.Pool           // of passengers, the same
}

// A flight is a request under way, lone or gathered. The zero flight is none.
type flight struct {
	began   time.Time
	overdue bool
}

func newGather(client redis.UniversalClient, limit time.Duration) *gather {
	return &gather{client: client, limit: limit, late: overdue}
}

// run runs a script for a request, which it frees, with those of others if there
// are any. When ctx ends it returns if nothing was sent: at once, or, if it began to
// wait just now, after a few milliseconds or when it would be sent. Else it returns
// when the deadline of ctx passes, and what was sent may still be done; but one that
// was cancelled earlier waits for the answer, within the limit of a flight: what
// undoes a request that nobody knows the answer of must not overtake it.
func (g *gather) run(ctx context.Context, s, many *redis.Script, r *request) (any, error) {
	p, alone := g.board(ctx, s, many, r)
	if p == nil {
		defer r.free()
		defer g.land(alone)
		return evaluate(ctx, g.client, s, r)
	}
	if landed := <-p.told; !landed && !g.sitOut(ctx, p) {
		return nil, ctx.Err()
	}
	defer g.free(p)
	if unknown(p.err) {
		return r.whole(ctx, g.client, s)
	}
	return p.reply, p.err
}

// sitOut waits on for what takes long, and reports whether there is an answer.
func (g *gather) sitOut(ctx context.Context, p *passenger) bool {
	select {
	case <-p.told:
		return true
	case <-ctx.Done():
	}
	if g.leave(p) {
		g.free(p)
		return false
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return false // its flight needs it still
	}
	return <-p.told
}

// board returns no passenger if the request is to go out alone, in the flight that
// it returns then.
func (g *gather) board(ctx context.Context, s, many *redis.Script, r *request) (*passenger, int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if alone := g.takeOff(); alone >= 0 {
		return nil, alone
	}
	p, _ := g.idle.Get().(*passenger)
	if p == nil {
		p = &passenger{told: make(chan bool, 2)}
	}
	p.ctx, p.script, p.many, p.request = ctx, s, many, r
	g.line(p)
	return p, -1
}

// takeOff begins a flight and returns its number, -1 if there may be no more. The
// mutex is held.
func (g *gather) takeOff() int {
	if g.flying == flights {
		return -1
	}
	for i := range g.air {
		if g.air[i].began.IsZero() {
			g.air[i].began = time.Now()
			g.flying++
			return i
		}
	}
	return -1
}

// ended ends a flight. The mutex is held.
func (g *gather) ended(i int) {
	if !g.air[i].overdue {
		g.flying--
	}
	g.air[i] = flight{}
}

// relieve lets those who wait take off beside flights that are overdue, or has
// them nudged again when the next one is. The mutex is held.
func (g *gather) relieve() {
	now, soonest := time.Now(), g.late
	for i := range g.air {
		f := &g.air[i]
		if f.began.IsZero() || f.overdue {
			continue
		}
		if left := g.late - now.Sub(f.began); left > 0 {
			soonest = min(soonest, left)
			continue
		}
		f.overdue = true
		g.flying--
	}
	for i := g.takeOff(); i >= 0; i = g.takeOff() {
		next := g.embark(i)
		if next == nil {
			return
		}
		go g.fly(next, i)
	}
	if g.flying == flights && g.next != nil && len(g.next.members) > 0 { // else the first to land goes on
		g.next.late.Reset(soonest)
	}
}

// free takes a passenger back that nobody knows any more, and frees its request.
func (g *gather) free(p *passenger) {
	p.request.free()
	*p = passenger{told: p.told}
	g.idle.Put(p)
}

// leave reports whether the request was not sent, and never will be.
func (g *gather) leave(p *passenger) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.next != nil && g.next.leave(p)
}

// land ends the flight of a lone caller, who need not wait for those that have
// gathered meanwhile.
func (g *gather) land(alone int) {
	if c, i := g.goOn(nil, alone); c != nil {
		go g.fly(c, i)
	}
}

// fly sends what has gathered, until no request waits or others fly on.
func (g *gather) fly(c *crew, i int) {
	for c != nil {
		g.send(c)
		c, i = g.goOn(c, i)
	}
}

// goOn ends a flight and begins the next one, whose crew and number it returns. It
// may use a crew again that has landed.
func (g *gather) goOn(landed *crew, i int) (*crew, int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ended(i)
	if landed != nil {
		g.spare = append(g.spare, landed)
	}
	if i = g.takeOff(); i < 0 {
		return nil, -1
	}
	return g.embark(i), i
}

// embark returns the crew of a flight that has begun. Nil: no request waits, and the
// flight is over. The mutex is held.
func (g *gather) embark(i int) *crew {
	c := g.next
	if c == nil || !c.ready() {
		g.ended(i)
		return nil
	}
	g.next = nil
	if n := len(c.members); n > maxBatch {
		g.line(c.members[maxBatch:]...)
		c.members = slices.Delete(c.members, maxBatch, n)
	}
	return c
}

// line lets passengers wait for the next flight. The mutex is held.
func (g *gather) line(ps ...*passenger) {
	if g.next == nil {
		g.next = g.crew()
	}
	g.wait(g.next, ps)
}

// crew returns an empty one. The mutex is held.
func (g *gather) crew() *crew {
	last := len(g.spare) - 1
	if last < 0 {
		return &crew{}
	}
	c := g.spare[last]
	g.spare = g.spare[:last]
	return c
}

// send sends requests in one pipeline and tells each its reply. The flight is
// nobody's own: whoever leaves it, it goes on for the others.
func (g *gather) send(c *crew) {
	ctx, stop := context.WithTimeout(context.Background(), g.limit)
	defer stop()
	parties, singles := split(c.members, !g.slots.Load())
	if rest := g.exec(ctx, c, parties, singles); len(rest) > 0 {
		g.again(c, rest)
		g.exec(ctx, c, nil, rest)
	}
}

// exec sends one pipeline and returns those who have no answer yet, because they
// need a run of their own.
func (g *gather) exec(ctx context.Context, c *crew, parties []party, singles []*passenger) (rest []*passenger) {
	pipe := g.client.Pipeline()
	ask := func(s *redis.Script, r *request) *redis.Cmd {
		cmd := r.command(ctx, s)
		_ = pipe.Process(ctx, r.sendable(cmd)) // Exec sends it
		return cmd
	}
	for i := range parties {
		parties[i].asked = ask(parties[i].script, parties[i].request)
	}
	for _, p := range singles {
		p.asked = ask(p.script, p.request)
	}
	_, _ = pipe.Exec(ctx) // each reply has its own error
	g.arrive(c)
	for _, p := range singles {
		p.land(p.asked.Result())
	}
	for i := range parties {
		rest = append(rest, parties[i].land(ctx, g)...)
	}
	return rest
}
