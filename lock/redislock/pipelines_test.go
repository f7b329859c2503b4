package redislock_test

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/redislock"
)

// begun counts the requests that a client was given.
type begun struct{ atomic.Int64 }

func (b *begun) DialHook(next redis.DialHook) redis.DialHook {
	return func(ctx context.Context, network, addr string) (net.Conn, error) { return next(ctx, network, addr) }
}

func (b *begun) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		b.Add(1)
		return next(ctx, cmd)
	}
}

func (b *begun) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error { return next(ctx, cmds) }
}

// While one master of a Cluster does not answer, which a request takes ten seconds
// to find out, locks of the others are answered, however many callers ask for its
// own.
func TestSilentMasterDelaysNoOther(t *testing.T) {
	t.Parallel() // it waits for the servers to meet
	servers := cluster(t)
	c := client(t, servers[0].Addr(), func(o *redis.UniversalOptions) { o.IsClusterMode = true })
	d := newDriver(t, c, redislock.Options{})
	at := make(map[string][]string) // keys by the master that has them
	for i := range 60 {
		key := fmt.Sprint("key-", i)
		master, err := c.(*redis.ClusterClient).MasterForKey(t.Context(), "cronce:v1:l:{"+key+"}")
		must(t, err)
		acquire(t, d, key, "before/1")
		at[master.Options().Addr] = append(at[master.Options().Addr], key)
	}
	var requests begun
	c.AddHook(&requests)
	must(t, syscall.Kill(servers[0].Pid(), syscall.SIGSTOP))
	defer func() { _ = syscall.Kill(servers[0].Pid(), syscall.SIGCONT) }()
	ask := func(key string) {
		_, _ = d.Acquire(t.Context(), driver.Acquisition{Key: key, Owner: "after/1", TTL: 30 * time.Second})
	}
	var silent, others sync.WaitGroup
	defer silent.Wait()
	var answered atomic.Int64
	for _, key := range at[servers[0].Addr()] {
		silent.Go(func() { ask(key); answered.Add(1) })
	}
	until(t, "requests to the silent master are under way", func() bool { return requests.Load() >= 2 })
	for _, key := range at[servers[1].Addr()] {
		others.Go(func() { ask(key) })
	}
	others.Wait()
	if n := answered.Load(); n > 0 {
		t.Errorf("the locks of another master were answered after %d of the silent one", n)
	}
	must(t, syscall.Kill(servers[0].Pid(), syscall.SIGCONT))
}
