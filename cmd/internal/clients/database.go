package clients

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/internal/database"
)

const (
	connectTimeout     = 15 * time.Second // to connect and to log in
	connectionLifetime = 5 * time.Minute  // the longest use of one connection
)

// All connections of the driver share one logger in a package variable without a lock, so it is set
// before the first connection.
var _ = mysql.SetLogger(noLog{})

// OpenDatabase opens a database with at most so many connections. It does not connect. Its error
// does not repeat the DSN, which may hold a password.
func OpenDatabase(d config.DSN, connections int) (*sql.DB, error) {
	db, err := open(d)
	if err != nil {
		return nil, errors.New("is none that its driver takes")
	}
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	db.SetConnMaxLifetime(connectionLifetime)
	return db, nil
}

func open(d config.DSN) (*sql.DB, error) {
	drivers := map[database.Dialect]driver.DriverContext{
		database.PostgreSQL: stdlib.GetDefaultDriver().(driver.DriverContext),
		database.MySQL:      mysql.MySQLDriver{},
	}
	remote, ok := drivers[d.Dialect]
	if !ok {
		return sql.Open("sqlite", d.Source)
	}
	c, err := remote.OpenConnector(d.Source)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(bounded{c, connectTimeout}), nil
}

// A bounded connector limits the time of a login. A server that accepts the connection and is then
// silent would otherwise hold the caller until its context ends.
type bounded struct {
	driver.Connector
	limit time.Duration
}

func (b bounded) Connect(ctx context.Context) (driver.Conn, error) {
	ctx, stop := context.WithTimeout(ctx, b.limit)
	defer stop()
	return b.Connector.Connect(ctx)
}
