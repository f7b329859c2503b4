package proof

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // registers pgx

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/internal/serverprocess"
	"github.com/cronce/cronce/internal/sqlserver"
	"github.com/cronce/cronce/internal/zkserver"
	"github.com/cronce/cronce/lock/redislock"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/lock/sqllock"
	"github.com/cronce/cronce/lock/zklock"
	"github.com/cronce/cronce/scheduler"
)

// A Backend is a kind of store that scenarios run on. Its servers are real, and stop at the end of the
// test.
type Backend struct {
	Name     string
	Replicas int // of each master: a grant that one of them does not have may be lost in a strike

	names bool // its servers name others to their clients
	start func(t testing.TB) (addr string, strike func(c *Cluster))
}

// PostgreSQL and MariaDB are one database with numbered leases in its tables; see crash. Of two disks of PostgreSQL that are full, one is
// full when the server begins a file of its log: then the server ends.
var (
	PostgreSQL = Backend{Name: "PostgreSQL", start: func(t testing.TB) (string, func(*Cluster)) {
		s := sqlserver.Postgres(t)
		database := s.DSN(s.Create(t))
		beginFile := func() {
			_ = queryRow(database, s.Driver(), "SELECT pg_switch_wal()", new(string)) // the server may end before its reply
		}
		return database, crash(s.Server,
			func(c *Cluster, d *serverprocess.Disk) { c.fill(s.Server, d) },
			func(c *Cluster, d *serverprocess.Disk) { c.fill(s.Server, d, beginFile) })
	}}
	MariaDB = Backend{Name: "MariaDB", start: func(t testing.TB) (string, func(*Cluster)) {
		s := sqlserver.MariaDB(t)
		return mariadb + s.DSN(s.Create(t)), crash(s.Server, func(c *Cluster, d *serverprocess.Disk) { c.fill(s.Server, d) })
	}}
)

// ZooKeeper is one server that keeps the numbered leases in its nodes.
var ZooKeeper = Backend{Name: "ZooKeeper", start: func(t testing.TB) (string, func(*Cluster)) {
	return zookeeper + zkserver.Start(t).Addr(), nil
}}

// Ensemble is three servers of ZooKeeper. A strike kills their leader, and starts it again three seconds after the others have one, or
// fills the leader's disk, in turns, if the system lets the test give each server a disk of its own.
var Ensemble = Backend{Name: "Ensemble of ZooKeeper", start: func(t testing.TB) (string, func(*Cluster)) {
	e := zkserver.StartEnsemble(t)
	disks := map[*zkserver.Server]*serverprocess.Disk{}
	for _, s := range e.Servers {
		disks[s] = s.MoveToDisk()
		e.Whole()
	}
	strikes := rand.IntN(2)
	return zookeeper + strings.Join(e.Addrs(), ","), func(c *Cluster) {
		strikes++
		leader := e.Leader()
		if d := disks[leader]; d != nil && strikes%2 == 0 {
			c.fill(leader.Server, d)
		} else {
			leader.Kill()
			e.Leader()
			c.Pass(3 * time.Second)
			leader.Restart()
		}
		e.Whole()
	}
}}

// A filling is a strike that fills the disk of a server.
type filling = func(*Cluster, *serverprocess.Disk)

// crash returns the strikes on one server, whose data lasts, in turns: it is killed, and started again two seconds later; it stands still
// for longer than a lease; between those, a filling, if the system lets the test give the server a disk of its own.
func crash(s *serverprocess.Server, fillings ...filling) func(c *Cluster) {
	kill := func(c *Cluster) {
		s.Kill()
		c.Pass(2 * time.Second)
		s.Restart()
	}
	freeze := func(c *Cluster) {
		s.Freeze()
		c.Pass(4 * time.Second)
		s.Thaw()
	}
	strikes := []func(*Cluster){kill, freeze}
	if d := s.MoveToDisk(); d != nil {
		for i, fill := range fillings {
			strikes = slices.Insert(strikes, 2*i+1, func(c *Cluster) { fill(c, d) })
		}
	}
	next := rand.IntN(len(strikes))
	return func(c *Cluster) {
		next++
		strikes[next%len(strikes)](c)
	}
}

// noSpace matches the lines about a full disk in the logs of PostgreSQL and ZooKeeper, of MariaDB, and of Redis, which writes a part
// first.
var noSpace = regexp.MustCompile("No space left on device|failed with error 28|Short write|Can't recover from AOF write error")

// fill fills the disk of a server, and calls then. The disk is full until four seconds after the server has failed to write to it. The
// server is started again then, if it has ended.
func (c *Cluster) fill(s *serverprocess.Server, d *serverprocess.Disk, then ...func()) {
	c.t.Helper()
	before := len(s.Log())
	d.Fill()
	for _, do := range then {
		do()
	}
	c.until("the server writes to its full disk", func() bool { return noSpace.MatchString(s.Log()[before:]) })
	c.Pass(4 * time.Second)
	c.t.Logf("the disk of %s was full; did the server live on? %t", s.Addr(), s.Runs())
	d.Free()
	if !s.Runs() {
		s.Restart()
	}
}

// The prefixes of addresses of other stores than one Redis and PostgreSQL.
const (
	zookeeper = "zookeeper://"
	mariadb   = "mariadb://"
	sentinel  = "sentinel://"
	cluster   = "cluster://"
)

// On returns the program for another store than Redis. Only members support others.
func (p Program) On(b Backend) Program {
	p.Name += " on " + b.Name
	p.backend = &b
	return p
}

// A store grants claims to members, and its journals are read by the check.
type store interface {
	scheduler.Store
	series.Journaled
}

// openStore opens the store at an address, which is the DSN of a PostgreSQL, mariadb:// and the DSN of a MariaDB, host:port of a Redis, or
// zookeeper://, sentinel:// or cluster:// and host:port of each server, Sentinel or node.
func openStore(ctx context.Context, addr, namespace string) (store, func(), error) {
	if strings.HasPrefix(addr, "postgres://") {
		return openDatabase(ctx, "pgx", addr, sqllock.PostgreSQL, namespace)
	}
	if dsn, found := strings.CutPrefix(addr, mariadb); found {
		return openDatabase(ctx, "mysql", dsn, sqllock.MySQL, namespace)
	}
	if servers, found := strings.CutPrefix(addr, zookeeper); found {
		return openZooKeeper(strings.Split(servers, ","), namespace)
	}
	client := NewClient(addr)
	d, err := redislock.New(client, redislock.Options{Namespace: namespace})
	if err != nil {
		return nil, nil, fmt.Errorf("proof: store: %w", err)
	}
	return d, func() { _ = client.Close() }, nil
}

// versionOf returns the version of the server at an address.
func versionOf(t testing.TB, addr string) string {
	t.Helper()
	var version string
	var err error
	switch servers, isZooKeeper := strings.CutPrefix(addr, zookeeper); {
	case isZooKeeper:
		first, _, _ := strings.Cut(servers, ",")
		version, err = zooKeeperVersion(first)
	case strings.HasPrefix(addr, "postgres://"):
		err = queryRow(addr, "pgx", "SHOW server_version", &version)
		version, _, _ = strings.Cut(version, " ")
	case strings.HasPrefix(addr, mariadb):
		err = queryRow(strings.TrimPrefix(addr, mariadb), "mysql", "SELECT version()", &version)
		version, _, _ = strings.Cut(version, "-")
	default:
		version = redisserver.Version()
	}
	if err != nil {
		t.Fatal(err)
	}
	return version
}

// zooKeeperVersion reads the version from the reply to a four-letter word.
func zooKeeperVersion(addr string) (string, error) {
	conn, err := net.DialTimeout("tcp", addr, patience)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "srvr"); err != nil {
		return "", err
	}
	reply, err := io.ReadAll(conn)
	_, rest, _ := strings.Cut(string(reply), "version: ")
	version, _, _ := strings.Cut(rest, "-")
	return version, err
}

func queryRow(dsn, driver, query string, value *string) error {
	db, err := sql.Open(driver, dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	return db.QueryRow(query).Scan(value)
}

// Begin opens a job in the cluster's Redis as a node did at an earlier instant that then died: no tick after
// that instant is decided. The store writes its own clock into the line of the opening, so Begin replaces it.
func (c *Cluster) Begin(j Job, at time.Time) {
	c.t.Helper()
	client := NewClient(c.addr)
	defer client.Close()
	d, err := redislock.New(client, redislock.Options{Namespace: namespace})
	if err != nil {
		c.t.Fatal(err)
	}
	o := series.OpenRequest{Key: j.Name, Node: "dead", Revision: "before", Spec: j.Spec(), Zone: "UTC", Begin: at.UnixMilli()}
	if s := d.Open(c.t.Context(), []series.OpenRequest{o})[0]; s.Err != nil {
		c.t.Fatal(s.Err)
	}
	journal := fmt.Sprintf("%s:v1:{%[1]s.0}:j:%s", namespace, j.Name)
	_, rest, _ := strings.Cut(client.LIndex(c.t.Context(), journal, 0).Val(), "|")
	if err := client.LSet(c.t.Context(), journal, 0, fmt.Sprintf("%d|%s", at.UnixMilli(), rest)).Err(); err != nil {
		c.t.Fatal(err)
	}
}

func openZooKeeper(servers []string, namespace string) (store, func(), error) {
	d, err := zklock.New(servers, zklock.Options{Namespace: namespace})
	if err != nil {
		return nil, nil, fmt.Errorf("proof: store: %w", err)
	}
	return d, func() { _ = d.Close() }, nil
}

func openDatabase(ctx context.Context, driver, dsn string, dialect sqllock.Dialect, namespace string) (store, func(), error) {
	db, err := sql.Open(driver, dsn)
	if err != nil {
		return nil, nil, fmt.Errorf("proof: store: %w", err)
	}
	d, err := sqllock.New(db, dialect, sqllock.Options{Namespace: namespace})
	if err == nil {
		err = d.CreateTables(ctx)
	}
	if err != nil {
		_ = db.Close()
		return nil, nil, fmt.Errorf("proof: store: %w", err)
	}
	return d, func() { _ = db.Close() }, nil
}
