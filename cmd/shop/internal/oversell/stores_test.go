package oversell_test

import (
	"context"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/go-sql-driver/mysql"
	"github.com/redis/go-redis/v9"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/cronce/cronce/cmd/shop/internal/oversell"
	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/internal/sqlserver"
	"github.com/cronce/cronce/internal/zkserver"
	"github.com/cronce/cronce/lock/redislock"
)

func TestMain(m *testing.M) { os.Exit(sqlserver.Main(m)) }

// stores are the addresses of one set of stores.
type stores struct {
	redis   string
	redlock []string
	dialect oversell.Dialect
	driver  string
	dsn     string
	zoo     []string
}

// embedded are those that need no server.
func embedded(t *testing.T) stores {
	s := stores{redis: small(t), dialect: oversell.SQLite, driver: "sqlite"}
	for range 3 {
		s.redlock = append(s.redlock, small(t))
	}
	s.dsn = "file:" + filepath.Join(t.TempDir(), "db") + "?_txlock=immediate&_pragma=busy_timeout(60000)&_pragma=journal_mode(WAL)"
	return s
}

// real are servers, with one of the databases.
func real(t *testing.T, d oversell.Dialect) stores {
	s := stores{redis: redisserver.Start(t).Addr(), dialect: d}
	for range 3 {
		s.redlock = append(s.redlock, redisserver.Start(t).Addr())
	}
	server := sqlserver.SharedPostgres
	if d == oversell.MySQL {
		server = sqlserver.SharedMariaDB
	}
	db := server(t)
	s.driver, s.dsn = db.Driver(), db.DSN(db.Create(t))
	if d == oversell.MySQL {
		c, err := mysql.ParseDSN(s.dsn)
		must(t, err)
		c.ClientFoundRows = true
		s.dsn = c.FormatDSN()
	}
	return s
}

// zooKeeper adds a ZooKeeper.
func (s stores) zooKeeper(t *testing.T) stores {
	s.zoo = []string{zkserver.Start(t).Addr()}
	return s
}

// small starts a Redis inside the test, whose clock runs.
func small(t *testing.T) string {
	m := miniredis.NewMiniRedis()
	m.ClockTTL(true)
	must(t, m.StartAddr("127.0.0.1:0"))
	t.Cleanup(m.Close)
	return m.Addr()
}

func client(t *testing.T, addr string) redis.UniversalClient {
	o := &redis.UniversalOptions{Addrs: []string{addr}, ReadTimeout: 20 * time.Second, PoolTimeout: time.Minute}
	redislock.Harden(o)
	c := redis.NewUniversalClient(o)
	t.Cleanup(func() { _ = c.Close() })
	return c
}

var runs atomic.Int64

// processes are n environments with clients of their own, as processes have, of
// one run, whose tables are there.
func (s stores) processes(t *testing.T, n int, e oversell.Env) []*oversell.Env {
	t.Helper()
	e.Run = "run" + string(rune('a'+runs.Add(1)%26))
	all := make([]*oversell.Env, n)
	for i := range all {
		p := e
		p.ZooKeeper = s.zoo
		p.Redis = client(t, s.redis)
		for _, addr := range s.redlock {
			p.Redlock = append(p.Redlock, client(t, addr))
		}
		db := sqlserver.Connect(t, s.driver, s.dsn)
		db.SetMaxOpenConns(8)
		if s.dialect == oversell.SQLite {
			db.SetMaxOpenConns(1)
		}
		p.Tables = oversell.Tables{DB: db, Dialect: s.dialect, Run: e.Run}
		all[i] = &p
	}
	must(t, all[0].Tables.Create(t.Context()))
	return all
}

// sell lets buyers in at all processes at once.
func sell(t *testing.T, all []*oversell.Env, name string, stock int) oversell.Result {
	t.Helper()
	shelf, err := all[0].Fill(t.Context(), name, stock)
	must(t, err)
	buyers := make([]*oversell.Buyers, len(all))
	for i, e := range all {
		s, end, err := e.Open(name)
		must(t, err)
		defer end()
		ids := e.OrderIDs(name)
		buyers[i] = oversell.NewBuyers(s, ids[i*e.Buyers/len(all):(i+1)*e.Buyers/len(all)])
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	replies := make(chan oversell.Answers)
	for _, c := range buyers {
		go func() { replies <- c.Start(ctx) }()
	}
	var answers []oversell.Answers
	for range buyers {
		answers = append(answers, <-replies)
	}
	return sum(t, shelf, name, stock, answers...)
}

func sum(t *testing.T, shelf oversell.Shelf, name string, stock int, answers ...oversell.Answers) oversell.Result {
	t.Helper()
	left, err := shelf.Left(t.Context())
	must(t, err)
	orders, err := shelf.Orders(t.Context())
	must(t, err)
	return oversell.Sum(name, stock, left, orders, answers)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// await waits for a value of a channel, or for its end.
func await[T any](t *testing.T, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(2 * time.Minute):
		t.Fatal("it never came")
	}
	panic("unreachable")
}
