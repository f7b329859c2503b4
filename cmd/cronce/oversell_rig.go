package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/go-sql-driver/mysql"
	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/cmd/cronce/internal/oversell"
	"github.com/cronce/cronce/lock/redislock"
)

// A rig is the stores of one run, some of them inside this process.
type rig struct {
	*oversell.Env
	plan    plan
	folder  string // of the SQLite file; empty: none
	servers []*miniredis.Miniredis
	tables  bool
}

// A plan is what every process of a run is told before the first sale.
type plan struct {
	Run      string
	Redis    []string // URLs: where the stock is, then redlock's, if it has others
	Redlock  []string
	Embedded bool // the Redis is inside the parent: what the environment says about another does not count
	DSN      string
	Work     time.Duration
	Buyers   int
	Patience time.Duration
}

// embeddedRedlock is how many servers redlock has where none are named.
const embeddedRedlock = 3

// openRig starts what is not there and connects to what is.
func openRig(ctx context.Context, f oversellFlags) (*rig, error) {
	dsn, err := f.database()
	if err != nil {
		return nil, err
	}
	r := &rig{plan: plan{
		Run: "oversell_" + uuid.NewString()[:8], Redis: f.redis, Redlock: f.redis,
		Embedded: len(f.redis) == 0, DSN: dsn, Work: f.work, Buyers: f.buyers, Patience: f.patience,
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
	if r.plan.DSN == "" {
		if r.folder, err = os.MkdirTemp("", "cronce-oversell-"); err != nil {
			return fmt.Errorf("oversell: make a folder for SQLite: %w", err)
		}
		r.plan.DSN = "sqlite:" + filepath.Join(r.folder, "shop.db")
	}
	if r.Env, err = r.plan.connect(ctx); err != nil {
		return err
	}
	if err = r.Tables.Create(ctx); err != nil {
		return fmt.Errorf("oversell: %w", err)
	}
	r.tables = true
	return nil
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
			_ = unlink(ctx, c, r.Run+":*")
		}
		disconnect(r.Env)
	}
	for _, s := range r.servers {
		s.Close()
	}
	if r.folder != "" {
		_ = os.RemoveAll(r.folder)
	}
}

// unlink removes the keys of a pattern.
func unlink(ctx context.Context, client redis.UniversalClient, pattern string) error {
	iter := client.Scan(ctx, 0, pattern, 1000).Iterator()
	for iter.Next(ctx) {
		if err := client.Unlink(ctx, iter.Val()).Err(); err != nil {
			return err
		}
	}
	return iter.Err()
}

// connect makes the clients of a process, and sees that the stores answer.
func (p plan) connect(ctx context.Context) (*oversell.Env, error) {
	e := &oversell.Env{Run: p.Run, Work: p.Work, Buyers: p.Buyers}
	err := p.connectRedis(ctx, e)
	if err == nil {
		err = p.connectSQL(ctx, e)
	}
	if err != nil {
		disconnect(e)
		return nil, err
	}
	return e, nil
}

func (p plan) connectRedis(ctx context.Context, e *oversell.Env) (err error) {
	if e.Redis, err = p.redisClient(ctx, p.Redis[0], p.Embedded); err != nil {
		return err
	}
	for _, url := range p.Redlock {
		c, err := p.redisClient(ctx, url, len(p.Redis) < embeddedRedlock)
		if err != nil {
			return err
		}
		e.Redlock = append(e.Redlock, c)
	}
	return nil
}

// saleConnections bounds what one process opens to one store.
const saleConnections = 32

// redisClient lets buyers wait for a connection for as long as they wait at all.
func (p plan) redisClient(ctx context.Context, url string, embedded bool) (redis.UniversalClient, error) {
	c := defaultConfig()
	c.embedded = embedded
	c.set(storeOverrides[0], url, "--redis")
	if err := errors.Join(c.faults()...); err != nil {
		return nil, refused(err)
	}
	o, err := c.redisOptions()
	if err != nil {
		return nil, &usageError{err}
	}
	o.PoolSize, o.PoolTimeout, o.ReadTimeout = saleConnections, p.Patience, 10*time.Second
	redislock.Harden(o)
	redis.SetLogger(quiet{})
	client := redis.NewUniversalClient(o)
	if err := client.Ping(ctx).Err(); err != nil {
		_ = client.Close()
		return nil, fmt.Errorf("oversell: %s: %w", c.where(), err)
	}
	return client, nil
}

func (p plan) connectSQL(ctx context.Context, e *oversell.Env) error {
	d, err := parseDSN(p.DSN)
	if err != nil {
		return err
	}
	_ = mysql.SetLogger(silence{}) // it refuses nil alone
	db, err := sql.Open(d.driver, d.source)
	if err != nil {
		return fmt.Errorf("oversell: open %s: %w", d.shown, err)
	}
	n := saleConnections
	if d.dialect == oversell.SQLite {
		n = 1 // one writes at a time, and here they wait in order
	}
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	e.Tables = oversell.Tables{DB: db, Dialect: d.dialect, Run: p.Run}
	if err := db.PingContext(ctx); err != nil {
		return fmt.Errorf("oversell: %s: %w", d.shown, err)
	}
	return nil
}

func disconnect(e *oversell.Env) {
	for _, c := range append([]redis.UniversalClient{e.Redis}, e.Redlock...) {
		if c != nil {
			_ = c.Close()
		}
	}
	if e.Tables.DB != nil {
		_ = e.Tables.DB.Close()
	}
}

// sell lets all buyers in at a strategy, and counts afterwards.
func (r *rig) sell(ctx context.Context, c *crew, k oversell.Kind) (oversell.Result, error) {
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
	return oversell.Sum(k.Name, c.stock, left, orders, answers), nil
}

// where says which stores the run uses.
func (r *rig) where() string {
	parts := []string{"Redis inside this process", "3 more inside for redlock"}
	if !r.plan.Embedded {
		parts[0] = r.plan.Redis[0]
	}
	if len(r.plan.Redis) >= embeddedRedlock {
		parts[1] = fmt.Sprintf("redlock over %d", len(r.plan.Redis))
	}
	if d, err := parseDSN(r.plan.DSN); r.folder != "" {
		parts = append(parts, "an SQLite file")
	} else if err == nil {
		parts = append(parts, d.shown)
	}
	return strings.Join(parts, ", ")
}
