package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"github.com/cronce/cronce/bench/internal/hole"
	"github.com/cronce/cronce/bench/internal/measure"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/redislock"
)

const (
	silentTTL    = 3 * time.Second
	silentAtOnce = 10
)

// A ward is one holder whose network is about to be cut, and one waiter.
type ward struct {
	hold  func(ctx context.Context, key string) (context.Context, error) // through the network that is cut
	wait  func(ctx context.Context, key string) error
	close func()
}

// silent cuts the network of holders without closing connections, and compares the times at which
// each holder learns of it and another owner is granted the key. A library that never notifies a
// holder is not compared.
func silent(ctx context.Context, env *Env) ([]Row, error) {
	rounds := either(env, 50, silentAtOnce)
	found := map[string][]time.Duration{}
	for name, open := range map[string]func(addr string, cut *hole.Hole) (*ward, error){"cronce": wardOurs, "rueidislock": wardRueidis} {
		after, err := onServer(ctx, func(addr string) ([]time.Duration, error) { return cutAll(ctx, rounds, addr, open) })
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		env.logf("%s: contexts ended after the next grant by %v", name, after)
		found[name] = after
	}
	ours, theirs := inTime(found["cronce"]), inTime(found["rueidislock"])
	return []Row{{
		What: "the holder's network goes silently, lease 3 s", Reach: "context ended before another client can be granted, 50 of 50",
		Measured: fmt.Sprintf("%d of %d, %s before it in the median, %s at least", ours, rounds, ms(-measure.Median(found["cronce"])), ms(-slices.Max(found["cronce"]))),
		Peer:     fmt.Sprintf("rueidislock %d of %d, up to %s after it; redsync and bsm/redislock tell nothing", theirs, rounds, ms(slices.Max(found["rueidislock"]))),
		OK:       ours == rounds,
	}}, nil
}

// inTime counts the holders that learned of it before the grant.
func inTime(after []time.Duration) (n int) {
	for _, d := range after {
		if d <= 0 {
			n++
		}
	}
	return n
}

func cutAll(ctx context.Context, rounds int, addr string, open func(string, *hole.Hole) (*ward, error)) ([]time.Duration, error) {
	after, errs := make([]time.Duration, rounds), make([]error, rounds)
	for first := 0; first < rounds; first += silentAtOnce {
		var wg sync.WaitGroup
		for i := first; i < min(first+silentAtOnce, rounds); i++ {
			wg.Go(func() { after[i], errs[i] = cutOne(ctx, addr, fmt.Sprintf("ward-%d", i), open) })
		}
		wg.Wait()
	}
	return after, errors.Join(errs...)
}

// cutOne returns how long after the next grant a holder's context ended, negative if it ended
// before.
func cutOne(ctx context.Context, addr, key string, open func(string, *hole.Hole) (*ward, error)) (time.Duration, error) {
	ctx, stop := context.WithTimeout(ctx, time.Minute)
	defer stop()
	network := hole.New()
	w, err := open(addr, network)
	if err != nil {
		return 0, err
	}
	defer w.close()
	held, err := w.hold(ctx, key)
	if err != nil {
		return 0, err
	}
	ended := make(chan time.Time, 1)
	context.AfterFunc(held, func() { ended <- time.Now() })
	measure.Pause(ctx, rand.N(silentTTL)) // at any point between two renewals
	network.Cut()
	if err := w.wait(ctx, key); err != nil {
		return 0, err
	}
	granted := time.Now()
	select {
	case at := <-ended:
		return at.Sub(granted), nil
	case <-ctx.Done():
		return 0, fmt.Errorf("the holder of %s never learned of it", key)
	}
}

func wardOurs(addr string, network *hole.Hole) (*ward, error) {
	client := func(dial func(context.Context, string, string) (net.Conn, error)) (redis.UniversalClient, *lock.Locker, error) {
		o := &redis.UniversalOptions{Addrs: []string{addr}, Dialer: dial}
		redislock.Harden(o)
		c := redis.NewUniversalClient(o)
		store, err := redislock.New(c, redislock.Options{})
		return c, lock.New(store, ""), err
	}
	c1, holder, err1 := client(network.Dial)
	c2, waiter, err2 := client(nil)
	return &ward{
		hold: func(ctx context.Context, key string) (context.Context, error) {
			lease, err := holder.Acquire(ctx, key, lock.Options{TTL: silentTTL})
			if err != nil {
				return nil, err
			}
			return lease.Context(), nil
		},
		wait: func(ctx context.Context, key string) error {
			_, err := waiter.Acquire(ctx, key, lock.Options{TTL: silentTTL})
			return err
		},
		close: func() { _, _ = c1.Close(), c2.Close() },
	}, errors.Join(err1, err2)
}

func wardRueidis(addr string, network *hole.Hole) (*ward, error) {
	locker := func(dial func(context.Context, string, *net.Dialer, *tls.Config) (net.Conn, error)) (rueidislock.Locker, error) {
		return rueidislock.NewLocker(rueidislock.LockerOption{
			ClientOption: rueidis.ClientOption{InitAddress: []string{addr}, DialCtxFn: dial},
			KeyMajority:  1, KeyValidity: silentTTL, ExtendInterval: silentTTL / 3,
		})
	}
	holder, err1 := locker(func(ctx context.Context, addr string, _ *net.Dialer, _ *tls.Config) (net.Conn, error) {
		return network.Dial(ctx, "tcp", addr)
	})
	waiter, err2 := locker(nil)
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	return &ward{
		hold: func(ctx context.Context, key string) (context.Context, error) {
			held, _, err := holder.WithContext(ctx, key)
			return held, err
		},
		wait: func(ctx context.Context, key string) error {
			_, _, err := waiter.WithContext(ctx, key)
			return err
		},
		close: func() { holder.Close(); waiter.Close() },
	}, nil
}
