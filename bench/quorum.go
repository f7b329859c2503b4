package main

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/bench/internal/contend"
	"github.com/cronce/cronce/bench/internal/measure"
	"github.com/cronce/cronce/bench/internal/proc"
	"github.com/cronce/cronce/bench/internal/rivals"
	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/redlock"
)

const (
	quorumServers = 5
	quorumShare   = 1.1 // of redsync's time: both send requests to all servers at once
)

// quorum compares an acquire and release on a majority of five servers with redsync's, and reports
// the extra time for a server that does not answer.
func quorum(ctx context.Context, env *Env) ([]Row, error) {
	pairs := either(env, 3000, 300)
	a := quorumArgs{Pairs: pairs, Peer: pairs}
	var all, silent map[string]quorumResult
	err := onHost(ctx, func(t testing.TB) (err error) {
		var servers []*redisserver.Server
		for range quorumServers {
			s := redisserver.Start(t)
			servers, a.Addrs = append(servers, s), append(a.Addrs, s.Addr())
		}
		if all, err = quorumCase.Run(ctx, a); err != nil {
			return err
		}
		servers[0].Freeze()
		defer servers[0].Thaw()
		a.Pairs, a.Peer = either(env, 500, 50), either(env, 10, 3)
		silent, err = quorumCase.Run(ctx, a)
		return err
	})
	if err != nil {
		return nil, err
	}
	env.logf("five servers: %+v; one silent: %+v", all, silent)
	ours, peer := all[rivals.Cronce], all[rivals.Redsync]
	share, mean := ratio(ours.P50, peer.P50), ratio(ours.Mean, peer.Mean)
	added := silent[rivals.Cronce].Most - ours.P50
	return []Row{
		{
			What: "5-server Redlock, 1 goroutine, acquire + release, p50 and mean", Reach: "≤ 1.1 × redsync's time",
			Measured: fmt.Sprintf("%s and %s, %.2f × and %.2f ×", us(ours.P50), us(ours.Mean), share, mean),
			Peer:     fmt.Sprintf("redsync %s and %s", us(peer.P50), us(peer.Mean)),
			OK:       share <= quorumShare && mean <= quorumShare,
		},
		{
			What: "the same, one server silent, slowest acquire", Reach: fmt.Sprintf("adds ≤ the per-node timeout, %s", ms(redlock.DefaultNodeTimeout)),
			Measured: "+ " + ms(added), Peer: "redsync + " + ms(silent[rivals.Redsync].Most-peer.P50),
			OK: added <= redlock.DefaultNodeTimeout,
		},
	}, nil
}

// A quorumArgs defines the servers and the number of pairs.
type quorumArgs struct {
	Addrs []string
	Pairs int
	Peer  int // pairs of redsync: while a server is silent, each takes seconds
}

// A quorumResult is the time of an acquire and release, and the slowest acquire.
type quorumResult struct{ P50, Mean, Most time.Duration }

// turn returns how many pairs of a block a contender gets.
func (a *quorumArgs) turn(name string, done, block int) int {
	if name == rivals.Cronce {
		return block
	}
	if done < 0 {
		return a.Peer / 10
	}
	return min(block, a.Peer-done)
}

var quorumCase = proc.Define("quorum", runQuorum)

// quorumBlock is how many pairs a contender gets in its turn: so work that it does after a release
// falls into its own time, not into the time of the next contender.
const quorumBlock = 100

// runQuorum runs in the child: the contenders in turns.
func runQuorum(ctx context.Context, a quorumArgs) (map[string]quorumResult, error) {
	ours, err := oursOver(a.Addrs)
	if err != nil {
		return nil, err
	}
	locks := map[string]*rivals.Lock{rivals.Cronce: ours, rivals.Redsync: redsyncOver(a.Addrs)}
	took, acquired := map[string][]time.Duration{}, map[string][]time.Duration{}
	for done := -a.Pairs / 10; done < a.Pairs; {
		block := min(quorumBlock, a.Pairs-done)
		if done < 0 { // the first block only warms up
			block = -done
		}
		for name, l := range locks {
			for i := range a.turn(name, done, block) {
				began := time.Now()
				release, err := l.Acquire(ctx, fmt.Sprintf("item-%03d", i%100))
				if err != nil {
					return nil, err
				}
				got := time.Now()
				if err := release(ctx); err != nil {
					return nil, err
				}
				if done >= 0 {
					took[name], acquired[name] = append(took[name], time.Since(began)), append(acquired[name], got.Sub(began))
				}
			}
		}
		done += block
	}
	found := map[string]quorumResult{}
	for name, l := range locks {
		l.Close()
		slices.Sort(took[name])
		found[name] = quorumResult{measure.Percentile(took[name], 0.5), measure.Mean(took[name]), slices.Max(acquired[name])}
	}
	return found, nil
}

func oursOver(addrs []string) (*rivals.Lock, error) {
	var clients []redis.UniversalClient
	for _, addr := range addrs {
		clients = append(clients, contend.Client(addr))
	}
	store, err := redlock.New(clients, redlock.Options{})
	if err != nil {
		return nil, err
	}
	return &rivals.Lock{Acquire: rivals.AcquireCronce(lock.New(store, "")), Close: func() {
		_ = store.Close()
		for _, c := range clients {
			_ = c.Close()
		}
	}}, nil
}

// redsyncOver returns redsync with clients that respect the deadlines of contexts; otherwise
// redsync's time limit for one server has no effect.
func redsyncOver(addrs []string) *rivals.Lock {
	var clients []*redis.Client
	var pools []redsyncredis.Pool
	for _, addr := range addrs {
		c := redis.NewClient(&redis.Options{Addr: addr, ContextTimeoutEnabled: true, MaxRetries: -1})
		clients, pools = append(clients, c), append(pools, goredis.NewPool(c))
	}
	return &rivals.Lock{Acquire: rivals.AcquireRedsync(redsync.New(pools...)), Close: func() {
		for _, c := range clients {
			_ = c.Close()
		}
	}}
}
