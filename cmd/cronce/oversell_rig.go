package main

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/cmd/cronce/internal/config"
	"github.com/cronce/cronce/cmd/cronce/internal/oversell"
	"github.com/cronce/cronce/jobs/stock"
)

// A rig is the stores of one run, some of them inside this process.
type rig struct {
	*oversell.Env
	plan    plan
	folder  string // of the SQLite files
	inFile  bool   // no database was named: the products are in one of them
	servers []*miniredis.Miniredis
	tables  bool
	book    *sql.DB // of Book
}

// embeddedRedlock is how many servers redlock has where none are named.
const embeddedRedlock = 3

// openRig starts what is not there and connects to what is.
func openRig(ctx context.Context, f oversellFlags, warn func(setting, text string)) (*rig, error) {
	dsn, err := f.database()
	if err != nil {
		return nil, err
	}
	r := &rig{plan: plan{
		Run: "oversell_" + uuid.NewString()[:8], Redis: f.redis, Redlock: f.redis,
		Embedded: len(f.redis) == 0, DSN: dsn, ZooKeeper: f.zookeeper, Work: f.work, Buyers: f.buyers, Patience: f.patience,
		warn: warn,
	}}
	if err := r.open(ctx); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

func (r *rig) open(ctx context.Context) (err error) {
	if r.plan.Embedded {
		if r.plan.Redis, err = r.startRedis(1); err != nil {
			return err
		}
	}
	if len(r.plan.Redlock) < embeddedRedlock {
		if r.plan.Redlock, err = r.startRedis(embeddedRedlock); err != nil {
			return err
		}
	}
	if r.folder, err = os.MkdirTemp("", "cronce-oversell-"); err != nil {
		return fmt.Errorf("oversell: make a folder for SQLite: %w", err)
	}
	if r.inFile = r.plan.DSN == ""; r.inFile {
		r.plan.DSN = "sqlite:" + filepath.Join(r.folder, "shop.db")
	}
	if r.Env, err = r.plan.connect(ctx); err != nil {
		return err
	}
	if err = r.Ping(ctx); err != nil {
		return fmt.Errorf("oversell: %w", err)
	}
	if err = r.Tables.Create(ctx); err != nil {
		return fmt.Errorf("oversell: %w", err)
	}
	r.tables = true
	return r.openBook()
}

// openBook makes the database that reserve loses Redis with. It is always a file: the tables
// of a shop have no name of their own in a database that was named.
func (r *rig) openBook() error {
	d, err := config.SQLiteDSN(filepath.Join(r.folder, "book.db"))
	if err != nil {
		return err
	}
	if r.book, err = sql.Open(d.Driver, d.Source); err != nil {
		return fmt.Errorf("oversell: open %s: %w", d.Shown, err)
	}
	r.Book, err = stock.NewDatabase(r.book, stock.SQLite)
	return err
}

// startRedis starts servers in this process and returns their URLs.
func (r *rig) startRedis(n int) (urls []string, err error) {
	for range n {
		s := miniredis.NewMiniRedis()
		s.ClockTTL(true) // its leases expire as time passes
		if err := s.StartAddr("127.0.0.1:0"); err != nil {
			return nil, fmt.Errorf("oversell: start a Redis: %w", err)
		}
		r.servers = append(r.servers, s)
		urls = append(urls, "redis://"+s.Addr())
	}
	return urls, nil
}

// close removes all that the run has stored.
func (r *rig) close() {
	ctx, stop := context.WithTimeout(context.Background(), 10*time.Second) // Ctrl-C has ended the other
	defer stop()
	if r.Env != nil {
		_ = r.Forget(ctx)
		if r.tables {
			_ = r.Tables.Drop(ctx) // what it cannot remove has the run's name
		}
		for _, c := range append([]redis.UniversalClient{r.Redis}, r.Redlock...) {
			_ = oversell.Unlink(ctx, c, r.Run+":*")
		}
		disconnect(r.Env)
	}
	for _, s := range r.servers {
		s.Close()
	}
	if r.book != nil {
		_ = r.book.Close()
	}
	if r.folder != "" {
		_ = os.RemoveAll(r.folder)
	}
}

// sell lets all buyers in at a strategy, and counts afterwards.
func (r *rig) sell(ctx context.Context, c *crew, k oversell.Kind) (oversell.Result, error) {
	if lacks := r.Lacks(k.Name); lacks != "" {
		return oversell.Result{Strategy: k.Name, Skipped: lacks}, nil
	}
	shelf, err := r.Fill(ctx, k.Name, c.stock)
	if err != nil {
		return oversell.Result{}, err
	}
	answers, err := c.sell(ctx, k.Name)
	if err != nil {
		return oversell.Result{}, err
	}
	left, err := shelf.Left(ctx)
	if err != nil {
		return oversell.Result{}, fmt.Errorf("count what is left: %w", err)
	}
	orders, err := shelf.Orders(ctx)
	if err != nil {
		return oversell.Result{}, fmt.Errorf("count the orders: %w", err)
	}
	result := oversell.Sum(k.Name, c.stock, left, orders, answers)
	loss, err := r.Lose(ctx, k.Name, c.stock)
	if err != nil {
		return oversell.Result{}, fmt.Errorf("lose Redis: %w", err)
	}
	result.Lost(loss, k.Keeps)
	return result, nil
}

// where says which stores the run uses.
func (r *rig) where() string {
	parts := []string{"Redis inside this process", "3 more inside for redlock"}
	if !r.plan.Embedded {
		if shown, err := config.ShownRedisURL(r.plan.Redis[0]); err == nil {
			parts[0] = shown
		}
	}
	if len(r.plan.Redis) >= embeddedRedlock {
		parts[1] = fmt.Sprintf("redlock over %d", len(r.plan.Redis))
	}
	if d, err := config.ParseDSN(r.plan.DSN); r.inFile {
		parts = append(parts, "an SQLite file")
	} else if err == nil {
		parts = append(parts, d.Shown)
	}
	if len(r.ZooKeeper) > 0 {
		parts = append(parts, "ZooKeeper "+strings.Join(r.ZooKeeper, ","))
	}
	return strings.Join(parts, ", ")
}
