package main

import (
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/cronce/cronce/cmd/cronce/internal/oversell"
)

// A database is what a DSN says.
type database struct {
	dialect     oversell.Dialect
	driver      string
	source      string // for the driver; it may have a password
	shown       string // for people
	hasPassword bool
}

const saleDSNAllowed = "allowed is postgres://user@host:port/database, mysql://user@host:port/database or sqlite:path"

// parseDSN never repeats a password: neither the DSN nor what a parser says about
// it is part of an error.
func parseDSN(dsn string) (database, error) {
	if path, ok := strings.CutPrefix(dsn, "sqlite:"); ok {
		return sqliteDSN(path)
	}
	u, err := url.Parse(dsn)
	if err != nil || u.Host == "" || strings.Trim(u.Path, "/") == "" {
		return database{}, errors.New("is no DSN of a database, " + saleDSNAllowed)
	}
	if strayAt(dsn) {
		return database{}, errors.New(strayAtSays)
	}
	d := database{shown: u.Scheme + "://" + u.Host + u.EscapedPath()}
	if u.User != nil {
		_, d.hasPassword = u.User.Password()
	}
	d.hasPassword = d.hasPassword || slices.ContainsFunc([]string{"password", "passwd", "sslpassword"}, u.Query().Has)
	switch u.Scheme {
	case "postgres", "postgresql":
		d.dialect, d.driver, d.source = oversell.PostgreSQL, "pgx", dsn
	case "mysql", "mariadb":
		return d.mysql(u)
	default:
		return database{}, errors.New("is no DSN of a database that is known here, " + saleDSNAllowed)
	}
	return d, nil
}

// sqliteDSN waits for other processes, and locks when a transaction begins: one
// that read first, and only then finds that another has written, must fail.
func sqliteDSN(path string) (database, error) {
	if path == "" || strings.ContainsAny(path, "?#") {
		return database{}, errors.New("names no file, " + saleDSNAllowed)
	}
	options := "?_txlock=immediate&_pragma=busy_timeout(60000)&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)"
	return database{dialect: oversell.SQLite, driver: "sqlite", source: "file:" + (&url.URL{Path: path}).EscapedPath() + options, shown: "sqlite:" + path}, nil
}

// mysql turns the URL into what the driver wants.
func (d database) mysql(u *url.URL) (database, error) {
	c, err := mysql.ParseDSN(mysqlDSN(u))
	if err != nil {
		return database{}, errors.New("is none that MySQL takes, " + saleDSNAllowed)
	}
	c.ClientFoundRows = true // a row that already has the fence was written
	c.InterpolateParams = true
	c.Timeout = connectTimeout
	d.dialect, d.driver, d.source = oversell.MySQL, "mysql", c.FormatDSN()
	return d, nil
}
