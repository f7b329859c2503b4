package main

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/cronce/cronce/bench/internal/measure"
	"github.com/cronce/cronce/internal/zkserver"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/zklock"
)

// zookeeperGrants is the target for a key on ZooKeeper: grants per second to waiters that do no work.
const zookeeperGrants = 1000

// zookeeper measures how fast a key on ZooKeeper changes hands, in turns with the lock of the client library.
func zookeeper(ctx context.Context, env *Env) ([]Row, error) {
	r := Row{What: "lock on ZooKeeper, 16 waiters of four clients, no work: grants/s", Reach: "≥ 1,000", OK: true}
	err := onHost(ctx, func(t testing.TB) error {
		q := &queueRun{env: env, window: either(env, 10*time.Second, 3*time.Second)}
		addr := zkserver.Start(t).Addr()
		var own, recipe []float64
		for round := range either(env, 5, 3) {
			got, err := q.onZooKeeper(ctx, addr)
			if err != nil {
				return err
			}
			beside, err := q.recipe(ctx, addr, round)
			if err != nil {
				return err
			}
			env.logf("ZooKeeper: %.0f grants/s, the lock of the client library %.0f", got, beside)
			own, recipe = append(own, got), append(recipe, beside)
		}
		grants := measure.Median(own)
		r.also(grants >= zookeeperGrants, "%.0f", grants)
		r.beside("zk.Lock of go-zookeeper/zk, without fences and trust, %.0f", measure.Median(recipe))
		return nil
	})
	return []Row{r}, err
}

// onZooKeeper counts the grants of cronce's store.
func (q *queueRun) onZooKeeper(ctx context.Context, addr string) (float64, error) {
	var ds []driver.Driver
	for range 4 {
		d, err := zklock.New([]string{addr}, zklock.Options{})
		if err != nil {
			return 0, err
		}
		defer d.Close()
		ds = append(ds, d)
	}
	return q.leases(ctx, ds, 16, 0)
}

// recipe counts the grants of the lock that the client library has.
func (q *queueRun) recipe(ctx context.Context, addr string, round int) (float64, error) {
	var conns []*zk.Conn
	for range 4 {
		c, _, err := zk.Connect([]string{addr}, 10*time.Second, zk.WithLogger(unlogged{}))
		if err != nil {
			return 0, err
		}
		defer c.Close()
		conns = append(conns, c)
	}
	path := fmt.Sprint("/recipe-", round)
	return q.rate(ctx, 16, func(_ context.Context, i int) error {
		l := zk.NewLock(conns[i%len(conns)], path, zk.WorldACL(zk.PermAll))
		if err := l.Lock(); err != nil {
			return err
		}
		return l.Unlock()
	})
}

// unlogged discards the messages of the client.
type unlogged struct{}

func (unlogged) Printf(string, ...any) {}
