package contend

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/lock/redislock"
	"github.com/cronce/cronce/scheduler"
)

// startCronce returns one node of cronce.
func startCronce(s Setup, node int, work Work) (func(context.Context) error, error) {
	client := Client(s.Addr)
	store, err := redislock.New(client, redislock.Options{Partitions: s.Partitions})
	if err != nil {
		return nil, err
	}
	n, err := scheduler.New(Node(s, node, store, work))
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error {
		defer client.Close()
		return n.Run(ctx)
	}, nil
}

// Client returns a Redis client like the one that the cronce binary uses.
func Client(addr string) redis.UniversalClient {
	o := &redis.UniversalOptions{Addrs: []string{addr}}
	redislock.Harden(o)
	return redis.NewUniversalClient(o)
}

// Node returns the configuration of a cronce node on a store.
func Node(s Setup, node int, store scheduler.Store, work Work) scheduler.Config {
	jobs := make([]scheduler.Job, s.Jobs)
	for j := range jobs {
		jobs[j] = scheduler.Job{Name: jobName(j), Spec: s.spec(), Func: func(_ context.Context, run *scheduler.Run) error {
			work(node, j, run.Tick)
			return nil
		}}
	}
	return scheduler.Config{
		Name: fmt.Sprintf("node-%02d", node), Store: store, Jobs: jobs, ClockOffset: s.skewOf(node), Grace: 3 * time.Second,
	}
}
