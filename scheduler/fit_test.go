package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/redislock"
	"github.com/cronce/cronce/scheduler"
)

// A fitting store answers its check as the test wants.
type fitting struct {
	*wire
	answer func(context.Context) ([]driver.Risk, error)
	asked  atomic.Int64
}

func (f *fitting) CheckStore(ctx context.Context) ([]driver.Risk, error) {
	f.asked.Add(1)
	return f.answer(ctx)
}

// fitted starts a node on a store with this answer.
func fitted(t *testing.T, answer func(context.Context) ([]driver.Risk, error)) (*world, *node, *fitting) {
	c := plan(t, scheduler.Job{Name: "a", Spec: "@every 1s", Func: nothing})
	store := &fitting{answer: answer}
	c.setup = func(_ int, cfg *scheduler.Config) {
		store.wire = cfg.Store.(*wire)
		cfg.Store = store
	}
	return c, c.start(), store
}

// A store that is unfit ends the node at once, before any claim.
func TestUnfitStore(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, n, store := fitted(t, func(context.Context) ([]driver.Risk, error) {
			return nil, fmt.Errorf("it evicts keys: %w", lock.ErrUnfit)
		})
		began := time.Now()
		<-n.ended
		if !errors.Is(n.err, lock.ErrUnfit) || !strings.Contains(n.err.Error(), "it evicts keys") {
			t.Errorf("run: %v", n.err)
		}
		if took := time.Since(began); took > 0 || store.asked.Load() != 1 {
			t.Errorf("the node asked %d times and needed %v to end", store.asked.Load(), took)
		}
		if keys, err := c.store.Keys(t.Context()); len(keys) > 0 || err != nil {
			t.Errorf("opened: %q, %v", keys, err)
		}
		if n.Ready() == nil {
			t.Error("ready")
		}
		c.wantLogged(0, "store unreachable")
		c.wantLogged(1, "node stopped")
		c.jobs = nil // no node is to decide their ticks
	})
}

// Risks are logged once, and do not keep the node from running.
func TestStoreRisks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, _, store := fitted(t, func(context.Context) ([]driver.Risk, error) {
			return []driver.Risk{
				{Topic: "eviction", Server: "redis:6379", Text: "it evicts keys", Fix: "let it not"},
				{Topic: "persistence", Server: "redis:6379", Text: "it forgets", Fix: "let it write"},
			}, nil
		})
		c.pass(time.Minute)
		c.wantLogged(2, "store risk")
		c.wantLogged(1, "store risk", "topic", "eviction", "server", "redis:6379", "text", "it evicts keys", "fix", "let it not")
		c.wantLogged(0, "store back")
		if runs := len(c.ran("a")); runs < 59 || store.asked.Load() != 1 {
			t.Errorf("%d runs, asked %d times", runs, store.asked.Load())
		}
	})
}

// A store that does not answer is checked again at growing intervals. Until it answers nothing runs
// and the node is not ready; the log has each of the two states once.
func TestStoreAnswersLate(t *testing.T) {
	bubble(t, func(t *testing.T) {
		began := time.Now()
		c, n, store := fitted(t, func(ctx context.Context) ([]driver.Risk, error) {
			switch since := time.Since(began); {
			case since > 2*time.Minute:
				return nil, nil
			case since > time.Minute: // silence, in place of an error
				<-ctx.Done()
			}
			return nil, errReset
		})
		for range 11 {
			c.pass(10 * time.Second)
			if n.Ready() == nil {
				t.Errorf("ready after %v", time.Since(began))
			}
		}
		c.wantLogged(2, "store unreachable") // at once, and after a minute
		c.wantLogged(0, "store back")
		if keys, _ := c.store.Keys(t.Context()); len(keys) > 0 {
			t.Errorf("opened: %q", keys)
		}
		if asked := store.asked.Load(); asked < 20 || asked > 60 {
			t.Errorf("asked %d times in two minutes", asked)
		}
		c.pass(30 * time.Second)
		c.wantLogged(1, "store back")
		if err := n.Ready(); err != nil || len(c.ran("a")) == 0 {
			t.Errorf("ready: %v, %d runs", err, len(c.ran("a")))
		}
	})
}

// A node that still waits for the answer ends when it is stopped, even if the store ignores
// contexts.
func TestDrainBeforeStoreAnswers(t *testing.T) {
	for name, answer := range map[string]func(context.Context) ([]driver.Risk, error){
		"deaf": func(context.Context) ([]driver.Risk, error) {
			time.Sleep(5 * time.Minute)
			return nil, nil
		},
		"between two questions": func(context.Context) ([]driver.Risk, error) { return nil, errReset },
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c, n, _ := fitted(t, answer)
				c.pass(3100 * time.Millisecond)
				asked := time.Now()
				if err := n.drain(); err != nil || time.Since(asked) > 0 {
					t.Errorf("%v after %v", err, time.Since(asked))
				}
				if keys, _ := c.store.Keys(t.Context()); len(keys) > 0 {
					t.Errorf("opened: %q", keys)
				}
			})
		})
	}
}

// A named store has a namespace.
type named struct{ *wire }

func (named) Namespace() string { return "shop" }

// Run ids begin with the namespace of the configuration, or else with the store's.
func TestNamespaceOfRuns(t *testing.T) {
	for want, c := range map[string]struct {
		configured string
		named      bool
	}{"cronce/a@": {}, "shop/a@": {named: true}, "own/a@": {configured: "own", named: true}} {
		t.Run(want, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				w := plan(t, scheduler.Job{Name: "a", Spec: "@every 1s", Func: nothing})
				w.setup = func(_ int, cfg *scheduler.Config) {
					cfg.Namespace = c.configured
					if c.named {
						cfg.Store = named{cfg.Store.(*wire)}
					}
				}
				w.start()
				w.pass(2500 * time.Millisecond)
				if runs := w.ran("a"); len(runs) == 0 || !strings.HasPrefix(runs[0].ID, want) {
					t.Errorf("%d runs, want ids that begin with %s", len(runs), want)
				}
			})
		})
	}
}

// onRedis runs a node on a real Redis with a client that has exactly these options.
func onRedis(t *testing.T, client *redis.Options, o redislock.Options) (*observer.ObservedLogs, <-chan error) {
	t.Helper()
	c := redis.NewClient(client)
	store, err := redislock.New(c, o)
	if err != nil {
		t.Fatal(err)
	}
	core, logs := observer.New(zapcore.InfoLevel)
	n, err := scheduler.New(scheduler.Config{Name: "a", Store: store, Logger: zapLogger(core),
		Jobs: []scheduler.Job{{Name: "job", Spec: "@every 1s", Func: nothing}}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		defer c.Close()
		ended <- n.Run(ctx)
		close(ended)
	}()
	t.Cleanup(func() {
		stop()
		for range ended { // closed after Run returned
		}
	})
	return logs, ended
}

// On real servers: a fault that would break the promise ends Run with an error that has the repair,
// and leaves no data behind.
func TestUnfitRedis(t *testing.T) {
	t.Parallel()
	fit := redisserver.Start(t, "--appendonly", "yes")
	evicting := redisserver.Start(t, "--appendonly", "yes", "--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru")
	replica := redisserver.Replica(t, fit)
	hardened := func(addr string) *redis.Options {
		return &redis.Options{Addr: addr, MaxRetries: -1, ContextTimeoutEnabled: true}
	}
	for name, c := range map[string]struct {
		client *redis.Options
		want   []string
	}{
		"a client's own defaults": {&redis.Options{Addr: fit.Addr()}, []string{"redislock.Harden", "set MaxRetries to -1", "set ContextTimeoutEnabled to true"}},
		"a server that evicts":    {hardened(evicting.Addr()), []string{"allkeys-lru", "set maxmemory-policy to noeviction"}},
		"a replica":               {hardened(replica.Addr()), []string{"replica of", "connect to the master"}},
	} {
		t.Run(name, func(t *testing.T) {
			logs, ended := onRedis(t, c.client, redislock.Options{})
			err := <-ended
			if !errors.Is(err, lock.ErrUnfit) {
				t.Fatalf("run: %v", err)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v does not say %q", err, want)
				}
			}
			if n := logs.FilterMessage("run started").Len(); n > 0 {
				t.Errorf("%d runs", n)
			}
			admin := redis.NewClient(c.client)
			defer admin.Close()
			if keys := admin.Keys(t.Context(), "*"); keys.Err() != nil || len(keys.Val()) > 0 {
				t.Errorf("keys %v", keys)
			}
		})
	}
}

// A configuration that allows eviction gets a warning, and the node runs.
func TestAllowedEviction(t *testing.T) {
	t.Parallel()
	s := redisserver.Start(t, "--appendonly", "yes", "--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru")
	logs, _ := onRedis(t, &redis.Options{Addr: s.Addr(), MaxRetries: -1, ContextTimeoutEnabled: true},
		redislock.Options{Check: redislock.CheckOptions{AllowEviction: true}})
	comes(t, "a run", func() bool { return logs.FilterMessage("run started").Len() > 0 })
	risks := logs.FilterMessage("store risk").All()
	if len(risks) != 1 || risks[0].ContextMap()["topic"] != "eviction" {
		t.Errorf("risks: %v", risks)
	}
}

// Nodes of one namespace that lay it out differently do not run at the same time.
func TestLayoutsOfNodes(t *testing.T) {
	t.Parallel()
	s := redisserver.Start(t)
	client := &redis.Options{Addr: s.Addr(), MaxRetries: -1, ContextTimeoutEnabled: true}
	logs, _ := onRedis(t, client, redislock.Options{})
	comes(t, "a run", func() bool { return logs.FilterMessage("run started").Len() > 0 })
	_, ended := onRedis(t, client, redislock.Options{Partitions: 2})
	if err := <-ended; !errors.Is(err, lock.ErrUnfit) || !strings.Contains(err.Error(), "same options") {
		t.Errorf("run: %v", err)
	}
}
