package redislock

import (
	"context"
	"errors"
	"slices"
	"sync"
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

	mu     sync.Mutex
	flying int
	next   []*passenger
}

// A passenger is a request that waits for its flight.
type passenger struct {
	script *redis.Script
	keys   []string
	args   []any
	landed chan struct{} // closed when the reply is there
	reply  *redis.Cmd
}

// run runs a script, with those of others if there are any. When ctx ends it
// returns at once if nothing was sent. Else it returns when the deadline of ctx
// passes, and what was sent may still be done; but one that was cancelled earlier
// waits for the answer, within the limit of a flight: what undoes a request that
// nobody knows the answer of must not overtake it.
func (g *gather) run(ctx context.Context, s *redis.Script, keys []string, args []any) (any, error) {
	p := g.board(s, keys, args)
	if p == nil {
		defer g.land()
		return s.Run(ctx, g.client, keys, args...).Result()
	}
	select {
	case <-p.landed:
	case <-ctx.Done():
		if g.leave(p) || errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return nil, ctx.Err()
		}
		<-p.landed
	}
	reply, err := p.reply.Result()
	if err != nil && redis.HasErrorPrefix(err, "NOSCRIPT") {
		return s.Eval(ctx, g.client, keys, args...).Result()
	}
	return reply, err
}

// board returns nil if the request is to go out alone.
func (g *gather) board(s *redis.Script, keys []string, args []any) *passenger {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.flying < flights {
		g.flying++
		return nil
	}
	p := &passenger{script: s, keys: keys, args: args, landed: make(chan struct{})}
	g.next = append(g.next, p)
	return p
}

// leave reports whether the request was not sent, and never will be.
func (g *gather) leave(p *passenger) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	i := slices.Index(g.next, p)
	if i >= 0 {
		g.next = slices.Delete(g.next, i, i+1)
	}
	return i >= 0
}

// land ends the flight of a lone caller, who need not wait for those that have
// gathered meanwhile.
func (g *gather) land() {
	if crew := g.embark(); crew != nil {
		go g.fly(crew)
	}
}

// fly sends what has gathered, until nobody waits.
func (g *gather) fly(crew []*passenger) {
	for ; crew != nil; crew = g.embark() {
		g.send(crew)
	}
}

// embark returns the next to be sent. Nil: there are none, and the flight is over.
func (g *gather) embark() []*passenger {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.next) == 0 {
		g.flying--
		return nil
	}
	crew := g.next[:min(len(g.next), maxBatch)]
	g.next = slices.Clone(g.next[len(crew):])
	return crew
}

// send sends requests in one pipeline and tells each its reply. The flight is
// nobody's own: whoever leaves it, it goes on for the others.
func (g *gather) send(crew []*passenger) {
	ctx, stop := context.WithTimeout(context.Background(), g.limit)
	defer stop()
	pipe := g.client.Pipeline()
	for _, p := range crew {
		p.reply = p.script.EvalSha(ctx, pipe, p.keys, p.args...)
	}
	_, _ = pipe.Exec(ctx) // each reply has its own error
	for _, p := range crew {
		close(p.landed)
	}
}
