package sale

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/cmd/internal/clients"
	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/cmd/shop/internal/oversell"
)

// A plan is sent to every process of a run before the first sale.
type plan struct {
	Run       string
	Redis     []string // URLs: the server of the stock, then the servers of redlock if they differ
	Redlock   []string
	Embedded  bool // the Redis is inside the parent process, so the environment's settings for a Redis are ignored
	DSN       string
	ZooKeeper []string
	Work      time.Duration
	Buyers    int
	Patience  time.Duration

	openRedis Connect
	warn      func(setting, text string) // called for secrets in plain text; nil: the parent has warned
}

// connect makes the clients of a process, and checks that the stores answer.
func (p plan) connect(ctx context.Context) (*oversell.Env, error) {
	e := &oversell.Env{Run: p.Run, ZooKeeper: p.ZooKeeper, Work: p.Work, Buyers: p.Buyers}
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

// saleConnections bounds the connections of one process to one store.
const saleConnections = 32

// redisClient makes a client whose callers wait for a connection as long as buyers wait at all.
func (p plan) redisClient(ctx context.Context, url string, embedded bool) (redis.UniversalClient, error) {
	client, shown, err := p.openRedis(url, embedded, p.warn, func(o *redis.UniversalOptions) {
		o.PoolSize, o.PoolTimeout, o.ReadTimeout = saleConnections, p.Patience, 10*time.Second
	})
	if err != nil {
		return nil, err
	}
	if err := client.Ping(ctx).Err(); err != nil {
		_ = client.Close()
		return nil, fmt.Errorf("oversell: %s: %w", shown, err)
	}
	return client, nil
}

func (p plan) connectSQL(ctx context.Context, e *oversell.Env) error {
	d, err := config.ParseDSN(p.DSN)
	if err != nil {
		return err
	}
	if text := d.InPlain(); p.warn != nil && text != "" {
		p.warn("the DSN", text)
	}
	n := saleConnections
	if d.Dialect == oversell.SQLite {
		n = 1 // SQLite has one writer at a time; here callers wait in order
	}
	db, err := clients.OpenDatabase(d, n)
	if err != nil {
		return fmt.Errorf("oversell: the DSN %w", err)
	}
	e.Tables = oversell.Tables{DB: db, Dialect: d.Dialect, Run: p.Run}
	if err := db.PingContext(ctx); err != nil {
		return fmt.Errorf("oversell: %s: %w", d.Shown, err)
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
