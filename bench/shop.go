package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/cronce/cronce/bench/internal/contend"
	"github.com/cronce/cronce/bench/internal/measure"
	"github.com/cronce/cronce/bench/internal/proc"
	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/jobs/stock"
	"github.com/cronce/cronce/scheduler"
)

// The targets of a shop.
const (
	settledShare = 1.0              // relative to the orders per second of a bare conditional UPDATE
	restoreTime  = 60 * time.Second // for a million orders
)

// The ways to acknowledge an order.
const (
	reservedWay = "reserved"
	settledWay  = "settled"
	updateWay   = "UPDATE"
)

// A shopArgs defines the buyers of one process, and in which way they buy.
type shopArgs struct {
	buying

	Store, DSN string
	Way        string
	Settles    bool // this process runs settleOrders each second, as one pod does
}

var (
	shopCase    = proc.Define("shop", runShop)
	restoreCase = proc.Define("restore", runRestore)
)

// shop measures the cost of an acknowledged order with each durability, compared with the one
// statement with which a database would sell, and how long it takes to rebuild the shelf.
func shop(ctx context.Context, env *Env) ([]Row, error) {
	const buyers, pods = 64, 4
	all := map[string][]float64{}
	for turn := range either(env, 5, 1) {
		for _, way := range []string{reservedWay, settledWay, updateWay} {
			orders, err := shopTurn(ctx, pods, buyers/pods, way, turn, either(env, 5*time.Second, time.Second))
			if err != nil {
				return nil, fmt.Errorf("%s: %w", way, err)
			}
			all[way] = append(all[way], orders)
		}
	}
	found := map[string]float64{}
	for way, rates := range all {
		env.logf("shop, %s: %.0f orders/s", way, rates)
		found[way] = measure.Median(rates)
	}
	share := found[settledWay] / found[updateWay]
	rows := []Row{{
		What: "shop: 64 buyers in 4 processes, one product, PostgreSQL", Reach: "`settled` ≥ 1 × a bare conditional UPDATE",
		Measured: fmt.Sprintf("`reserved` %.0f orders/s, `settled` %.0f, %.2f ×", found[reservedWay], found[settledWay], share),
		Peer:     fmt.Sprintf("UPDATE … WHERE left >= 1: %.0f/s", found[updateWay]),
		OK:       share >= settledShare,
	}}
	restored, err := measureRestore(ctx, either(env, 1_000_000, 50_000))
	if err != nil {
		return nil, fmt.Errorf("restore: %w", err)
	}
	env.logf("restore: %+v", restored)
	return append(rows, Row{
		What: fmt.Sprintf("shop: rebuild of the shelf from PostgreSQL, %d open orders", restored.Orders), Reach: "≤ 60 s for a million, all of them",
		Measured: fmt.Sprintf("%.1f s, %d orders, %.0f/s", restored.Took.Seconds(), restored.Open, float64(restored.Open)/restored.Took.Seconds()),
		OK:       restored.Took <= restoreTime && restored.Open == restored.Orders,
	}), nil
}

// shopTurn measures one way on fresh servers.
func shopTurn(ctx context.Context, pods, buyers int, way string, turn int, long time.Duration) (rate float64, err error) {
	err = onHost(ctx, func(t testing.TB) (err error) {
		database := durablePostgres(t)
		a := shopArgs{Store: redisserver.Start(t).Addr(), DSN: database.DSN(database.Create(t)), Way: way}
		a.buying = buying{Buyers: buyers, For: long}
		if err := prepareShop(ctx, a); err != nil {
			return err
		}
		a.From = time.Now().Add(time.Second)
		rate, err = inProcesses(pods, long, func(i int) (int64, error) {
			mine := a
			mine.Turn, mine.Settles = fmt.Sprint(turn, "-", i), i == 0
			return shopCase.Run(ctx, mine)
		})
		return err
	})
	return rate, err
}

// prepareShop puts stock into store and book.
func prepareShop(ctx context.Context, a shopArgs) error {
	s, err := openShop(a)
	if err != nil {
		return err
	}
	defer s.end()
	if err := putOnSale(ctx, s.sale); err != nil {
		return err
	}
	if err := s.settle(ctx); err != nil {
		return err
	}
	_, err = s.db.ExecContext(ctx, "CREATE TABLE shelf (sku VARCHAR(64) PRIMARY KEY, left_over BIGINT NOT NULL CHECK (left_over >= 0))")
	if err == nil {
		_, err = s.db.ExecContext(ctx, "INSERT INTO shelf VALUES ($1, $2)", product, plenty)
	}
	return err
}

// A benchShop is a sale with its book.
type benchShop struct {
	sale *stock.Sale
	book *stock.Database
	db   *sql.DB
	end  func()
}

func openShop(a shopArgs) (*benchShop, error) {
	db, err := sql.Open("pgx", a.DSN)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(max(4, a.Buyers)) // each buyer of the UPDATE has a connection
	db.SetMaxIdleConns(max(4, a.Buyers))
	client := contend.Client(a.Store)
	s := &benchShop{db: db}
	s.end = func() {
		if s.sale != nil {
			s.sale.Close()
		}
		_, _ = client.Close(), db.Close()
	}
	if s.book, err = stock.NewDatabase(db, stock.PostgreSQL); err == nil {
		s.sale, err = stock.NewSale(client, stock.Options{Hold: 24 * time.Hour, Book: s.book, Settled: a.Way == settledWay})
	}
	if err != nil {
		s.end()
	}
	return s, err
}

// settle runs settleOrders once.
func (s *benchShop) settle(ctx context.Context) error {
	job := stock.SettleOrders(s.sale)
	return job.Func(ctx, &scheduler.Run{ID: "bench", Job: job.Name, Fence: time.Now().UnixMicro()})
}

// runShop runs in the child: its buyers buy for a while.
func runShop(ctx context.Context, a shopArgs) (int64, error) {
	s, err := openShop(a)
	if err != nil {
		return 0, err
	}
	defer s.end()
	if err := s.sale.Probe(ctx); err != nil {
		return 0, err
	}
	measure.Pause(ctx, time.Until(a.From))
	settled := make(chan error, 1)
	go func() { settled <- s.settleAlong(ctx, a) }()
	orders, err := a.buy(ctx, func(ctx context.Context, id string) error { return s.sell(ctx, a.Way, id) })
	return orders, errors.Join(err, <-settled)
}

// settleAlong runs settleOrders each second while the buyers of this process buy, if it is this process that settles.
func (s *benchShop) settleAlong(ctx context.Context, a shopArgs) error {
	for a.Settles && a.Way != updateWay && !a.over() {
		measure.Pause(ctx, time.Second)
		if err := s.settle(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (s *benchShop) sell(ctx context.Context, way, id string) error {
	if way != updateWay {
		_, _, err := s.sale.Reserve(ctx, anOrder(id))
		return err
	}
	done, err := s.db.ExecContext(ctx, "UPDATE shelf SET left_over = left_over - 1 WHERE sku = $1 AND left_over >= 1", product)
	if err != nil {
		return err
	}
	if n, err := done.RowsAffected(); err != nil || n != 1 {
		return fmt.Errorf("%d rows, %w", n, err)
	}
	return nil
}

// A restoreResult is the cost of a rebuild.
type restoreResult struct {
	Orders, Open int
	Took         time.Duration
}

// measureRestore fills store and book, empties the store, and rebuilds the shelf.
func measureRestore(ctx context.Context, orders int) (r restoreResult, err error) {
	err = onHost(ctx, func(t testing.TB) (err error) {
		a := backlogDatabases[0].filled(ctx, t, orders)
		if _, err := backlogCase.Run(ctx, a); err != nil {
			return err
		}
		r, err = restoreCase.Run(ctx, a)
		return err
	})
	return r, err
}

// runRestore runs in the child.
func runRestore(ctx context.Context, a backlogArgs) (r restoreResult, err error) {
	s, err := openShop(shopArgs{Store: a.Addr, DSN: a.DSN, Way: reservedWay})
	if err != nil {
		return r, err
	}
	defer s.end()
	if err := s.sale.Probe(ctx); err != nil {
		return r, err
	}
	client := contend.Client(a.Addr)
	defer client.Close()
	if err := client.FlushAll(ctx).Err(); err != nil {
		return r, err
	}
	if err := s.sale.Probe(ctx); !errors.Is(err, stock.ErrStockUnknown) {
		return r, fmt.Errorf("the store is empty, and: %w", err)
	}
	began := time.Now()
	restored, err := s.sale.Restore(ctx)
	return restoreResult{a.Orders, restored.Open, time.Since(began)}, err
}
