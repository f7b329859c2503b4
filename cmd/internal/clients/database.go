package clients

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/internal/database"
)

const (
	connectTimeout     = 15 * time.Second // to connect to a server and to log in
	connectionLifetime = 5 * time.Minute  // the longest use of one connection
)

// All connections of the driver share one logger in a package variable without a lock, so it is set
// before the first connection.
var _ = mysql.SetLogger(noLog{})

// OpenDatabase opens a database with at most so many connections. It does not connect. Its error
// does not repeat the DSN, which may hold a password.
func OpenDatabase(d config.DSN, connections int) (*sql.DB, error) {
	db, err := open(d, connectTimeout)
	if err != nil {
		return nil, errors.New("is none that its driver takes")
	}
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	db.SetConnMaxLifetime(connectionLifetime)
	return db, nil
}

// open limits the time of a login, unless the DSN does. A server that accepts the connection and is then silent would
// otherwise hold the caller until its context ends.
func open(d config.DSN, limit time.Duration) (*sql.DB, error) {
	switch d.Dialect {
	case database.PostgreSQL:
		c, err := stdlib.GetDefaultDriver().(driver.DriverContext).OpenConnector(limited(d.Source, limit))
		if err != nil {
			return nil, err
		}
		return sql.OpenDB(inOneLine{c}), nil
	case database.MySQL:
		cfg, err := mysql.ParseDSN(d.Source)
		if err != nil {
			return nil, err
		}
		c, err := mysql.NewConnector(cfg)
		if err != nil {
			return nil, err
		}
		return sql.OpenDB(bounded{c, cmp.Or(cfg.Timeout, limit)}), nil
	}
	return sql.Open("sqlite", d.Source)
}

// limited adds the limit to the DSN of PostgreSQL, unless its user has set one. The driver applies it
// to each of several hosts, so that a silent one does not take the time of the next.
func limited(dsn string, limit time.Duration) string {
	u, err := url.Parse(dsn)
	if err != nil || u.Query().Has("connect_timeout") || os.Getenv("PGCONNECT_TIMEOUT") != "" {
		return dsn
	}
	q := u.Query()
	q.Set("connect_timeout", strconv.Itoa(int(limit/time.Second)))
	u.RawQuery = q.Encode()
	return u.String()
}

// A bounded connector limits the time of a login to MySQL: the driver's timeout is only for the connection.
type bounded struct {
	driver.Connector
	limit time.Duration
}

func (b bounded) Connect(ctx context.Context) (driver.Conn, error) {
	ctx, stop := context.WithTimeout(ctx, b.limit)
	defer stop()
	return b.Connector.Connect(ctx)
}

// An inOneLine connector puts the errors of logins to PostgreSQL into one line: its driver has a line, with a tab, for
// each address that it tried.
type inOneLine struct{ driver.Connector }

func (l inOneLine) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := l.Connector.Connect(ctx)
	if err != nil {
		return nil, &lineError{err}
	}
	return c, nil
}

// A lineError has the lines of its error as one, with semicolons between them.
type lineError struct{ err error }

func (e *lineError) Error() string {
	return strings.NewReplacer(":\n\t", ": ", "\n\t", "; ", "\n", "; ", "\t", " ").Replace(e.err.Error())
}

func (e *lineError) Unwrap() error { return e.err }
