package contend

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/robfig/cron/v3"
)

// lockTTL is how long the peers' locks outlive a process that died.
const lockTTL = 30 * time.Second

// startRecipe returns one node of the usual recipe: robfig/cron fires, SET NX PX on the job's name,
// run, DEL.
func startRecipe(s Setup, node int, work Work) (func(context.Context) error, error) {
	spec, err := cron.NewParser(cron.Second | cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow | cron.Descriptor).Parse(s.spec())
	if err != nil {
		return nil, err
	}
	client := s.usual()
	c := cron.New(cron.WithLocation(time.UTC))
	for j := range s.Jobs {
		own := &skewed{spec: spec, skew: s.skewOf(node)}
		c.Schedule(own, cron.FuncJob(func() {
			tick := own.tick()
			locked(client, jobName(j), func() { work(node, j, tick) })
		}))
	}
	return func(ctx context.Context) error {
		defer client.Close()
		c.Start()
		<-ctx.Done()
		<-c.Stop().Done()
		return nil
	}, nil
}

// locked is the recipe itself. An error counts as "another node has it", as in the usual code.
func locked(client *redis.Client, name string, run func()) {
	ctx := context.Background()
	if won, err := client.SetNX(ctx, "lock:"+name, 1, lockTTL).Result(); err != nil || !won {
		return
	}
	run()
	_ = client.Del(ctx, "lock:"+name).Err()
}

// A skewed is the schedule of a node whose clock is wrong. It records the instants that it
// returned, because robfig/cron does not pass its tick to a job.
type skewed struct {
	spec  cron.Schedule
	skew  time.Duration
	fired atomic.Int64

	mu    sync.Mutex
	named []time.Time
}

// Next returns the next instant on the true clock.
func (s *skewed) Next(t time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := s.spec.Next(t.Add(s.skew))
	s.named = append(s.named, next)
	return next.Add(-s.skew)
}

// tick returns the instant of this run: the k-th run belongs to the k-th instant.
func (s *skewed) tick() time.Time {
	k := int(s.fired.Add(1)) - 1
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.named[k]
}
