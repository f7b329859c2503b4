package failover_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/lock/redislock"
	"github.com/cronce/cronce/scheduler"
)

// node starts a node with a job that runs every second and reports its runs. It
// ends with the test.
func node(t *testing.T, o redis.UniversalOptions, name string, runs chan<- scheduler.Run) {
	t.Helper()
	c := newClient(o)
	store, err := redislock.New(c, redislock.Options{})
	must(t, err)
	n, err := scheduler.New(scheduler.Config{Name: name, Store: store, Grace: time.Second, Jobs: []scheduler.Job{{
		Name: jobName, Spec: "@every 1s", Lease: 5 * time.Second, Takeover: scheduler.TakeoverRerun,
		Func: func(_ context.Context, run *scheduler.Run) error {
			runs <- scheduler.Run{Tick: run.Tick, Fence: run.Fence, Attempt: run.Attempt}
			return nil
		},
	}}})
	must(t, err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- n.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		_ = c.Close()
	})
}

// The master that has the claims is killed while two nodes run a job every second;
// its replica had all of them. The nodes go on with the replica: no tick has two
// first attempts, and fences grow.
func TestKilledUnderClaims(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(*testing.T) *topology{"by Sentinel": bySentinel, "in a Cluster": inCluster} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := start(t)
			runs := make(chan scheduler.Run, 1000)
			node(t, at.before, "a", runs)
			node(t, at.before, "b", runs)
			s := seen{t: t, ticks: map[time.Time]bool{}}
			s.take(runs, 3)
			at.still(t)
			at.promote()
			s.take(runs, 3)
			becomes(t, "the replica is the master", func() bool { return role(t, at.replica) == "master" })
		})
	}
}

// seen are the runs so far.
type seen struct {
	t     *testing.T
	ticks map[time.Time]bool // of first attempts
	fence int64
}

// take takes so many more runs and looks at them.
func (s *seen) take(runs <-chan scheduler.Run, n int) {
	s.t.Helper()
	for range n {
		select {
		case r := <-runs:
			if r.Attempt == 1 && s.ticks[r.Tick] {
				s.t.Errorf("the tick %v ran twice", r.Tick)
			}
			if r.Fence <= s.fence {
				s.t.Errorf("the fence is %d after %d", r.Fence, s.fence)
			}
			s.ticks[r.Tick], s.fence = true, r.Fence
		case <-time.After(2 * time.Minute):
			s.t.Fatal("no run comes")
		}
	}
}
