package redislock

import (
	"context"
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
// gather; the first flight that lands lets the oldest of them lead, and it sends
// all that have gathered by then in one pipeline. Nobody waits for a time to
// pass, and no goroutine runs but the callers'.
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
	called chan struct{} // closed when it is to lead, or when the reply is there
	crew   []*passenger  // whom it leads, itself the first; nil: it does not
	reply  *redis.Cmd
}

// takes reports whether a request with this context may share a flight, which is
// not cut short for one of its passengers.
func (g *gather) takes(ctx context.Context) bool {
	if g.limit <= 0 {
		return false
	}
	deadline, some := ctx.Deadline()
	return !some || time.Until(deadline) > g.limit
}

// run runs a script, with those of others if there are any. When ctx ends it
// returns, a leader within the limit; what was sent may still be done.
func (g *gather) run(ctx context.Context, s *redis.Script, keys []string, args []any) (any, error) {
	p := g.board(s, keys, args)
	if p == nil {
		defer g.land()
		return s.Run(ctx, g.client, keys, args...).Result()
	}
	select {
	case <-p.called:
	case <-ctx.Done():
		if g.leave(p) {
			return nil, ctx.Err()
		}
	}
	if p.crew != nil {
		g.lead(ctx, p.crew)
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
	p := &passenger{script: s, keys: keys, args: args, called: make(chan struct{})}
	g.next = append(g.next, p)
	return p
}

// leave reports whether a caller that is gone is not needed: all but a leader.
func (g *gather) leave(p *passenger) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := slices.Index(g.next, p); i >= 0 {
		g.next = slices.Delete(g.next, i, i+1)
	}
	return p.crew == nil
}

// land ends a flight, or lets those that wait take off.
func (g *gather) land() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.next) == 0 {
		g.flying--
		return
	}
	crew := g.next[:min(len(g.next), maxBatch)]
	g.next = slices.Clone(g.next[len(crew):])
	crew[0].crew = crew
	close(crew[0].called)
}

// lead sends the crew's requests in one pipeline and tells each its reply.
func (g *gather) lead(ctx context.Context, crew []*passenger) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), g.limit)
	defer stop()
	defer g.land()
	pipe := g.client.Pipeline()
	for _, p := range crew {
		p.reply = p.script.EvalSha(ctx, pipe, p.keys, p.args...)
	}
	_, _ = pipe.Exec(ctx) // each reply has its own error
	for _, p := range crew[1:] {
		close(p.called)
	}
}
