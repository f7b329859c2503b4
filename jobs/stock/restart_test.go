package stock_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/internal/rig"
	"github.com/cronce/cronce/internal/sqlserver"
	"github.com/cronce/cronce/jobs/stock"
)

// Everything is killed in the middle of the sale, the store, the database and all
// processes, and comes back: no order is lost that a buyer saw accepted.
func TestRestartOfEverything(t *testing.T) {
	always := []string{"--appendonly", "yes", "--appendfsync", "always"}
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		c := setup{Driver: "sqlite", DSN: sqliteDSN(filepath.Join(t.TempDir(), "db")), Dialect: stock.SQLite}
		restart(t, c, redisserver.Start(t, always...), nil)
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		postgres := sqlserver.Postgres(t)
		c := setup{Driver: postgres.Driver(), DSN: postgres.DSN(postgres.Create(t)), Dialect: stock.PostgreSQL}
		restart(t, c, redisserver.Start(t, always...), postgres)
	})
}

func restart(t *testing.T, c setup, server *redisserver.Server, postgres *sqlserver.Server) {
	c.Redis, c.Hold = server.Addr(), 2*time.Second
	m := newMarket(t, c, 2)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	skus := []string{"cup", "tea"}
	for _, sku := range skus {
		m.put(ctx, sku, 1000)
	}
	stop := make(chan struct{})
	var buyers sync.WaitGroup
	for i := range 6 {
		buyers.Go(func() { m.buy(ctx, fmt.Sprintf("b%d", i), skus, stop) })
	}
	m.await("orders before", 50)
	for _, p := range m.members {
		_ = p.cmd.Process.Kill()
	}
	server.Kill()
	if postgres != nil {
		postgres.Kill()
		postgres.Restart()
	}
	server.Restart()
	for i, p := range m.members {
		<-p.gone
		m.start(i)
	}
	m.await("orders after", 50)
	close(stop)
	buyers.Wait()
	direct := connect(t, server.Addr())
	m.calm(direct)
	m.judge(direct, skus)
}

// await waits until n more orders were accepted.
func (m *market) await(what string, n int) {
	m.t.Helper()
	m.mu.Lock()
	n += len(m.accepted)
	m.mu.Unlock()
	await(m.t, what, func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		return len(m.accepted) >= n
	})
}

// What an accepted order is worth: the server is killed and comes back, or it
// fails over to a replica that had stopped listening. With everysec a server writes
// its file before it answers, but not while a sync is under way: then the answer
// goes first, for up to two seconds.
func TestWhatAcceptedMeans(t *testing.T) {
	for _, c := range []struct {
		name     string
		args     []string
		failover bool
		deaf     bool // the replica does not listen while the order is placed
		replicas int
		refused  error // the buyer's reply instead of accepted
		kept     bool
		either   bool // it depends on the moment
	}{
		{name: "killed without persistence"},
		{name: "killed with everysec", args: []string{"--appendonly", "yes", "--appendfsync", "everysec"}, either: true},
		{name: "killed with always", args: []string{"--appendonly", "yes", "--appendfsync", "always"}, kept: true},
		{name: "failover, no client waited", failover: true, deaf: true},
		{name: "failover, replica asked, deaf", failover: true, deaf: true, replicas: 1, refused: stock.ErrUnconfirmed},
		{name: "failover, replica asked", failover: true, replicas: 1, kept: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			server := redisserver.Start(t, c.args...)
			survivor, link := server, rig.NewProxy(t, server.Addr())
			if c.failover {
				survivor = replica(t, link.Addr())
			}
			s := newSale(t, connect(t, server.Addr()), stock.Options{Replicas: c.replicas, ReplicaTimeout: 2 * time.Second})
			put(t, newSale(t, connect(t, server.Addr()), stock.Options{}), "tea", 5)
			if c.failover {
				await(t, "the replica has the product", func() bool {
					p, err := newSale(t, connect(t, survivor.Addr()), stock.Options{}).Product(t.Context(), "tea")
					return err == nil && p.Put == 5
				})
			}
			if c.deaf {
				link.Set(rig.Faults{Hole: true})
				s = newSale(t, connect(t, server.Addr()), stock.Options{Replicas: c.replicas, ReplicaTimeout: 50 * time.Millisecond})
			}
			var err error
			await(t, "the buyer gets the reply that it must", func() bool { // a busy replica may take its time
				_, _, err = s.Reserve(t.Context(), order("o"))
				return errors.Is(err, c.refused)
			})
			server.Kill()
			if c.failover {
				promote(t, survivor)
			} else {
				server.Restart()
			}
			_, err = newSale(t, connect(t, survivor.Addr()), stock.Options{}).Order(t.Context(), "o")
			if kept := err == nil; kept != c.kept && !c.either || err != nil && !errors.Is(err, stock.ErrUnknownOrder) {
				t.Errorf("afterwards: %v, want it kept: %v", err, c.kept)
			}
		})
	}
}

// replica starts a replica that has caught up.
func replica(t *testing.T, of string) *redisserver.Server {
	t.Helper()
	host, port, err := net.SplitHostPort(of)
	if err != nil {
		t.Fatal(err)
	}
	r := redisserver.Start(t, "--replicaof", host, port, "--repl-diskless-sync-delay", "0")
	client := redis.NewClient(&redis.Options{Addr: r.Addr()})
	defer client.Close()
	await(t, "the replica has caught up", func() bool {
		info, err := client.InfoMap(t.Context(), "replication").Result()
		return err == nil && info["Replication"]["master_link_status"] == "up"
	})
	return r
}

func promote(t *testing.T, s *redisserver.Server) {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: s.Addr()})
	defer client.Close()
	await(t, "the replica is promoted", func() bool {
		return client.Do(t.Context(), "REPLICAOF", "NO", "ONE").Err() == nil
	})
}
