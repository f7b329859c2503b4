package redlock_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/redlock"
)

// The promise does not cover this case: one of three servers has no vote for the holder, and a
// server that has one comes back without its data and votes again. A second owner gets the key
// beside the first. Its fence is higher, so the resource can distinguish them.
func TestRestartWithoutPersistence(t *testing.T) {
	t.Parallel()
	second, first, err := restarted(t)
	if err != nil {
		t.Fatalf("the second owner is refused with %v: the package promises more than it says", err)
	}
	if second.Fence <= first.Fence {
		t.Errorf("the second owner's fence is %d, the first one's %d", second.Fence, first.Fence)
	}
}

// With a log of all changes the server keeps its vote, and the second owner has to wait.
func TestRestartWithPersistence(t *testing.T) {
	t.Parallel()
	_, _, err := restarted(t, "--appendonly", "yes", "--appendfsync", "always")
	if _, held := errors.AsType[*driver.HeldError](err); !held {
		t.Errorf("the second owner is answered with %v, want a *lock.HeldError", err)
	}
}

// restarted takes a key on two of three servers, restarts one of the two, and requests the key for
// another owner.
func restarted(t *testing.T, args ...string) (second, first driver.Grant, err error) {
	var all []*redisserver.Server
	var cs []redis.UniversalClient
	for range 3 {
		s := redisserver.Start(t, args...)
		all, cs = append(all, s), append(cs, client(t, s.Addr()))
	}
	gates := gated(cs)
	d := newDriver(t, cs, redlock.Options{NodeTimeout: slow})
	gates.open(0, 1)
	first, _ = acquire(t, d, asking("key", time.Minute))
	gates.open(0, 1, 2)
	all[1].Kill()
	all[1].Restart()
	until(t, "it answers again", func() bool { return cs[1].Ping(t.Context()).Err() == nil })
	second, err = d.Acquire(t.Context(), asking("key", time.Minute))
	return second, first, err
}

// The promise does not cover this case: the clocks of two of three servers are put forward. The
// lease ends there, and a second owner gets the key. If the clocks are put back, a lease lasts
// longer. Fences grow in both cases.
func TestClockStep(t *testing.T) {
	sims, cs := simulated(t, 3, 0)
	d := newDriver(t, cs, redlock.Options{NodeTimeout: slow})
	first, h := acquire(t, d, asking("key", time.Minute))
	sims[0].wait(2 * time.Minute)
	if _, err := d.Acquire(t.Context(), asking("key", time.Minute)); err == nil {
		t.Fatal("one clock of three let a second owner in")
	}
	if _, err := d.Renew(t.Context(), h); err != nil {
		t.Fatalf("one clock of three ended the lease: %v", err)
	}
	sims[0].wait(2 * time.Minute)
	sims[1].wait(2 * time.Minute)
	second, h := acquire(t, d, asking("key", time.Minute))
	if second.Fence <= first.Fence {
		t.Errorf("the second owner's fence is %d, the first one's %d", second.Fence, first.Fence)
	}
	must(t, d.Release(t.Context(), h))
	for _, s := range sims {
		s.wait(-time.Hour)
	}
	third, _ := acquire(t, d, asking("key", time.Minute))
	if third.Fence <= second.Fence {
		t.Errorf("the clocks went back, and the fence from %d to %d", second.Fence, third.Fence)
	}
}

func TestNewRefuses(t *testing.T) {
	c := clients(t, "127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3", "127.0.0.1:4", "127.0.0.1:5", "127.0.0.1:6", "127.0.0.1:7", "127.0.0.1:8", "127.0.0.1:9")
	deaf := redis.NewClient(&redis.Options{Addr: "127.0.0.1:9"})
	sentinel := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "m", SentinelAddrs: []string{"127.0.0.1:1"}})
	cluster := redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"127.0.0.1:1"}})
	for _, bad := range []redis.UniversalClient{deaf, sentinel, cluster} {
		defer bad.Close()
	}
	for _, x := range []struct {
		name, argument string
		clients        []redis.UniversalClient
		options        redlock.Options
	}{
		{"none", "clients", nil, redlock.Options{}},
		{"one", "clients", c[:1], redlock.Options{}},
		{"two", "clients", c[:2], redlock.Options{}},
		{"four", "clients", c[:4], redlock.Options{}},
		{"six", "clients", c[:6], redlock.Options{}},
		{"nine", "clients", c[:9], redlock.Options{}},
		{"one address twice", "clients[2]", []redis.UniversalClient{c[0], c[1], c[0]}, redlock.Options{}},
		{"no client", "clients[1] is nil", []redis.UniversalClient{c[0], nil, c[1]}, redlock.Options{}},
		{"a hidden nil", "clients[1] is nil", []redis.UniversalClient{c[0], (*redis.Client)(nil), c[1]}, redlock.Options{}},
		{"ignores deadlines", "clients[1]", []redis.UniversalClient{c[0], deaf, c[1]}, redlock.Options{}},
		{"behind Sentinel", "clients[1]", []redis.UniversalClient{c[0], sentinel, c[1]}, redlock.Options{}},
		{"a Cluster", "clients[0]", []redis.UniversalClient{cluster, c[0], c[1]}, redlock.Options{}},
		{"namespace", "Options.Namespace", c[:3], redlock.Options{Namespace: "a:b"}},
		{"timeout", "Options.NodeTimeout", c[:3], redlock.Options{NodeTimeout: -1}},
		{"timeout of more than 10 s", "Options.NodeTimeout", c[:3], redlock.Options{NodeTimeout: 10*time.Second + 1}},
		{"memory", "Options.FenceMemory", c[:3], redlock.Options{FenceMemory: time.Millisecond}},
		{"memory of more than a day", "Options.FenceMemory", c[:3], redlock.Options{FenceMemory: 24*time.Hour + 1}},
	} {
		t.Run(x.name, func(t *testing.T) {
			_, err := redlock.New(x.clients, x.options)
			if e, ok := errors.AsType[*driver.ArgumentError](err); !ok || !strings.HasPrefix(e.Error(), "lock: "+x.argument) {
				t.Errorf("the error is %v, want one that names %s", err, x.argument)
			}
		})
	}
	for _, n := range []int{3, 5, 7} {
		d, err := redlock.New(c[:n], redlock.Options{})
		must(t, err)
		must(t, d.Close())
	}
}
