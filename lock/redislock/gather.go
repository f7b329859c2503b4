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

// flights is how many gathered requests are under way at once: while one is on
// the wire the server works on another.
const flights = 2

// A gather sends what many callers ask in few round trips. A lone caller's
// request goes out at once and alone. While all flights are under way requests
// gather; when the first flight lands all that have gathered by then go out in one
// pipeline, and so on until nobody waits. Nobody waits for a time to pass.
type gather struct {
	client redis.UniversalClient
	limit  time.Duration // of a flight
	slots  atomic.Bool   // it is known that a script may not have any keys

	mu     sync.Mutex
	flying int
	next   *crew     // who waits for a flight; nil: nobody does
	spare  []*crew   // to be used again
	idle   sync.Pool // of passengers, the same
}

// run runs a script for a request, which it frees, with those of others if there
// are any. When ctx ends it returns if nothing was sent: at once, or, if it began to
// wait just now, after a few milliseconds or when it would be sent. Else it returns
// when the deadline of ctx passes, and what was sent may still be done; but one that
// was cancelled earlier waits for the answer, within the limit of a flight: what
// undoes a request that nobody knows the answer of must not overtake it.
func (g *gather) run(ctx context.Context, s, many *redis.Script, r *request) (any, error) {
	p := g.board(ctx, s, many, r)
	if p == nil {
		defer r.free()
		defer g.land()
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

// board returns nil if the request is to go out alone.
func (g *gather) board(ctx context.Context, s, many *redis.Script, r *request) *passenger {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.flying < flights {
		g.flying++
		return nil
	}
	p, _ := g.idle.Get().(*passenger)
	if p == nil {
		p = &passenger{told: make(chan bool, 2)}
	}
	p.ctx, p.script, p.many, p.request = ctx, s, many, r
	g.line(p)
	return p
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
func (g *gather) land() {
	if c := g.embark(nil); c != nil {
		go g.fly(c)
	}
}

// fly sends what has gathered, until nobody waits.
func (g *gather) fly(c *crew) {
	for ; c != nil; c = g.embark(c) {
		g.send(c)
	}
}

// embark returns the next to be sent, and may use a crew again that has landed. Nil:
// there are none, and the flight is over.
func (g *gather) embark(landed *crew) *crew {
	g.mu.Lock()
	defer g.mu.Unlock()
	if landed != nil {
		g.spare = append(g.spare, landed)
	}
	c := g.next
	if c == nil || !c.ready() {
		g.flying--
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
		_ = pipe.Process(ctx, cmd) // Exec sends it
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
