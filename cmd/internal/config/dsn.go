package config

import (
	"errors"
	"net/url"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/cronce/cronce/internal/database"
)

// A DSN is a parsed DSN in the form of a URL.
type DSN struct {
	Dialect     database.Dialect
	Source      string // for the driver; it may have a password
	Shown       string // for people
	File        string // of SQLite
	HasPassword bool
}

const saleDSNAllowed = "must be postgres://user@host:port/database, mysql://user@host:port/database or sqlite:path"

// ParseDSN parses a DSN. Its error repeats neither the DSN nor the text of a parser's error, so
// that it contains no password.
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
	if !portsFit(u, u.Host) {
		return DSN{}, errors.New(badPort + ", " + saleDSNAllowed)
	}
	d := DSN{Shown: u.Scheme + "://" + u.Host + u.EscapedPath(), HasPassword: passwordIn(u)}
	switch u.Scheme {
	case "postgres", "postgresql":
		if err := paramFault(StorePostgres, u); err != nil {
			return DSN{}, err
		}
		d.Dialect, d.Source = database.PostgreSQL, dsn
		return d, nil
	case "mysql", "mariadb":
		return d.mysql(u)
	}
	return DSN{}, errors.New("is no DSN of a database that is known here, " + saleDSNAllowed)
}

// SQLiteDSN returns the DSN of a file. Transactions wait for other processes, and lock the file
// when they begin. Otherwise a transaction that reads first, while another one writes, would have
// to fail.
func SQLiteDSN(path string) (DSN, error) {
	if path == "" || strings.ContainsAny(path, "?#") {
		return DSN{}, errors.New("names no file, " + saleDSNAllowed)
	}
	options := "?_txlock=immediate&_pragma=busy_timeout(60000)&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)"
	return DSN{Dialect: database.SQLite, Source: "file:" + (&url.URL{Path: path}).EscapedPath() + options, Shown: "sqlite:" + path, File: path}, nil
}

// mysql converts the URL into the form of the driver.
func (d DSN) mysql(u *url.URL) (DSN, error) {
	if err := paramFault(StoreMySQL, u); err != nil {
		return DSN{}, err
	}
	c, err := mysql.ParseDSN(mysqlDSN(u))
	if err != nil {
		return DSN{}, errors.New("is none that MySQL takes, " + saleDSNAllowed)
	}
	c.ClientFoundRows = true // an UPDATE that changes nothing still counts its row
	c.InterpolateParams = true
	d.Dialect, d.Source = database.MySQL, c.FormatDSN()
	return d, nil
}
