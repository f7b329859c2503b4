package config

import (
	"context"
	"database/sql/driver"
	"errors"
	"net/url"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/cronce/cronce/jobs/stock"
)

// Time limits for the drivers of databases.
const (
	connectTimeout   = 5 * time.Second
	statementTimeout = time.Minute // of the network, in both directions
)

const dsnAllowed = "must be postgres://user:password@host/database, mysql://user:password@host/database, or a DSN of the driver for MySQL"

// DatabaseConnector returns the connector of the shop's database. It reads the DSN from its file
// again for each connection. It returns nil without a DSN: the database is then an SQLite file. Its
// error does not repeat the DSN, which holds a password.
func (c *Config) DatabaseConnector() (driver.Connector, stock.Dialect, error) {
	d := c.Shop.Database
	dsn, err := c.readSecret("shop.database.dsn", d.DSNFile, d.DSNEnv, DSNEnv)
	if err != nil {
		return nil, 0, err
	}
	text := dsn.Text()
	if text == "" || d.File != "" {
		return nil, stock.SQLite, nil
	}
	connector, dialect, err := connectorOf(text)
	if err != nil {
		return nil, 0, c.Fault("shop.database", "the DSN %v", err)
	}
	if dsnInPlain(text) {
		if err := c.inPlain("shop.database", "the DSN "+plainDSN); err != nil {
			return nil, 0, err
		}
	}
	if d.DSNFile != "" {
		connector, err = c.rereadDSN(d.DSNFile, dialect)
	}
	return connector, dialect, err
}

// A dsnFile is a connector that reads the DSN from its file for each connection.
type dsnFile struct {
	driver.Connector // the first connector, for its driver
	now              *current[driver.Connector]
}

// Connect makes one connection.
func (f dsnFile) Connect(ctx context.Context) (driver.Conn, error) {
	return f.now.value().Connect(ctx)
}

func (c *Config) rereadDSN(name string, dialect stock.Dialect) (driver.Connector, error) {
	now, err := newCurrent(c.stale, func() (driver.Connector, error) {
		dsn, err := c.SecretFile("shop.database.dsn_file", name)
		if err != nil {
			return nil, err
		}
		connector, kind, err := connectorOf(dsn.Text())
		if err == nil && kind != dialect {
			err = errors.New("names a database of another kind than it did at the start")
		}
		if err != nil {
			return nil, c.Fault("shop.database", "the DSN %v", err)
		}
		return connector, nil
	}, name)
	return dsnFile{now.last, now}, err
}

// connectorOf returns the connector of the database that a DSN names.
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

// mysqlDSN converts a URL into the form of the MySQL driver.
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
