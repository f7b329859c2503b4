package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/bench/internal/contend"
	"github.com/cronce/cronce/bench/internal/measure"
	"github.com/cronce/cronce/bench/internal/proc"
	"github.com/cronce/cronce/bench/internal/wire"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/redislock"
)

// lockCost is how much more than the bare commands a lock may cost.
const lockCost = 1.3

// The ways to lock.
const (
	ourLock     = "cronce"
	rawLock     = "SET NX PX + EVALSHA"
	redsyncLock = "redsync"
)

// locks compares an uncontended acquire and release with the bare commands.
func locks(ctx context.Context, env *Env) ([]Row, error) {
	found, err := onServer(ctx, func(addr string) (map[string]lockResult, error) {
		return lockCase.Run(ctx, lockArgs{addr, either(env, 100, 20), 200})
	})
	if err != nil {
		return nil, err
	}
	for name, r := range found {
		env.logf("%s: %+v", name, r)
	}
	ours, raw, other := found[ourLock], found[rawLock], found[redsyncLock]
	half, mean := ratio(ours.P50, raw.P50), ratio(ours.Mean, raw.Mean)
	return []Row{{
		What: "uncontended plain acquire + release, p50 and mean", Reach: "≤ 1.3 × raw `SET NX PX` + EVALSHA",
		Measured: fmt.Sprintf("%s and %s, %.2f × and %.2f ×, %.1f commands", us(ours.P50), us(ours.Mean), half, mean, ours.Commands),
		Peer: fmt.Sprintf("raw %s and %s, %.1f commands; redsync %.2f × and %.2f ×", us(raw.P50), us(raw.Mean), raw.Commands,
			ratio(other.P50, raw.P50), ratio(other.Mean, raw.Mean)),
		OK: half <= lockCost && mean <= lockCost,
	}}, nil
}

// A lockArgs says how often to lock: in blocks, the contenders in turns.
type lockArgs struct {
	Addr   string
	Blocks int
	Pairs  int // in a block
}

// A lockResult is what an acquire and release took.
type lockResult struct {
	P50, P99, Mean time.Duration
	Commands       float64
}

var lockCase = proc.Define("lock", runLocks)

// A locker is one way to lock, with a client of its own.
type locker struct {
	client redis.UniversalClient
	sent   *wire.Counter
	pair   func(ctx context.Context, key string) error // acquire and release
	took   []time.Duration
}

// runLocks runs in the child.
func runLocks(ctx context.Context, a lockArgs) (map[string]lockResult, error) {
	all, err := lockers(a.Addr)
	if err != nil {
		return nil, err
	}
	for block := range a.Blocks + 1 { // the first one only warms up
		for _, l := range all {
			if err := l.lock(ctx, a.Pairs, block > 0); err != nil {
				return nil, err
			}
		}
	}
	found := map[string]lockResult{}
	for name, l := range all {
		slices.Sort(l.took)
		found[name] = lockResult{
			measure.Percentile(l.took, 0.5), measure.Percentile(l.took, 0.99), measure.Mean(l.took),
			float64(l.sent.Sent()[wire.Other]) / float64((a.Blocks+1)*a.Pairs),
		}
		_ = l.client.Close()
	}
	return found, nil
}

// lock measures a block.
func (l *locker) lock(ctx context.Context, pairs int, keep bool) error {
	for i := range pairs {
		key := fmt.Sprintf("item-%03d", i)
		began := time.Now()
		if err := l.pair(ctx, key); err != nil {
			return err
		}
		if keep {
			l.took = append(l.took, time.Since(began))
		}
	}
	return nil
}

func lockers(addr string) (map[string]*locker, error) {
	ours := contend.Client(addr)
	store, err := redislock.New(ours, redislock.Options{})
	if err != nil {
		return nil, err
	}
	raw, theirs := redis.NewClient(&redis.Options{Addr: addr}), redis.NewClient(&redis.Options{Addr: addr})
	all := map[string]*locker{
		ourLock:     {client: ours, pair: pairOurs(lock.New(store, ""))},
		rawLock:     {client: raw, pair: pairRaw(raw)},
		redsyncLock: {client: theirs, pair: pairRedsync(redsync.New(goredis.NewPool(theirs)))},
	}
	for _, l := range all {
		l.sent = &wire.Counter{}
		l.client.AddHook(l.sent)
	}
	return all, nil
}

func pairOurs(l *lock.Locker) func(context.Context, string) error {
	return func(ctx context.Context, key string) error {
		lease, err := l.TryAcquire(ctx, key, lock.Options{})
		if err != nil {
			return err
		}
		return lease.Release(ctx)
	}
}

// unlock deletes a key that still has its owner's token.
var unlock = redis.NewScript(`if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`)

func pairRaw(client *redis.Client) func(context.Context, string) error {
	return func(ctx context.Context, key string) error {
		won, err := client.SetNX(ctx, "raw:"+key, "token", lock.DefaultTTL).Result()
		if err != nil || !won {
			return fmt.Errorf("lock %q: won %v: %w", key, won, err)
		}
		return unlock.Run(ctx, client, []string{"raw:" + key}, "token").Err()
	}
}

func pairRedsync(rs *redsync.Redsync) func(context.Context, string) error {
	return func(ctx context.Context, key string) error {
		m := rs.NewMutex("redsync:"+key, redsync.WithTries(1), redsync.WithExpiry(lock.DefaultTTL))
		if err := m.LockContext(ctx); err != nil {
			return err
		}
		_, err := m.UnlockContext(ctx)
		return err
	}
}
