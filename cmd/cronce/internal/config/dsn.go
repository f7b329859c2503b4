package config

import (
	"errors"
	"net/url"
	"slices"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/cronce/cronce/internal/database"
)

// A DSN is what a DSN without the driver's own form says.
type DSN struct {
	Dialect     database.Dialect
	Driver      string
	Source      string // for the driver; it may have a password
	Shown       string // for people
	HasPassword bool
}

const saleDSNAllowed = "must be postgres://user@host:port/database, mysql://user@host:port/database or sqlite:path"

// ParseDSN never repeats a password: neither the DSN nor what a parser says about
// it is part of an error.
func ParseDSN(dsn string) (DSN, error) {
	if path, ok := strings.CutPrefix(dsn, "sqlite:"); ok {
		return SQLiteDSN(path)
	}
	u, err := url.Parse(dsn)
	if err != nil || u.Host == "" || strings.Trim(u.Path, "/") == "" {
		return DSN{}, errors.New("is no DSN of a database, " + saleDSNAllowed)
	}
	if strayAt(dsn) {
		return DSN{}, errors.New(strayAtSays)
	}
	d := DSN{Shown: u.Scheme + "://" + u.Host + u.EscapedPath()}
	if u.User != nil {
		_, d.HasPassword = u.User.Password()
	}
	d.HasPassword = d.HasPassword || slices.ContainsFunc([]string{"password", "passwd", "sslpassword"}, u.Query().Has)
	switch u.Scheme {
	case "postgres", "postgresql":
		d.Dialect, d.Driver, d.Source = database.PostgreSQL, "pgx", dsn
	case "mysql", "mariadb":
		return d.mysql(u)
	default:
		return DSN{}, errors.New("is no DSN of a database that is known here, " + saleDSNAllowed)
	}
	return d, nil
}

// SQLiteDSN waits for other processes, and locks when a transaction begins: one
// that read first, and only then finds that another has written, must fail.
func SQLiteDSN(path string) (DSN, error) {
	if path == "" || strings.ContainsAny(path, "?#") {
		return DSN{}, errors.New("names no file, " + saleDSNAllowed)
	}
	options := "?_txlock=immediate&_pragma=busy_timeout(60000)&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)"
	return DSN{Dialect: database.SQLite, Driver: "sqlite", Source: "file:" + (&url.URL{Path: path}).EscapedPath() + options, Shown: "sqlite:" + path}, nil
}

// mysql turns the URL into what the driver wants.
func (d DSN) mysql(u *url.URL) (DSN, error) {
	c, err := mysql.ParseDSN(mysqlDSN(u))
	if err != nil {
		return DSN{}, errors.New("is none that MySQL takes, " + saleDSNAllowed)
	}
	c.ClientFoundRows = true // a row that already has the fence was written
	c.InterpolateParams = true
	c.Timeout = connectTimeout
	d.Dialect, d.Driver, d.Source = database.MySQL, "mysql", c.FormatDSN()
	return d, nil
}

// InPlain says that the driver may connect to another machine without TLS; "" if it does not.
func (d DSN) InPlain() string {
	if dsnInPlain(d.Source) {
		return plainDSN
	}
	return ""
}
