package main

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/cronce/cronce/cmd/cronce/internal/boundedfile"
	"github.com/cronce/cronce/jobs/stock"
)

// The connections of a shop: its jobs run one at a time.
const (
	maxConnections     = 4
	connectionLifetime = 5 * time.Minute
	connectTimeout     = 5 * time.Second
	statementTimeout   = time.Minute // of the network, in both directions
)

const dsnAllowed = "allowed is postgres://user:password@host/database, mysql://user:password@host/database, or what the driver for MySQL takes"

// openDatabase makes the database of the shop. It does not connect; an error does
// not repeat the DSN, which holds a password. Dry, it reads no secrets.
func (c *config) openDatabase(dry bool) (*sql.DB, stock.Dialect, error) {
	if dry {
		db, err := sql.Open("sqlite", "file::memory:")
		return db, stock.SQLite, err
	}
	d := c.Shop.Database
	dsn, err := c.readSecret("shop.database.dsn", d.DSNFile, d.DSNEnv, defaultDSNEnv)
	if err != nil {
		return nil, 0, err
	}
	if text := dsn.text(); text != "" && d.File == "" {
		first, dialect, err := connectorOf(text)
		if err != nil {
			return nil, 0, c.fault("shop.database", "the DSN %v", err)
		}
		if dsnInPlain(text) {
			err = c.inPlain("shop.database", "the DSN "+plainDSN)
			if err != nil {
				return nil, 0, err
			}
		}
		if d.DSNFile != "" {
			if first, err = c.rereadDSN(d.DSNFile, dialect); err != nil {
				return nil, 0, err
			}
		}
		db := sql.OpenDB(first)
		db.SetMaxOpenConns(maxConnections)
		db.SetMaxIdleConns(maxConnections)
		db.SetConnMaxLifetime(connectionLifetime)
		return db, dialect, nil
	}
	if d.File == "" {
		d.File = defaultDatabase
	}
	db, err := openFile(d.File)
	if err != nil {
		return nil, 0, c.fault("shop.database.file", "%v", err)
	}
	return db, stock.SQLite, nil
}

// A dsnFile connects to the database that the DSN in a file names at that time.
type dsnFile struct {
	driver.Connector // the first one, for its driver
	now              *current[driver.Connector]
}

// Connect makes one connection.
func (f dsnFile) Connect(ctx context.Context) (driver.Conn, error) {
	return f.now.value().Connect(ctx)
}

func (c *config) rereadDSN(name string, dialect stock.Dialect) (driver.Connector, error) {
	now, err := newCurrent(c.stale, func() (driver.Connector, error) {
		dsn, err := c.secretFile("shop.database.dsn_file", name)
		if err != nil {
			return nil, err
		}
		connector, kind, err := connectorOf(dsn.text())
		if err == nil && kind != dialect {
			err = errors.New("names a database of another kind than it did at the start")
		}
		if err != nil {
			return nil, c.fault("shop.database", "the DSN %v", err)
		}
		return connector, nil
	}, name)
	return dsnFile{now.last, now}, err
}

// connectorOf connects to the database that a DSN names.
func connectorOf(dsn string) (driver.Connector, stock.Dialect, error) {
	if strings.Contains(dsn, "://") && strayAt(dsn) {
		return nil, 0, errors.New(strayAtSays)
	}
	scheme, _, _ := strings.Cut(dsn, "://")
	switch scheme {
	case "postgres", "postgresql":
		config, err := pgx.ParseConfig(dsn)
		if err != nil {
			return nil, 0, errors.New("is none that PostgreSQL takes, " + dsnAllowed)
		}
		if config.ConnectTimeout == 0 {
			config.ConnectTimeout = connectTimeout
		}
		return stdlib.GetConnector(*config), stock.PostgreSQL, nil
	case "mysql", "mariadb":
		u, err := url.Parse(dsn)
		if err != nil {
			return nil, 0, errors.New("is no URL, " + dsnAllowed)
		}
		return openMySQL(mysqlDSN(u))
	}
	return openMySQL(dsn)
}

// mysqlDSN is a URL as the driver takes it.
func mysqlDSN(u *url.URL) string {
	user := u.User.Username()
	if password, ok := u.User.Password(); ok {
		user += ":" + password
	}
	address := u.Host
	if u.Port() == "" {
		address += ":3306"
	}
	dsn := user + "@tcp(" + address + ")" + u.Path
	if u.RawQuery != "" {
		dsn += "?" + u.RawQuery
	}
	return dsn
}

func openMySQL(dsn string) (driver.Connector, stock.Dialect, error) {
	config, err := mysql.ParseDSN(dsn)
	if err != nil || config.DBName == "" {
		return nil, 0, errors.New("is none, or names no database, " + dsnAllowed)
	}
	config.InterpolateParams = true // one round trip for a batch
	config.Timeout = connectTimeout
	config.ReadTimeout, config.WriteTimeout = statementTimeout, statementTimeout
	connector, err := mysql.NewConnector(config)
	if err != nil {
		return nil, 0, errors.New("is none that MySQL takes, " + dsnAllowed)
	}
	return connector, stock.MySQL, nil
}

// silence keeps the driver from printing beside our log; its errors reach us as
// errors.
type silence struct{}

func (silence) Print(...any) {}

// All connections of the driver share one logger, in a variable without a lock: it is
// set before any of them can be there.
var _ = mysql.SetLogger(silence{})

// openFile opens an SQLite database that only this user may read: it holds who
// gets what. Commits reach the disk.
func openFile(name string) (*sql.DB, error) {
	path, err := filepath.Abs(name)
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("is a %s, allowed is a regular file", boundedfile.Kind(info.Mode()))
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("names a file that cannot be used: %w", boundedfile.WithoutName(err)) // the name may be a DSN in the wrong place
	}
	if err := f.Close(); err != nil {
		return nil, err
	}
	u := url.URL{Scheme: "file", Path: path, RawQuery: "_pragma=busy_timeout(5000)&_pragma=journal_mode(WAL)" +
		"&_pragma=synchronous(FULL)&_pragma=foreign_keys(1)&_txlock=immediate"}
	return sql.Open("sqlite", u.String())
}
