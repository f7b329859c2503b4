package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/bench/internal/contend"
	"github.com/cronce/cronce/bench/internal/measure"
	"github.com/cronce/cronce/bench/internal/proc"
	"github.com/cronce/cronce/bench/internal/wire"
	"github.com/cronce/cronce/lock/redislock"
	"github.com/cronce/cronce/scheduler"
)

// A wireArgs defines the cronce nodes whose commands are counted.
type wireArgs struct {
	contend.Setup
	Hold   time.Duration
	Window time.Duration // how long the commands are counted
}

// A wireResult counts the commands of all nodes within the window.
type wireResult struct {
	Sent   map[string]int // by purpose
	Server int64          // EVALSHA and EVAL, as counted by the server
	Runs   int
	Groups int // how many requests release the runs if runs that end within 5 ms on a node share one
}

var wireCase = proc.Define("wire", runWire)

// commands counts the commands that a node sends per tick, and between ticks.
func commands(ctx context.Context, env *Env) ([]Row, error) {
	var rows []Row
	for _, measured := range []func(context.Context, *Env) ([]Row, error){perTick, idle} {
		found, err := measured(ctx, env)
		if rows = append(rows, found...); err != nil {
			return rows, err
		}
	}
	return rows, nil
}

func measureWire(ctx context.Context, env *Env, a wireArgs) (wireResult, error) {
	r, err := onServer(ctx, func(addr string) (wireResult, error) {
		a.Addr = addr
		return wireCase.Run(ctx, a)
	})
	if err == nil {
		env.logf("%d nodes x %d jobs every %v, %d partitions: in %v sent %v, server counted %d scripts; %d runs, %d groups",
			a.Nodes, a.Jobs, a.Every, a.Partitions, a.Window, r.Sent, r.Server, r.Runs, r.Groups)
	}
	return r, err
}

// perTick counts the commands of ticks with any number of jobs due.
func perTick(ctx context.Context, env *Env) ([]Row, error) {
	claims := Row{
		What: "claims: round trips per tick and node, 3 nodes, any number of jobs due", Reach: "1 per partition, 2 with the later share",
		Peer: "`SET NX`: 1 per job, and a `DEL` or EVALSHA per run", OK: true,
	}
	releases := Row{What: "releases: round trips per tick and node", Reach: "1 per partition for runs that end within 5 ms", OK: true}
	for _, c := range []struct{ jobs, partitions int }{{10, 1}, {100, 1}, {200, 1}, {200, 4}} {
		ticks := either(env, 20, 5)
		a := wireArgs{Window: time.Duration(ticks) * time.Second, Hold: 5 * time.Millisecond}
		a.Setup = contend.Setup{Nodes: 3, Jobs: c.jobs, Every: time.Second, Aligned: true, Partitions: c.partitions}
		r, err := measureWire(ctx, env, a)
		if err != nil {
			return nil, err
		}
		per := func(n int) float64 { return float64(n) / float64(ticks*a.Nodes) }
		claimed, released, least := per(r.Sent[wire.Claim]), per(r.Sent[wire.Release]), per(c.partitions*r.Groups)
		claims.also(claimed <= float64(2*c.partitions), "%.2f at %d jobs, %d partitions", claimed, c.jobs, c.partitions)
		releases.also(released <= least*slack, "%.2f (%.2f groups) at %d jobs, %d partitions", released, per(r.Groups), c.jobs, c.partitions)
	}
	return []Row{claims, releases}, nil
}

// slack allows for runs that end right at the edge of 5 ms.
const slack = 1.05

// idle counts the commands of nodes between two ticks.
func idle(ctx context.Context, env *Env) ([]Row, error) {
	a := wireArgs{Window: either(env, time.Minute, 20*time.Second)}
	a.Setup = contend.Setup{Nodes: 3, Jobs: 100, Every: 24 * time.Hour}
	r, err := measureWire(ctx, env, a)
	if err != nil {
		return nil, err
	}
	sum := 0
	for what, n := range r.Sent {
		if what != wire.Renew {
			sum += n
		}
	}
	per := float64(sum) / float64(a.Nodes) / (a.Window.Seconds() / 5)
	return []Row{{
		What: "a node idle between ticks: store commands per 5 s besides renewals", Reach: "≤ 1",
		Measured: fmt.Sprintf("%.2f", per), OK: per <= 1,
	}}, nil
}

// runWire runs in the child.
func runWire(ctx context.Context, a wireArgs) (wireResult, error) {
	counter, ends := &wire.Counter{}, &endings{nodes: make([][]time.Time, a.Nodes)}
	life, stop := context.WithCancel(ctx)
	var wg sync.WaitGroup
	defer wg.Wait()
	defer stop()
	for i := range a.Nodes {
		n, err := countedNode(a, i, counter, ends)
		if err != nil {
			return wireResult{}, err
		}
		wg.Go(func() { _ = n.Run(life) }) // a drain that did not end in time does not affect the count
	}
	measure.Pause(ctx, steady+3*time.Second) // between two beats, which come every 10 s
	measure.Pause(ctx, time.Until(time.Now().Truncate(time.Second).Add(time.Second-before)))
	return countWire(ctx, a, counter, ends)
}

// countWire counts the commands that are sent within the window.
func countWire(ctx context.Context, a wireArgs, counter *wire.Counter, ends *endings) (r wireResult, err error) {
	server := redis.NewClient(&redis.Options{Addr: a.Addr})
	defer server.Close()
	scripts, err := scriptsOf(ctx, server)
	if err != nil {
		return r, err
	}
	first, from := counter.Sent(), time.Now()
	measure.Pause(ctx, a.Window)
	r.Sent = counter.Sent()
	for what, n := range first {
		r.Sent[what] -= n
	}
	r.Server, err = scriptsOf(ctx, server)
	r.Server -= scripts
	r.Runs, r.Groups = ends.groups(from)
	return r, err
}

// countedNode returns a node whose client counts its commands.
func countedNode(a wireArgs, i int, counter *wire.Counter, ends *endings) (*scheduler.Node, error) {
	client := contend.Client(a.Addr)
	client.AddHook(counter)
	store, err := redislock.New(client, redislock.Options{Partitions: a.Partitions})
	if err != nil {
		return nil, err
	}
	return scheduler.New(contend.Node(a.Setup, i, wire.Store{Store: store}, func(node, _ int, _ time.Time) {
		time.Sleep(a.Hold)
		ends.add(node)
	}))
}

func scriptsOf(ctx context.Context, server *redis.Client) (int64, error) {
	u, err := measure.Redis(ctx, server)
	return u.Calls["evalsha"] + u.Calls["eval"], err
}

// endings records when the runs of each node ended.
type endings struct {
	mu    sync.Mutex
	nodes [][]time.Time
}

func (e *endings) add(node int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.nodes[node] = append(e.nodes[node], time.Now())
}

// groups counts the runs since an instant, and the requests that end them if all runs that end
// within 5 ms of the first share one, up to 200.
func (e *endings) groups(from time.Time) (runs, groups int) {
	const together, most = 5 * time.Millisecond, 200
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, ends := range e.nodes {
		slices.SortFunc(ends, time.Time.Compare)
		var first time.Time
		n := 0
		for _, end := range ends {
			if end.Before(from) {
				continue
			}
			runs++
			if n == 0 || n == most || end.Sub(first) > together {
				groups, first, n = groups+1, end, 0
			}
			n++
		}
	}
	return runs, groups
}
