package proof

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // registers pgx

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
	Name string

	start func(t testing.TB) (addr string)
}

// PostgreSQL is one database with numbered leases in its tables.
var PostgreSQL = Backend{Name: "PostgreSQL", start: func(t testing.TB) string {
	s := sqlserver.Postgres(t)
	return s.DSN(s.Create(t))
}}

// ZooKeeper is one server that keeps the numbered leases in its nodes.
var ZooKeeper = Backend{Name: "ZooKeeper", start: func(t testing.TB) string {
	return zookeeper + zkserver.Start(t).Addr()
}}

// InEnsemble returns the backend of an ensemble that the test has started and may disturb.
func InEnsemble(e *zkserver.Ensemble) Backend {
	return Backend{Name: "an ensemble of ZooKeeper", start: func(testing.TB) string {
		return zookeeper + strings.Join(e.Addrs(), ",")
	}}
}

const zookeeper = "zookeeper://" // the prefix of an address of ZooKeeper

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

// openStore opens the store at an address: the DSN of a PostgreSQL, zookeeper://
// and the host:port of each server of a ZooKeeper, or host:port of a Redis.
func openStore(ctx context.Context, addr, namespace string) (store, func(), error) {
	if strings.HasPrefix(addr, "postgres://") {
		return openPostgres(ctx, addr, namespace)
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

func openPostgres(ctx context.Context, dsn, namespace string) (store, func(), error) {
	db, err := sql.Open("pgx", dsn)
	if err != nil {
		return nil, nil, fmt.Errorf("proof: store: %w", err)
	}
	d, err := sqllock.New(db, sqllock.PostgreSQL, sqllock.Options{Namespace: namespace})
	if err == nil {
		err = d.CreateTables(ctx)
	}
	if err != nil {
		_ = db.Close()
		return nil, nil, fmt.Errorf("proof: store: %w", err)
	}
	return d, func() { _ = db.Close() }, nil
}
