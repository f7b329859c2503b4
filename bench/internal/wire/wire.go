// Package wire counts the commands that a node sends to its Redis server, by the purpose of the
// scheduler's request.
package wire

import (
	"context"
	"maps"
	"net"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/scheduler"
)

// The requests of the scheduler to its store.
const (
	Claim   = "claim"
	Release = "release"
	Renew   = "renew"
	Open    = "open"
	Beat    = "beat"
	Other   = "other"
)

type kind struct{} // the context key for the purpose of a request

// A Counter counts the commands of one or more clients. Commands inside scripts are not sent by the
// client and not counted. It is safe for concurrent use.
type Counter struct {
	mu   sync.Mutex
	sent map[string]int
}

// Sent returns how many commands were sent so far, by purpose.
func (c *Counter) Sent() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.sent)
}

func (c *Counter) count(ctx context.Context, cmds ...redis.Cmder) {
	what, _ := ctx.Value(kind{}).(string)
	if what == "" {
		what = Other
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sent == nil {
		c.sent = map[string]int{}
	}
	for _, cmd := range cmds {
		if name := cmd.Name(); name != "hello" && name != "client" { // sent for a new connection
			c.sent[what]++
		}
	}
}

// DialHook counts nothing.
func (c *Counter) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

// ProcessHook counts a command.
func (c *Counter) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c.count(ctx, cmd)
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook counts each command of a pipeline.
func (c *Counter) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		c.count(ctx, cmds...)
		return next(ctx, cmds)
	}
}

// A Store marks each request of a store with its purpose.
type Store struct{ scheduler.Store }

var _ series.GroupPeeker = Store{}

func mark(ctx context.Context, what string) context.Context {
	return context.WithValue(ctx, kind{}, what)
}

// Claim marks its request as a claim.
func (s Store) Claim(ctx context.Context, cs []series.Claim) []series.Answer {
	return s.Store.Claim(mark(ctx, Claim), cs)
}

// Peek marks its request as a claim.
func (s Store) Peek(ctx context.Context, ps []series.NumberRef, whole bool) ([]*series.Answer, error) {
	return s.Store.(series.Peeker).Peek(mark(ctx, Claim), ps, whole)
}

// Decided marks its request as a claim.
func (s Store) Decided(ctx context.Context, g series.Group) (bool, error) {
	return s.Store.(series.GroupPeeker).Decided(mark(ctx, Claim), g)
}

// Noticed sends no request.
func (s Store) Noticed(g series.Group) bool { return s.Store.(series.GroupPeeker).Noticed(g) }

// KeepDecided marks its request as a claim.
func (s Store) KeepDecided(ctx context.Context, g series.Group) error {
	return s.Store.(series.GroupPeeker).KeepDecided(mark(ctx, Claim), g)
}

// ReleaseRuns marks its request as a release.
func (s Store) ReleaseRuns(ctx context.Context, es []series.EndRequest) []series.EndAnswer {
	return s.Store.ReleaseRuns(mark(ctx, Release), es)
}

// RenewRuns marks its request as a renewal.
func (s Store) RenewRuns(ctx context.Context, rs []series.RunRef) []series.RenewAnswer {
	return s.Store.RenewRuns(mark(ctx, Renew), rs)
}

// Open marks its request as an opening.
func (s Store) Open(ctx context.Context, os []series.OpenRequest) []series.Series {
	return s.Store.Open(mark(ctx, Open), os)
}

// Beat marks its request as a beat.
func (s Store) Beat(ctx context.Context, b series.Beat) (series.BeatAnswer, error) {
	return s.Store.Beat(mark(ctx, Beat), b)
}
