package failover_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/internal/rig"
	"github.com/cronce/cronce/internal/sqlserver"
	"github.com/cronce/cronce/internal/zkserver"
	"github.com/cronce/cronce/lock/redislock"
	"github.com/cronce/cronce/lock/sqllock"
	"github.com/cronce/cronce/lock/zklock"
	"github.com/cronce/cronce/scheduler"
)

// givenBackWithin is less than the ten seconds after which a node reads its jobs again, and than the lease.
const givenBackWithin = 8 * time.Second

// The run of a node that drains is started again by another one soon, on each store, though its
// lease is long and no tick comes.
func TestGivenBackOnEachStore(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(t *testing.T) scheduler.Store{
		"Redis": func(t *testing.T) scheduler.Store {
			return newDriver(t, redis.UniversalOptions{Addrs: []string{redisserver.Start(t).Addr()}})
		},
		"PostgreSQL": func(t *testing.T) scheduler.Store {
			return onDatabase(t, sqlserver.SharedPostgres(t), sqllock.PostgreSQL)
		},
		"MariaDB": func(t *testing.T) scheduler.Store {
			return onDatabase(t, sqlserver.SharedMariaDB(t), sqllock.MySQL)
		},
		"ZooKeeper": func(t *testing.T) scheduler.Store {
			d, err := zklock.New([]string{zkserver.Start(t).Addr()}, zklock.Options{})
			must(t, err)
			t.Cleanup(func() { _ = d.Close() })
			return d
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := open(t)
			type started struct {
				node    string
				attempt int
			}
			runs, meter := make(chan started, 10), rig.NewMeter(t)
			stops, ended := map[string]context.CancelFunc{}, map[string]chan error{}
			for _, node := range []string{"a", "b"} {
				n, err := scheduler.New(scheduler.Config{Name: node, Store: store, Grace: 100 * time.Millisecond, Jobs: []scheduler.Job{{
					Name: "job", Spec: "@every 5s", Lease: 10 * time.Minute,
					Func: func(ctx context.Context, run *scheduler.Run) error {
						runs <- started{node, run.Attempt}
						<-ctx.Done()
						return ctx.Err()
					},
				}}})
				must(t, err)
				ctx, stop := context.WithCancel(context.Background())
				end := make(chan error, 1)
				go func() { end <- n.Run(ctx) }()
				t.Cleanup(stop)
				stops[node], ended[node] = stop, end
			}
			first := rig.Soon(t, runs)
			stops[first.node]()
			must(t, <-ended[first.node])
			given := time.Now()
			second := rig.Soon(t, runs)
			if took := time.Since(given); second.node == first.node || second.attempt != 2 || took > givenBackWithin+meter.Starved(given, time.Now()) {
				t.Errorf("after %+v runs %+v, %v after it was given back", first, second, took)
			} else {
				t.Logf("%v after it was given back", took)
			}
			stops[second.node]()
			must(t, <-ended[second.node])
		})
	}
}

// A drain of an idle node ends at once on a Redis that refuses claims, has an unreadable key of
// one job, or is gone.
func TestDrainOnABrokenRedis(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string]func(t *testing.T, s *redisserver.Server, admin redis.UniversalClient){
		"healthy": func(*testing.T, *redisserver.Server, redis.UniversalClient) {},
		"no right to write": func(t *testing.T, _ *redisserver.Server, admin redis.UniversalClient) {
			must(t, admin.Do(t.Context(), "acl", "setuser", "default", "-@write").Err())
		},
		"unreadable": func(t *testing.T, _ *redisserver.Server, admin redis.UniversalClient) {
			keys, err := admin.Keys(t.Context(), "*:s:b").Result()
			must(t, err)
			must(t, admin.Del(t.Context(), keys...).Err())
			must(t, admin.Set(t.Context(), keys[0], "oops", 0).Err())
		},
		"a replica": func(t *testing.T, _ *redisserver.Server, admin redis.UniversalClient) {
			must(t, admin.Do(t.Context(), "replicaof", "127.0.0.1", "1").Err())
		},
		"full": func(t *testing.T, _ *redisserver.Server, admin redis.UniversalClient) {
			must(t, admin.ConfigSet(t.Context(), "maxmemory", "1").Err())
		},
		"gone": func(_ *testing.T, s *redisserver.Server, _ redis.UniversalClient) { s.Stop() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := redisserver.Start(t)
			o := redis.UniversalOptions{Addrs: []string{s.Addr()}}
			own, commands := newClient(o), new(barrier)
			own.AddHook(commands)
			store, err := redislock.New(own, redislock.Options{})
			must(t, err)
			runs := make(chan struct{}, 100)
			jobs := []scheduler.Job{{Name: "a", Spec: "@every 1s"}, {Name: "b", Spec: "@every 1s"}}
			for i := range jobs {
				jobs[i].Func = func(context.Context, *scheduler.Run) error { runs <- struct{}{}; return nil }
			}
			n, err := scheduler.New(scheduler.Config{Name: "n", Store: store, Jobs: jobs, Grace: time.Minute, StoreTimeout: 30 * time.Second})
			must(t, err)
			ctx, stop := context.WithCancel(context.Background())
			end := make(chan error, 1)
			go func() { end <- n.Run(ctx) }()
			t.Cleanup(stop)
			rig.Soon(t, runs)
			probe, admin := newDriver(t, o), client(t, o)
			rig.Eventually(t, "no claim and no end is on its way", func() bool {
				return commands.while(func() bool {
					if !idle(t, probe, "a", "b") {
						return false
					}
					broken(t, s, admin)
					return true
				})
			})
			time.Sleep(3 * time.Second) // for claims that fail
			began := time.Now()
			stop()
			must(t, <-end)
			if took := time.Since(began); took > 10*time.Second { // a caller that waits after doubt would wait for a minute
				t.Errorf("the drain took %v", took)
			} else {
				t.Logf("%v", took)
			}
		})
	}
}

// idle reports whether each job has run, and no run of it is open.
func idle(t *testing.T, store *redislock.Driver, jobs ...string) bool {
	t.Helper()
	for _, job := range jobs {
		journal, err := store.Journal(t.Context(), job, 1)
		must(t, err)
		if len(journal.Lines) == 0 || journal.Lines[0].Outcome == "" {
			return false
		}
	}
	return true
}

// A barrier is a hook of a client whose commands wait while another function runs.
type barrier struct{ sync.RWMutex }

// while runs a function when no command is on its way, and lets new ones wait for its end.
func (h *barrier) while(f func() bool) bool {
	h.Lock()
	defer h.Unlock()
	return f()
}

// connecting marks the context of a command: the client sends further ones for it when it makes a connection.
type connecting struct{}

func (h *barrier) enter(ctx context.Context) (inner context.Context, leave func()) {
	if ctx.Value(connecting{}) != nil {
		return ctx, func() {}
	}
	h.RLock()
	return context.WithValue(ctx, connecting{}, true), h.RUnlock
}

func (h *barrier) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *barrier) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		ctx, leave := h.enter(ctx)
		defer leave()
		return next(ctx, cmd)
	}
}

func (h *barrier) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		ctx, leave := h.enter(ctx)
		defer leave()
		return next(ctx, cmds)
	}
}

// onDatabase returns a store in a new database of a server.
func onDatabase(t *testing.T, s *sqlserver.Server, dialect sqllock.Dialect) scheduler.Store {
	t.Helper()
	d, err := sqllock.New(sqlserver.Connect(t, s.Driver(), s.DSN(s.Create(t))), dialect, sqllock.Options{})
	must(t, err)
	must(t, d.CreateTables(t.Context()))
	return d
}
