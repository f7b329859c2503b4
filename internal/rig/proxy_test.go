package rig_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/internal/rig"
)

// Each fault has its documented effect on a client: a request whose reply was lost was executed, and a
// lost request was not.
func TestProxy(t *testing.T) {
	s := redisserver.Start(t)
	direct := redis.NewClient(&redis.Options{Addr: s.Addr()})
	defer direct.Close()
	for name, c := range map[string]struct {
		faults   rig.Faults
		answered bool
		executed int64
		atLeast  time.Duration
	}{
		"none":    {rig.Faults{}, true, 1, 0},
		"swallow": {rig.Faults{Swallow: 1}, false, 1, time.Second},
		"cut":     {rig.Faults{Cut: 1}, false, 1, 0},
		"delay":   {rig.Faults{Delay: 1, DelayFor: 100 * time.Millisecond}, true, 1, 200 * time.Millisecond},
		"hole":    {rig.Faults{Hole: true}, false, 0, time.Second},
		"refuse":  {rig.Faults{Refuse: true}, false, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			p := rig.NewProxy(t, s.Addr())
			client := redis.NewClient(&redis.Options{Addr: p.Addr(), MaxRetries: -1, DialerRetries: 1, ReadTimeout: time.Second, ContextTimeoutEnabled: true})
			defer client.Close()
			ctx := context.Background()
			if err := client.Ping(ctx).Err(); err != nil { // the connection is made before the fault
				t.Fatal(err)
			}
			p.Set(c.faults)
			before := time.Now()
			err := client.Incr(ctx, name).Err()
			if took := time.Since(before); (err == nil) != c.answered || took < c.atLeast {
				t.Errorf("answered with %v after %v, want an answer: %v, after at least %v", err, took, c.answered, c.atLeast)
			}
			if n, _ := direct.Get(ctx, name).Int64(); n != c.executed {
				t.Errorf("executed %d times, want %d", n, c.executed)
			}
			p.Set(rig.Faults{})
			if err := client.Ping(ctx).Err(); err != nil {
				if err = client.Ping(ctx).Err(); err != nil { // the broken connection is gone now
					t.Errorf("after the fault: %v", err)
				}
			}
		})
	}
}

// Every n-th reply is lost, the others arrive.
func TestProxyCounts(t *testing.T) {
	s := redisserver.Start(t)
	p := rig.NewProxy(t, s.Addr())
	client := redis.NewClient(&redis.Options{Addr: p.Addr(), MaxRetries: -1, PoolSize: 1})
	defer client.Close()
	p.Set(rig.Faults{Cut: 5})
	failed := 0
	for range 100 {
		if client.Ping(context.Background()).Err() != nil {
			failed++
		}
	}
	if failed < 15 || failed > 40 || failed > p.Lost() {
		t.Errorf("%d of 100 requests failed, %d replies were lost, want every fifth with those of new connections", failed, p.Lost())
	}
}
