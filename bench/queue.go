package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/cronce/cronce/bench/internal/measure"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/sqllock"
)

// The targets for the queue of a key in a database.
const (
	queueSlower = 1.3 // times the duration with SELECT ... FOR UPDATE, at most
	queueLooks  = 1   // statements per second of an idle waiter, at most
	queueWork   = 2 * time.Millisecond
)

// queue measures how fast a key in PostgreSQL, with its default durability, changes hands, and the
// cost of waiting for it.
func queue(ctx context.Context, env *Env) (rows []Row, err error) {
	err = onHost(ctx, func(t testing.TB) (err error) {
		server := durablePostgres(t)
		q := &queueRun{env: env, dsn: server.DSN(server.Create(t)), window: either(env, 10*time.Second, 4*time.Second)}
		rows, err = q.measure(ctx)
		return err
	})
	return rows, err
}

func (q *queueRun) measure(ctx context.Context) ([]Row, error) {
	if err := q.prepare(ctx); err != nil {
		return nil, err
	}
	hands := Row{What: "lock in PostgreSQL, 16 waiters, 2 ms of work: grants/s", OK: true,
		Reach: "at most 1.3 × slower than SELECT … FOR UPDATE, in one process and in four"}
	for range either(q.env, 3, 1) {
		if err := q.compare(ctx, &hands); err != nil {
			return nil, err
		}
	}
	crowds, err := q.crowds(ctx)
	if err != nil {
		return nil, err
	}
	costs, err := q.costs(ctx)
	return []Row{hands, crowds, costs}, err
}

// A queueRun is one measurement on one server.
type queueRun struct {
	env    *Env
	dsn    string
	window time.Duration
	keys   int
	sent   statements
}

// statements counts statements where they are sent: the server's own count is seconds late.
type statements struct{ atomic.Int64 }

// TraceQueryStart counts a statement.
func (s *statements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	s.Add(1)
	return ctx
}

// TraceQueryEnd does nothing.
func (s *statements) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

func (q *queueRun) connect() (*sql.DB, error) {
	config, err := pgx.ParseConfig(q.dsn)
	if err != nil {
		return nil, err
	}
	config.Tracer = &q.sent
	db := stdlib.OpenDB(*config)
	db.SetMaxOpenConns(20)
	db.SetMaxIdleConns(20)
	return db, nil
}

func (q *queueRun) prepare(ctx context.Context) error {
	db, err := q.connect()
	if err != nil {
		return err
	}
	defer db.Close()
	d, err := sqllock.New(db, sqllock.PostgreSQL, sqllock.Options{})
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, "CREATE TABLE stock (n INT); INSERT INTO stock VALUES (0)")
	return errors.Join(err, d.CreateTables(ctx))
}

// drivers returns drivers that are different processes for the database.
func (q *queueRun) drivers(n int, listens bool) (all []driver.Driver, stop func(), err error) {
	var dbs []*sql.DB
	stop = func() {
		for _, db := range dbs {
			_ = db.Close()
		}
	}
	for range n {
		db, err := q.connect()
		if err != nil {
			return nil, stop, err
		}
		dbs = append(dbs, db)
		var o sqllock.Options
		if listens {
			o.Listen = listener(db)
		}
		d, err := sqllock.New(db, sqllock.PostgreSQL, o)
		if err != nil {
			return nil, stop, err
		}
		all = append(all, d)
	}
	return all, stop, nil
}

// listener listens on a connection of the pool.
func listener(db *sql.DB) sqllock.Listener {
	return func(ctx context.Context, channel string, received func(string)) error {
		conn, err := db.Conn(ctx)
		if err != nil {
			return err
		}
		defer conn.Close()
		return conn.Raw(func(c any) error {
			pg := c.(*stdlib.Conn).Conn()
			if _, err := pg.Exec(ctx, "LISTEN "+channel); err != nil {
				return err
			}
			received("")
			for {
				n, err := pg.WaitForNotification(ctx)
				if err != nil {
					return err
				}
				received(n.Payload)
			}
		})
	}
}

// compare lets 16 workers take turns in each way.
func (q *queueRun) compare(ctx context.Context, r *Row) error {
	db, err := q.connect()
	if err != nil {
		return err
	}
	defer db.Close()
	rows, err := q.rate(ctx, 16, func(ctx context.Context, _ int) error { return forUpdate(ctx, db) })
	if err != nil {
		return err
	}
	r.beside("SELECT … FOR UPDATE %.0f", rows)
	for _, way := range []struct {
		name      string
		processes int
		listens   bool
	}{{"one process", 1, false}, {"four, LISTEN", 4, true}, {"four, looking", 4, false}} {
		ds, stop, err := q.drivers(way.processes, way.listens)
		if err != nil {
			return err
		}
		got, err := q.leases(ctx, ds, 16, queueWork)
		stop()
		if err != nil {
			return err
		}
		q.env.logf("%s: %.0f grants/s, FOR UPDATE %.0f", way.name, got, rows)
		r.also(way.name == "four, looking" || rows/got <= queueSlower, "%s %.0f (%.2f ×)", way.name, got, rows/got)
	}
	return nil
}

// forUpdate works while it holds the lock of a row.
func forUpdate(ctx context.Context, db *sql.DB) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	var n int
	if err := tx.QueryRowContext(ctx, "SELECT n FROM stock FOR UPDATE").Scan(&n); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	measure.Pause(ctx, queueWork)
	return tx.Commit()
}

// leases lets waiters, spread over the drivers, take turns on a new key, once all of them are in
// the queue. Each works for a while when it holds the key.
func (q *queueRun) leases(ctx context.Context, ds []driver.Driver, waiters int, work time.Duration) (float64, error) {
	q.keys++
	key := fmt.Sprint("key ", q.keys)
	first := driver.Acquisition{Key: key, Owner: "first/" + key, TTL: time.Minute}
	g, err := ds[0].Acquire(ctx, first)
	if err != nil {
		return 0, err
	}
	go func() {
		for at := (driver.KeyState{}); at.Waiting < waiters && ctx.Err() == nil; measure.Pause(ctx, 20*time.Millisecond) {
			at, _ = ds[0].(driver.Inspector).Inspect(ctx, key) // an error is retried
		}
		_ = ds[0].Release(ctx, driver.LeaseRef{Key: key, Owner: first.Owner, Fence: g.Fence}) // an error shows in the count
	}()
	var turn atomic.Int64
	return q.rate(ctx, waiters, func(ctx context.Context, i int) error {
		a := driver.Acquisition{Key: key, Owner: fmt.Sprint("w/", i, "/", turn.Add(1)), TTL: time.Minute}
		d := ds[i%len(ds)]
		g, err := d.(driver.Waiter).Wait(ctx, a)
		if err != nil {
			return err
		}
		measure.Pause(ctx, work)
		return d.Release(context.WithoutCancel(ctx), driver.LeaseRef{Key: key, Owner: a.Owner, Fence: g.Fence})
	})
}

// rate returns how often per second the workers called do, counted from the first call.
func (q *queueRun) rate(ctx context.Context, workers int, do func(ctx context.Context, i int) error) (float64, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var done atomic.Int64
	var once sync.Once
	begun := make(chan struct{})
	var wg sync.WaitGroup
	failures := make(chan error, workers)
	for i := range workers {
		wg.Go(func() {
			for ctx.Err() == nil {
				err := do(ctx, i)
				if err != nil && ctx.Err() == nil {
					failures <- err
					stop()
					return
				}
				once.Do(func() { close(begun) })
				done.Add(1)
			}
		})
	}
	select {
	case <-begun:
	case <-ctx.Done():
	}
	from := done.Load()
	measure.Pause(ctx, q.window)
	counted := done.Load() - from
	stop()
	wg.Wait()
	select {
	case err := <-failures:
		return 0, err
	default:
		return float64(counted) / q.window.Seconds(), nil
	}
}

// crowds compares a few waiters with many, each with a place of its own.
func (q *queueRun) crowds(ctx context.Context) (Row, error) {
	r := Row{What: "lock in PostgreSQL, waiters with a place each: grants/s", Reach: "5,000 not slower than 100", OK: true}
	rates := map[int]float64{}
	for _, n := range []int{100, 1000, 5000} {
		ds, stop, err := q.drivers(1, false)
		if err != nil {
			return r, err
		}
		rates[n], err = q.leases(ctx, ds, n, queueWork)
		stop()
		if err != nil {
			return r, err
		}
		q.env.logf("%d waiters: %.0f grants/s", n, rates[n])
		r.also(true, "%d: %.0f", n, rates[n])
	}
	r.OK = rates[5000] >= 0.9*rates[100] // allows for the noise of one run
	return r, nil
}

// costs counts the statements of an idle waiter, and of a lease without other waiters.
func (q *queueRun) costs(ctx context.Context) (Row, error) {
	r := Row{What: "lock in PostgreSQL: statements", Reach: "≤ 1/s of a waiter while the holder keeps the key; 2 of a lease that nobody else wants", OK: true}
	ds, stop, err := q.drivers(2, false)
	defer stop()
	if err != nil {
		return r, err
	}
	d := ds[0]
	before := q.sent.Load()
	const leases = 200
	for i := range leases {
		a := driver.Acquisition{Key: "own", Owner: fmt.Sprint("o/", i), TTL: time.Minute}
		g, err := d.(driver.Waiter).Wait(ctx, a)
		if err != nil {
			return r, err
		}
		if err := d.Release(ctx, driver.LeaseRef{Key: "own", Owner: a.Owner, Fence: g.Fence}); err != nil {
			return r, err
		}
	}
	own := float64(q.sent.Load()-before) / leases
	if _, err := d.Acquire(ctx, driver.Acquisition{Key: "kept", Owner: "o/kept", TTL: time.Hour}); err != nil {
		return r, err
	}
	waiting, end := context.WithCancel(ctx)
	defer end()
	const waiters = 20
	for i := range waiters {
		go func() {
			_, _ = ds[1].(driver.Waiter).Wait(waiting, driver.Acquisition{Key: "kept", Owner: fmt.Sprint("k/", i), TTL: time.Minute}) // Wait ends with the context
		}()
	}
	measure.Pause(ctx, 10*time.Second) // until they probe rarely
	before = q.sent.Load()
	measure.Pause(ctx, 10*time.Second)
	idle := float64(q.sent.Load()-before) / 10 / waiters
	r.also(idle <= queueLooks, "%.2f/s of each of %d", idle, waiters)
	r.also(own > 1 && own < 2.1, "%.2f", own)
	return r, nil
}
