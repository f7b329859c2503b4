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
	client   redis.UniversalClient
	limit    time.Duration // of a flight
	slotless bool          // a script may have any keys

	mu     sync.Mutex
	flying int
	next   []*passenger
	idle   sync.Pool // of passengers, to be used again
}

// A passenger is a request that waits for its flight.
type passenger struct {
	script  *redis.Script // that serves it
	many    *redis.Script // that serves several such requests in one run; nil: none does
	request *request
	asked   *redis.Cmd
	landed  chan struct{} // holds a value once the reply is there
	reply   any
	err     error
}

func (p *passenger) land(reply any, err error) {
	p.reply, p.err = reply, err
	p.landed <- struct{}{}
}

// free takes a passenger back that nobody knows any more, and frees its request.
func (g *gather) free(p *passenger) {
	p.request.free()
	*p = passenger{landed: p.landed}
	g.idle.Put(p)
}

// run runs a script for a request, which it frees, with those of others if there
// are any. When ctx ends it returns at once if nothing was sent. Else it returns
// when the deadline of ctx passes, and what was sent may still be done; but one
// that was cancelled earlier waits for the answer, within the limit of a flight:
// what undoes a request that nobody knows the answer of must not overtake it.
func (g *gather) run(ctx context.Context, s, many *redis.Script, r *request) (any, error) {
	p := g.board(s, many, r)
	if p == nil {
		defer r.free()
		defer g.land()
		return evaluate(ctx, g.client, s, r)
	}
	select {
	case <-p.landed:
	case <-ctx.Done():
		if g.leave(p) {
			g.free(p)
			return nil, ctx.Err()
		}
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return nil, ctx.Err() // its flight needs it still
		}
		<-p.landed
	}
	defer g.free(p)
	if unknown(p.err) {
		return r.whole(ctx, g.client, s)
	}
	return p.reply, p.err
}

// board returns nil if the request is to go out alone.
func (g *gather) board(s, many *redis.Script, r *request) *passenger {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.flying < flights {
		g.flying++
		return nil
	}
	p, _ := g.idle.Get().(*passenger)
	if p == nil {
		p = &passenger{landed: make(chan struct{}, 1)}
	}
	p.script, p.many, p.request = s, many, r
	if !g.slotless {
		p.many = nil
	}
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
	if crew := g.embark(nil); crew != nil {
		go g.fly(crew)
	}
}

// fly sends what has gathered, until nobody waits.
func (g *gather) fly(crew []*passenger) {
	for ; crew != nil; crew = g.embark(crew) {
		g.send(crew)
	}
}

// embark returns the next to be sent, and may use the room of those that have
// landed. Nil: there are none, and the flight is over.
func (g *gather) embark(landed []*passenger) []*passenger {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.next) == 0 {
		g.flying--
		return nil
	}
	n := min(len(g.next), maxBatch)
	crew := append(landed[:0], g.next[:n]...)
	g.next = slices.Delete(g.next, 0, n)
	return crew
}

// send sends requests in one pipeline and tells each its reply. The flight is
// nobody's own: whoever leaves it, it goes on for the others.
func (g *gather) send(crew []*passenger) {
	ctx, stop := context.WithTimeout(context.Background(), g.limit)
	defer stop()
	parties, singles := split(crew)
	if rest := g.exec(ctx, parties, singles); len(rest) > 0 {
		g.exec(ctx, nil, rest)
	}
}

// exec sends one pipeline and returns those who have no answer yet, because they
// need a run of their own.
func (g *gather) exec(ctx context.Context, parties []party, singles []*passenger) (rest []*passenger) {
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
	for _, p := range singles {
		p.land(p.asked.Result())
	}
	for i := range parties {
		rest = append(rest, parties[i].land(ctx, g.client)...)
	}
	return rest
}
