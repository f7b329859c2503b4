package sale

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/cmd/internal/clients"
	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/cmd/shop/internal/oversell"
	"github.com/cronce/cronce/jobs/stock"
)

// The stores of one run, some of them inside this process.
type stores struct {
	*oversell.Env
	plan    plan
	folder  string // folder of the SQLite files
	inFile  bool   // no database was configured: the products are in an SQLite file
	servers []*miniredis.Miniredis
	tables  bool
	book    *sql.DB // of Book
}

// embeddedRedlock is the number of servers for redlock if none are configured.
const embeddedRedlock = 3

// openStores starts embedded stores and connects to the others.
func openStores(ctx context.Context, o *Options, c Connect) (*stores, error) {
	s := &stores{plan: plan{
		Run: "oversell_" + uuid.NewString()[:8], Redis: o.Redis, Redlock: o.Redis,
		Embedded: len(o.Redis) == 0, DSN: o.DSN, ZooKeeper: o.ZooKeeper, Work: o.Work, Buyers: o.Buyers, Patience: o.Patience,
		openRedis: c, warn: o.Warn,
	}}
	if err := s.open(ctx); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *stores) open(ctx context.Context) (err error) {
	if s.plan.Embedded {
		if s.plan.Redis, err = s.startRedis(1); err != nil {
			return err
		}
	}
	if len(s.plan.Redlock) < embeddedRedlock {
		if s.plan.Redlock, err = s.startRedis(embeddedRedlock); err != nil {
			return err
		}
	}
	if s.folder, err = os.MkdirTemp("", "cronce-oversell-"); err != nil {
		return fmt.Errorf("oversell: make a folder for SQLite: %w", err)
	}
	if s.inFile = s.plan.DSN == ""; s.inFile {
		s.plan.DSN = "sqlite:" + filepath.Join(s.folder, "shop.db")
	}
	if s.Env, err = s.plan.connect(ctx); err != nil {
		return err
	}
	if err = s.Ping(ctx); err != nil {
		return fmt.Errorf("oversell: %w", err)
	}
	s.tables = true // one of them may be there although the other, or its reply, is missing
	if err = s.Tables.Create(ctx); err != nil {
		return fmt.Errorf("oversell: %w", err)
	}
	return s.openBook()
}

// openBook creates the database with which reserve survives a loss of Redis. It is always a file,
// because the tables of a shop have fixed names, which a named database may already use.
func (s *stores) openBook() error {
	d, err := config.SQLiteDSN(filepath.Join(s.folder, "book.db"))
	if err != nil {
		return err
	}
	if s.book, err = clients.OpenDatabase(d, saleConnections); err != nil {
		return fmt.Errorf("oversell: open %s: %w", d.Shown, err)
	}
	s.Book, err = stock.NewDatabase(s.book, stock.SQLite)
	return err
}

// startRedis starts servers in this process and returns their URLs.
func (s *stores) startRedis(n int) (urls []string, err error) {
	for range n {
		server := miniredis.NewMiniRedis()
		server.ClockTTL(true) // its leases expire as time passes
		if err := server.StartAddr("127.0.0.1:0"); err != nil {
			return nil, fmt.Errorf("oversell: start a Redis: %w", err)
		}
		s.servers = append(s.servers, server)
		urls = append(urls, "redis://"+server.Addr())
	}
	return urls, nil
}

// close removes all data of the run.
func (s *stores) close() {
	if s.Env != nil {
		s.remove()
		disconnect(s.Env)
	}
	for _, server := range s.servers {
		server.Close()
	}
	if s.book != nil {
		_ = s.book.Close()
	}
	if s.folder != "" {
		_ = os.RemoveAll(s.folder)
	}
}

// remove removes the data of each store at the same time, so that none keeps its data because another
// does not answer.
func (s *stores) remove() {
	ctx, stop := context.WithTimeout(context.Background(), 10*time.Second) // Ctrl-C has ended the other context
	defer stop()
	var removals sync.WaitGroup
	defer removals.Wait()
	removals.Go(func() { _ = s.Forget(ctx) })
	if s.tables {
		removals.Go(func() { _ = s.Tables.Drop(ctx) }) // remaining tables have the run's name
	}
	for _, c := range append([]redis.UniversalClient{s.Redis}, s.Redlock...) {
		removals.Go(func() { _ = oversell.Unlink(ctx, c, s.Run+":*") })
	}
}

// sell starts all buyers of a strategy, and counts items and orders afterwards.
func (s *stores) sell(ctx context.Context, w *workers, k oversell.Kind) (oversell.Result, error) {
	if lacks := s.Lacks(k.Name); lacks != "" {
		return oversell.Result{Strategy: k.Name, Skipped: lacks}, nil
	}
	shelf, err := s.Fill(ctx, k.Name, w.stock)
	if err != nil {
		return oversell.Result{}, err
	}
	answers, err := w.sell(ctx, k.Name)
	if err != nil {
		return oversell.Result{}, err
	}
	left, err := shelf.Left(ctx)
	if err != nil {
		return oversell.Result{}, fmt.Errorf("count the items left: %w", err)
	}
	orders, err := shelf.Orders(ctx)
	if err != nil {
		return oversell.Result{}, fmt.Errorf("count the orders: %w", err)
	}
	result := oversell.Sum(k.Name, w.stock, left, orders, answers)
	loss, err := s.Lose(ctx, k.Name, w.stock)
	if err != nil {
		return oversell.Result{}, fmt.Errorf("lose Redis: %w", err)
	}
	result.Lost(loss, k.Keeps)
	return result, nil
}

// where describes the stores of the run.
func (s *stores) where() string {
	parts := []string{"Redis inside this process", "3 more inside for redlock"}
	if !s.plan.Embedded {
		if shown, err := config.ShownRedisURL(s.plan.Redis[0]); err == nil {
			parts[0] = shown
		}
	}
	if len(s.plan.Redis) >= embeddedRedlock {
		parts[1] = fmt.Sprintf("redlock over %d", len(s.plan.Redis))
	}
	if d, err := config.ParseDSN(s.plan.DSN); s.inFile {
		parts = append(parts, "an SQLite file")
	} else if err == nil {
		parts = append(parts, d.Shown)
	}
	if len(s.ZooKeeper) > 0 {
		parts = append(parts, "ZooKeeper "+strings.Join(s.ZooKeeper, ","))
	}
	return strings.Join(parts, ", ")
}
