package main

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"os"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/redis/go-redis/v9"
	_ "modernc.org/sqlite" // registers sqlite

	"github.com/cronce/cronce/internal/sqlserver"
	"github.com/cronce/cronce/lock/redislock"
	"github.com/cronce/cronce/lock/sqllock"
	"github.com/cronce/cronce/lock/zklock"
	"github.com/cronce/cronce/scheduler"
)

// The kinds of stores.
const (
	redisStore     = "redis"
	postgresStore  = "postgres"
	mysqlStore     = "mysql"
	sqliteStore    = "sqlite"
	zookeeperStore = "zookeeper"
)

// A storeAt is the location of a store, which can be passed to a child.
type storeAt struct {
	Kind   string
	Addrs  []string // host:port of each server, or one DSN or file
	Master string   // the name of the master for the Sentinels at Addrs
}

// An openStore is a client of a store.
type openStore struct {
	driver  scheduler.Store
	sent    atomic.Int64 // writes to connections; each is a request or a pipeline
	prepare func(context.Context) error
	close   func()
}

// open returns a client that counts the writes to its connections. It sends nothing yet.
func (a storeAt) open(ctx context.Context, namespace string) (s *openStore, err error) {
	s = &openStore{prepare: func(context.Context) error { return nil }}
	dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &countedConn{c, &s.sent}, nil
	}
	switch a.Kind {
	case redisStore:
		o := &redis.UniversalOptions{Addrs: a.Addrs, MasterName: a.Master, Dialer: dial}
		redislock.Harden(o)
		client := redis.NewUniversalClient(o)
		s.close = func() { _ = client.Close() }
		s.driver, err = redislock.New(client, redislock.Options{Namespace: namespace})
	case zookeeperStore:
		var d *zklock.Driver
		d, err = zklock.New(a.Addrs, zklock.Options{Namespace: namespace, Dial: func(network, addr string, timeout time.Duration) (net.Conn, error) {
			ctx, stop := context.WithTimeout(ctx, timeout)
			defer stop()
			return dial(ctx, network, addr)
		}})
		s.driver, s.close = d, func() { _ = d.Close() }
	default:
		err = s.openSQL(a, namespace, dial)
	}
	return s, err
}

func (s *openStore) openSQL(a storeAt, namespace string, dial func(context.Context, string, string) (net.Conn, error)) (err error) {
	var db *sql.DB
	var dialect sqllock.Dialect
	o := sqllock.Options{Namespace: namespace}
	switch a.Kind {
	case postgresStore:
		config, err := pgx.ParseConfig(a.Addrs[0])
		if err != nil {
			return err
		}
		config.DialFunc = dial
		db, dialect = stdlib.OpenDB(*config), sqllock.PostgreSQL
		o.Listen = listener(db)
	case mysqlStore:
		config, err := mysql.ParseDSN(a.Addrs[0])
		if err != nil {
			return err
		}
		config.DialFunc, config.InterpolateParams = dial, true
		connector, err := mysql.NewConnector(config)
		if err != nil {
			return err
		}
		db, dialect = sql.OpenDB(connector), sqllock.MySQL
	case sqliteStore:
		dialect = sqllock.SQLite
		if db, err = sql.Open("sqlite", "file:"+a.Addrs[0]+
			"?_pragma=busy_timeout(1000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_txlock=immediate"); err != nil {
			return err
		}
	default:
		return fmt.Errorf("%q is no kind of store", a.Kind)
	}
	db.SetMaxOpenConns(8)
	db.SetMaxIdleConns(8)
	d, err := sqllock.New(db, dialect, o)
	s.driver, s.prepare, s.close = d, d.CreateTables, func() { _ = db.Close() }
	return err
}

// A countedConn counts its writes.
type countedConn struct {
	net.Conn

	sent *atomic.Int64
}

// Write writes and counts the write.
func (c *countedConn) Write(b []byte) (int, error) {
	c.sent.Add(1)
	return c.Conn.Write(b)
}

// A host starts servers like a test does.
type host struct {
	testing.TB

	ctx      context.Context
	cleanups []func()
}

// onHost calls f, then stops the servers that f started.
func onHost(ctx context.Context, f func(testing.TB) error) (err error) {
	h := &host{ctx: ctx}
	defer func() {
		for _, clean := range slices.Backward(h.cleanups) {
			clean()
		}
	}()
	defer func() {
		switch p := recover().(type) {
		case nil:
		case hostError:
			err = p
		default:
			panic(p)
		}
	}()
	return f(h)
}

// A hostError is the fatal error of a test.
type hostError struct{ error }

func (h *host) Helper()                           {}
func (h *host) Context() context.Context          { return h.ctx }
func (h *host) Cleanup(f func())                  { h.cleanups = append(h.cleanups, f) }
func (h *host) Fatal(args ...any)                 { panic(hostError{fmt.Errorf("%s", fmt.Sprint(args...))}) }
func (h *host) Fatalf(format string, args ...any) { panic(hostError{fmt.Errorf(format, args...)}) }
func (h *host) Errorf(format string, args ...any) { h.Fatalf(format, args...) }
func (h *host) Skipf(format string, args ...any)  { h.Fatalf(format, args...) }

// TempDir returns a folder that is removed when f has returned.
func (h *host) TempDir() string {
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		h.Fatal(err)
	}
	h.Cleanup(func() { _ = os.RemoveAll(dir) }) // if it fails, the system empties its folder for temporary files
	return dir
}

// durablePostgres starts a PostgreSQL server with its default durability.
func durablePostgres(t testing.TB) *sqlserver.Server {
	return sqlserver.Postgres(t, "-c", "fsync=on", "-c", "full_page_writes=on", "-c", "shared_buffers=128MB")
}

// durableMariaDB does the same with a MariaDB server.
func durableMariaDB(t testing.TB) *sqlserver.Server {
	return sqlserver.MariaDB(t, "--innodb-flush-log-at-trx-commit=1", "--innodb-buffer-pool-size=128M")
}
