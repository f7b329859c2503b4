package scheduler_test

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/lock/redislock"
	"github.com/cronce/cronce/scheduler"
)

// real starts a node with a job that runs every second on a real Redis, and returns its runs and
// its log. The node ends with the test.
func real(t *testing.T, o redis.UniversalOptions, name string, change func(*scheduler.Job)) (<-chan scheduler.Run, *observer.ObservedLogs) {
	t.Helper()
	redislock.Harden(&o)
	client := redis.NewUniversalClient(&o)
	store, err := redislock.New(client, redislock.Options{})
	if err != nil {
		t.Fatal(err)
	}
	runs := make(chan scheduler.Run, 1000)
	core, logs := observer.New(zapcore.InfoLevel)
	job := scheduler.Job{Name: "job", Spec: "@every 1s", Lease: time.Second, Takeover: scheduler.TakeoverRerun,
		Func: func(_ context.Context, run *scheduler.Run) error {
			runs <- scheduler.Run{ID: run.ID, Tick: run.Tick, Fence: run.Fence, Attempt: run.Attempt}
			return nil
		}}
	change(&job)
	n, err := scheduler.New(scheduler.Config{Name: name, Store: store, Jobs: []scheduler.Job{job}, Logger: zapLogger(core), Grace: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		_ = client.Close()
	})
	return runs, logs
}

// comes waits until a condition is true.
func comes(t *testing.T, what string, true func() bool) {
	t.Helper()
	for give := time.Now().Add(2 * time.Minute); !true(); <-time.After(10 * time.Millisecond) {
		if time.Now().After(give) {
			t.Fatalf("it never came: %s", what)
		}
	}
}

// A job that requires a replica does not run while there is none, which is logged. When the replica
// is back the job continues, and no tick has run twice.
func TestJobWithReplicas(t *testing.T) {
	t.Parallel()
	master := redisserver.Start(t)
	replica := redisserver.Replica(t, master)
	runs, logs := real(t, redis.UniversalOptions{Addrs: []string{master.Addr()}}, "a", func(j *scheduler.Job) { j.Replicas = 1 })
	<-runs
	if err := syscall.Kill(replica.Pid(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	comes(t, "a claim without its replica", func() bool { return logs.FilterMessage("claim not replicated").Len() > 2 })
	for len(runs) > 0 {
		<-runs
	}
	comes(t, "another", func() bool { return logs.FilterMessage("claim not replicated").Len() > 4 })
	if n := len(runs); n > 0 {
		t.Errorf("%d runs without a replica", n)
	}
	for _, l := range logs.FilterMessage("store unreachable").All() { // a busy machine may be late to dial
		if text := fmt.Sprint(l.ContextMap()["err"]); strings.Contains(text, "replicas") {
			t.Errorf("the store, which answers, is called unreachable: %s", text)
		}
	}
	if err := syscall.Kill(replica.Pid(), syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	seen := map[time.Time]bool{}
	for range 3 {
		run := <-runs
		if seen[run.Tick] {
			t.Errorf("the tick %v ran twice", run.Tick)
		}
		seen[run.Tick] = true
	}
}
