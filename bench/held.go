package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/bench/internal/measure"
	"github.com/cronce/cronce/bench/internal/rivals"
)

const (
	heldLocks = 20000
	heldBytes = 200 // a lock with a key of 40 bytes
)

// held measures the memory of held locks in Redis, and the keys that remain after them.
func held(ctx context.Context, env *Env) ([]Row, error) {
	row := Row{What: "memory per held lock in Redis, keys of 40 bytes", Reach: "≤ 200 bytes; 0 keys within 20 s after release", OK: true}
	for _, name := range []string{rivals.Cronce, rivals.Raw, rivals.Redsync, rivals.Redislock, rivals.Rueidislock} {
		h, err := onServer(ctx, func(addr string) (holding, error) { return hold(ctx, name, addr) })
		if err != nil {
			return nil, err
		}
		env.logf("%s: %+v", name, h)
		if name == rivals.Cronce {
			row.also(h.Each <= heldBytes && h.Left == 0, "%.0f bytes, %.0f with the server's tables; %d keys left", h.Each, h.Whole, h.Left)
		} else {
			row.beside("%s %.0f, %.0f", name, h.Each, h.Whole)
		}
	}
	return []Row{row}, nil
}

// A holding is the memory of a held lock, and the number of keys that remain after its release.
type holding struct {
	Each  float64 // bytes of its keys, as MEMORY USAGE counts them
	Whole float64 // the growth of the server, including its tables of keys and of expiries
	Left  int64
}

func hold(ctx context.Context, name, addr string) (h holding, err error) {
	client := redis.NewClient(&redis.Options{Addr: addr})
	defer client.Close()
	l, err := rivals.New(name, addr)
	if err != nil {
		return h, err
	}
	defer l.Close()
	if err := pair(ctx, l, "first"); err != nil { // to open connections and load scripts
		return h, err
	}
	before, err := used(ctx, client)
	if err != nil {
		return h, err
	}
	var free []func(context.Context) error
	for i := range heldLocks {
		release, err := l.Acquire(ctx, fmt.Sprintf("%040d", i))
		if err != nil {
			return h, err
		}
		free = append(free, release)
	}
	after, err := used(ctx, client)
	if err != nil {
		return h, err
	}
	keys, err := weight(ctx, client)
	if err != nil {
		return h, err
	}
	for _, release := range free {
		if err := release(ctx); err != nil {
			return h, err
		}
	}
	h.Each, h.Whole = keys/heldLocks, (after-before)/heldLocks
	for range 20 { // a released key stays until 10 s after its grant
		if h.Left, err = client.DBSize(ctx).Result(); err != nil || h.Left == 0 {
			break
		}
		measure.Pause(ctx, time.Second)
	}
	return h, err
}

// weight returns the memory of all keys of the server.
func weight(ctx context.Context, client *redis.Client) (all float64, err error) {
	for cursor := uint64(0); ; {
		var keys []string
		if keys, cursor, err = client.Scan(ctx, cursor, "*", 1000).Result(); err != nil {
			return 0, err
		}
		each, err := client.Pipelined(ctx, func(p redis.Pipeliner) error {
			for _, key := range keys {
				p.MemoryUsage(ctx, key)
			}
			return nil
		})
		if err != nil {
			return 0, err
		}
		for _, bytes := range each {
			all += float64(bytes.(*redis.IntCmd).Val())
		}
		if cursor == 0 {
			return all, nil
		}
	}
}

// used returns the memory that the server uses.
func used(ctx context.Context, client *redis.Client) (float64, error) {
	info, err := client.Info(ctx, "memory").Result()
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(info) {
		if text, found := strings.CutPrefix(strings.TrimSpace(line), "used_memory:"); found {
			return strconv.ParseFloat(text, 64)
		}
	}
	return 0, fmt.Errorf("%s does not report its memory", client.Options().Addr)
}
