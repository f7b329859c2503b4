package soak_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/lock/redislock"
	"github.com/cronce/cronce/scheduler"
)

// settings describe a node. The test passes them in the environment variable nodeEnv.
type settings struct {
	Redis  string // its address
	Listen string // where the node reports its size
	Jobs   int    // all of them are due each second
}

// nodeEnv makes the test binary a node.
const nodeEnv = "CRONCE_SOAK_NODE"

const (
	lease     = 3 * time.Second
	jobLasts  = 5 * time.Millisecond
	namespace = "soak"
)

// A size is how much of the machine a node has.
type size struct {
	Goroutines int    `json:"goroutines"`
	Heap       uint64 `json:"heap"` // bytes in use after a collection
}

// runNode runs the node that text describes until ctx ends.
func runNode(ctx context.Context, text string) error {
	var s settings
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return fmt.Errorf("soak: settings of a node: %w", err)
	}
	client := newClient(s.Redis)
	defer client.Close()
	store, err := redislock.New(client, redislock.Options{Namespace: namespace})
	if err != nil {
		return err
	}
	node, err := scheduler.New(scheduler.Config{Namespace: namespace, Store: store, Jobs: jobs(s.Jobs), Grace: 2 * time.Second})
	if err != nil {
		return err
	}
	server := &http.Server{Addr: s.Listen, Handler: http.HandlerFunc(reportSize)}
	listening := make(chan error, 1)
	go func() { listening <- server.ListenAndServe() }()
	err = node.Run(ctx)
	_ = server.Close()
	if ended := <-listening; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, fmt.Errorf("soak: listen on %s: %w", s.Listen, ended))
	}
	return err
}

// connections are open all the time. A pool that grows in a fault would keep 64 KiB for each connection, which is no leak, and hide one.
const connections = 10

func newClient(addr string) *redis.Client {
	o := &redis.UniversalOptions{Addrs: []string{addr}, DialTimeout: time.Second, PoolSize: connections, MinIdleConns: connections}
	redislock.Harden(o)
	return redis.NewClient(o.Simple())
}

// jobs returns jobs of each policy for missed ticks, runs that overlap and dead nodes.
func jobs(n int) []scheduler.Job {
	all := make([]scheduler.Job, n)
	for i := range all {
		all[i] = scheduler.Job{Name: jobName(i), Spec: "* * * * * *", Lease: lease, Func: func(ctx context.Context, _ *scheduler.Run) error {
			select {
			case <-time.After(jobLasts):
			case <-ctx.Done():
			}
			return context.Cause(ctx)
		}}
		switch i % 4 {
		case 1:
			all[i].Misfire, all[i].Deadline = scheduler.MisfireAll, time.Minute
		case 2:
			all[i].Takeover, all[i].Attempts = scheduler.TakeoverRerun, 10
		case 3:
			all[i].Overlap = scheduler.OverlapAllow
		}
	}
	return all
}

func jobName(i int) string { return fmt.Sprintf("job%04d", i) }

func reportSize(w http.ResponseWriter, _ *http.Request) {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	_ = json.NewEncoder(w).Encode(size{Goroutines: runtime.NumGoroutine(), Heap: m.HeapAlloc})
}
