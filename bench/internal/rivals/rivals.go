// Package rivals creates the locks that are compared: cronce's, other libraries', and the bare
// commands.
package rivals

import (
	"context"
	"fmt"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"github.com/cronce/cronce/bench/internal/wire"
	"github.com/cronce/cronce/lock"
	ours "github.com/cronce/cronce/lock/redislock"
)

// The names of the locks.
const (
	Cronce      = "cronce"
	Raw         = "SET NX PX + EVALSHA"
	Fenced      = "bare scripts with a fence"
	Redsync     = "redsync"
	Redislock   = "bsm/redislock"
	Rueidislock = "rueidislock"
)

// Libraries are all locks except for the bare commands and the bare scripts.
var Libraries = []string{Cronce, Redsync, Redislock, Rueidislock}

// TTL is the TTL of each lock.
const TTL = 30 * time.Second

// pool is enough connections for the number of callers that are measured.
const pool = 128

// A Lock is one way to lock, with its own client.
type Lock struct {
	// Acquire waits for a key, in the library's own way, and returns the function that frees it.
	Acquire func(ctx context.Context, key string) (release func(context.Context) error, err error)
	Sent    *wire.Counter // counts the client's commands; nil: they cannot be counted
	Close   func()
}

var makers = map[string]func(addr string) (*Lock, error){
	Cronce: newCronce, Raw: newRaw, Fenced: newFenced, Redsync: newRedsync, Redislock: newRedislock, Rueidislock: newRueidislock,
}

// New creates the lock with this name on a server.
func New(name, addr string) (*Lock, error) {
	if makers[name] == nil {
		return nil, fmt.Errorf("rivals: no lock is named %q", name)
	}
	return makers[name](addr)
}

func newCronce(addr string) (*Lock, error) {
	o := &redis.UniversalOptions{Addrs: []string{addr}, PoolSize: pool}
	ours.Harden(o)
	client := redis.NewUniversalClient(o)
	store, err := ours.New(client, ours.Options{})
	if err != nil {
		return nil, err
	}
	return watched(client, AcquireCronce(lock.New(store, ""))), nil
}

// AcquireCronce locks with leases of cronce.
func AcquireCronce(locker *lock.Locker) func(context.Context, string) (func(context.Context) error, error) {
	return func(ctx context.Context, key string) (func(context.Context) error, error) {
		lease, err := locker.Acquire(ctx, key, lock.Options{TTL: TTL})
		if err != nil {
			return nil, err
		}
		return lease.Release, nil
	}
}

func watched(client redis.UniversalClient, acquire func(context.Context, string) (func(context.Context) error, error)) *Lock {
	l := &Lock{Acquire: acquire, Sent: &wire.Counter{}, Close: func() { _ = client.Close() }}
	client.AddHook(l.Sent)
	return l
}

// unlock deletes a key that still has its owner's token.
var unlock = redis.NewScript(`if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`)

// newRaw retries every 5 ms while another caller has the key.
func newRaw(addr string) (*Lock, error) {
	client := redis.NewClient(&redis.Options{Addr: addr, PoolSize: pool})
	return watched(client, func(ctx context.Context, key string) (func(context.Context) error, error) {
		for {
			won, err := client.SetNX(ctx, "raw:"+key, "token", TTL).Result()
			if err != nil {
				return nil, err
			}
			if won {
				return func(ctx context.Context) error {
					return unlock.Run(ctx, client, []string{"raw:" + key}, "token").Err()
				}, nil
			}
			select {
			case <-time.After(5 * time.Millisecond):
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
	}), nil
}

// The minimum that Redis must execute for a lock whose fence outlives its lease, and whose release
// respects a queue: three commands each. They check nothing, so no lock that does more can be
// faster on the server.
var (
	acquireFenced = redis.NewScript(`local time = redis.call("TIME")
redis.call("GET", KEYS[1])
redis.call("SET", KEYS[1], time[1] .. ARGV[1], "PX", ARGV[2])
return {1}`)
	releaseFenced = redis.NewScript(`redis.call("GET", KEYS[1])
redis.call("EXISTS", KEYS[2])
redis.call("SET", KEYS[1], ARGV[1], "PX", ARGV[2])
return {1}`)
)

// newFenced excludes no other caller: it shows the cost of the commands.
func newFenced(addr string) (*Lock, error) {
	client := redis.NewClient(&redis.Options{Addr: addr, PoolSize: pool})
	return watched(client, func(ctx context.Context, key string) (func(context.Context) error, error) {
		keys := []string{"fenced:" + key, "fenced-queue:" + key}
		if err := acquireFenced.Run(ctx, client, keys, "token", TTL.Milliseconds()).Err(); err != nil {
			return nil, err
		}
		return func(ctx context.Context) error {
			return releaseFenced.Run(ctx, client, keys, "token", TTL.Milliseconds()).Err()
		}, nil
	}), nil
}

// patient is more tries than fit into any measurement.
const patient = 1 << 30

func newRedsync(addr string) (*Lock, error) {
	client := redis.NewClient(&redis.Options{Addr: addr, PoolSize: pool})
	return watched(client, AcquireRedsync(redsync.New(goredis.NewPool(client)))), nil
}

// AcquireRedsync locks like redsync does by default, but without a limit on the tries.
func AcquireRedsync(rs *redsync.Redsync) func(context.Context, string) (func(context.Context) error, error) {
	return func(ctx context.Context, key string) (func(context.Context) error, error) {
		m := rs.NewMutex("redsync:"+key, redsync.WithTries(patient), redsync.WithExpiry(TTL))
		if err := m.LockContext(ctx); err != nil {
			return nil, err
		}
		return func(ctx context.Context) error {
			_, err := m.UnlockContext(ctx)
			return err
		}, nil
	}
}

func newRedislock(addr string) (*Lock, error) {
	client := redis.NewClient(&redis.Options{Addr: addr, PoolSize: pool})
	locks := redislock.New(client)
	return watched(client, func(ctx context.Context, key string) (func(context.Context) error, error) {
		l, err := locks.Obtain(ctx, "bsm:"+key, TTL, &redislock.Options{RetryStrategy: redislock.LinearBackoff(10 * time.Millisecond)})
		if err != nil {
			return nil, err
		}
		return l.Release, nil
	}), nil
}

// newRueidislock uses one key: the default, two of three, is intended for three masters.
func newRueidislock(addr string) (*Lock, error) {
	locks, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption: rueidis.ClientOption{InitAddress: []string{addr}}, KeyMajority: 1, NoLoopTracking: true, KeyValidity: TTL,
	})
	if err != nil {
		return nil, err
	}
	return &Lock{
		Acquire: func(ctx context.Context, key string) (func(context.Context) error, error) {
			_, cancel, err := locks.WithContext(ctx, key)
			if err != nil {
				return nil, err
			}
			return func(context.Context) error { cancel(); return nil }, nil
		},
		Close: locks.Close,
	}, nil
}
