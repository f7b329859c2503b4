package main

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/bench/internal/contend"
	"github.com/cronce/cronce/bench/internal/proc"
	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/internal/sqlserver"
	"github.com/cronce/cronce/jobs/stock"
	"github.com/cronce/cronce/scheduler"
)

// The targets of settling.
const (
	settleRate  = 10_000 // orders per second
	settleSwell = 64     // MiB by which the process may grow over a backlog
)

// A backlogArgs defines where orders wait, how many, and where they are settled.
type backlogArgs struct {
	Addr    string
	Orders  int
	Driver  string
	DSN     string
	Dialect stock.Dialect
}

// A backlogResult is the cost of settling them.
type backlogResult struct {
	Settled, Rows int64
	Took          time.Duration
	Early, Peak   int64 // MiB of memory: the maximum in the first tenth, and the maximum
}

var (
	fillCase    = proc.Define("fill", runFill)
	backlogCase = proc.Define("backlog", runBacklog)
)

// A backlogDatabase is a database into which orders are settled.
type backlogDatabase struct {
	name    string
	start   func(testing.TB) *sqlserver.Server
	options string // of its DSN
	dialect stock.Dialect
}

var backlogDatabases = []backlogDatabase{
	{name: "PostgreSQL", start: durablePostgres, dialect: stock.PostgreSQL},
	{name: "MariaDB", start: durableMariaDB, options: "?interpolateParams=true", dialect: stock.MySQL},
}

// backlog measures how fast a backlog of orders reaches a database.
func backlog(ctx context.Context, env *Env) ([]Row, error) {
	orders := either(env, 1_000_000, 50_000)
	rate := Row{What: "settle: orders/s into a database, in batches of 1,000", Reach: "≥ 10,000 into PostgreSQL or MariaDB"}
	memory := Row{What: fmt.Sprintf("settle: a backlog of %d orders", orders), Reach: "all settled, flat memory", OK: true}
	for _, kind := range backlogDatabases {
		r, err := measureBacklog(ctx, kind, orders)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", kind.name, err)
		}
		env.logf("%s: %+v", kind.name, r)
		perSecond := float64(r.Settled) / r.Took.Seconds()
		reached := rate.OK || perSecond >= settleRate
		rate.also(true, "%s %.0f", kind.name, perSecond)
		rate.OK = reached
		memory.also(r.Settled == int64(orders) && r.Rows == int64(orders) && r.Peak-r.Early <= settleSwell,
			"%s: %d rows in %.0f s, peak %d MiB, in the first tenth %d MiB", kind.name, r.Rows, r.Took.Seconds(), r.Peak, r.Early)
	}
	return []Row{rate, memory}, nil
}

// measureBacklog measures a backlog on fresh servers.
func measureBacklog(ctx context.Context, k backlogDatabase, orders int) (r backlogResult, err error) {
	err = onHost(ctx, func(t testing.TB) (err error) {
		r, err = backlogCase.Run(ctx, k.filled(ctx, t, orders))
		return err
	})
	return r, err
}

// filled starts a store and a database, and fills the store in a process of its own, so that the memory of the
// process that settles can be measured.
func (k backlogDatabase) filled(ctx context.Context, t testing.TB, orders int) backlogArgs {
	server := k.start(t)
	a := backlogArgs{redisserver.Start(t).Addr(), orders, server.Driver(), server.DSN(server.Create(t)) + k.options, k.dialect}
	if _, err := fillCase.Run(ctx, a); err != nil {
		t.Fatal(err)
	}
	return a
}

// runFill runs in the child: buyers fill the store.
func runFill(ctx context.Context, a backlogArgs) (int, error) {
	client := contend.Client(a.Addr)
	defer client.Close()
	sale, err := stock.NewSale(client, stock.Options{Hold: 24 * time.Hour})
	if err == nil {
		err = putOnSale(ctx, sale)
	}
	if err != nil {
		return 0, err
	}
	const buyers = 64
	var group sync.WaitGroup
	failed := make(chan error, buyers)
	for b := range buyers {
		group.Go(func() {
			for n := b; n < a.Orders; n += buyers {
				if _, _, err := sale.Reserve(ctx, anOrder("order-"+strconv.Itoa(n))); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	group.Wait()
	close(failed)
	return a.Orders, <-failed
}

// runBacklog runs in the child: one run of the job settles everything.
func runBacklog(ctx context.Context, a backlogArgs) (r backlogResult, err error) {
	client := contend.Client(a.Addr)
	defer client.Close()
	db, err := sql.Open(a.Driver, a.DSN)
	if err != nil {
		return r, err
	}
	defer db.Close()
	database, err := stock.NewDatabase(db, a.Dialect)
	if err != nil {
		return r, err
	}
	sale, err := stock.NewSale(client, stock.Options{Book: database})
	if err != nil {
		return r, err
	}
	watched := watchMemory(ctx, client, int64(a.Orders), &r)
	began := time.Now()
	job := stock.SettleOrders(sale)
	err = job.Func(ctx, &scheduler.Run{ID: "bench", Job: job.Name, Fence: time.Now().UnixMicro()})
	r.Took = time.Since(began)
	watched()
	if err != nil {
		return r, err
	}
	left, err := client.ZCard(ctx, fresh).Result()
	r.Settled = int64(a.Orders) - left
	if err == nil {
		err = db.QueryRowContext(ctx, "SELECT COUNT(*) FROM orders").Scan(&r.Rows)
	}
	return r, err
}

// fresh is the key of the orders that no run has settled yet.
const fresh = "cronce:v1:stock:{cronce:shop}:fresh"

// watchMemory records the peaks of this process's memory until the returned function is called.
func watchMemory(ctx context.Context, client redis.UniversalClient, orders int64, r *backlogResult) (end func()) {
	stop := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		for {
			left, err := client.ZCard(ctx, fresh).Result()
			if err == nil && left >= orders*9/10 {
				r.Early = peakMemory()
			}
			select {
			case <-stop:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	})
	return func() {
		close(stop)
		watching.Wait()
		r.Peak = peakMemory()
	}
}

// peakMemory returns the peak memory of this process, in MiB, if the system reports it.
func peakMemory() int64 {
	status, _ := os.ReadFile("/proc/self/status") // absent: unknown
	for line := range strings.Lines(string(status)) {
		if value, found := strings.CutPrefix(line, "VmHWM:"); found {
			kib, _ := strconv.ParseInt(strings.Fields(value)[0], 10, 64)
			return kib >> 10
		}
	}
	return 0
}
