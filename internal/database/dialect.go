// Package database contains the parts of the jobs that depend on the database: the differences
// between the dialects, and the migration of tables.
package database

import (
	"fmt"
	"strconv"
	"strings"
)

// A Dialect is the kind of a database.
type Dialect uint8

// The dialects. The zero value is SQLite.
const (
	SQLite     Dialect = iota // one host; open it with a busy timeout
	MySQL                     // and MariaDB
	PostgreSQL                // with any driver of database/sql
)

// String returns the name of the dialect, which is also its folder of migrations.
func (d Dialect) String() string {
	switch d {
	case SQLite:
		return "sqlite"
	case MySQL:
		return "mysql"
	case PostgreSQL:
		return "postgres"
	}
	return fmt.Sprintf("Dialect(%d)", uint8(d))
}

// Now returns an expression for the database's clock in Unix milliseconds. In MySQL it is the time
// at which the statement began: MySQL gives the current time only in the session's time zone, in
// which an hour of each year may occur twice.
func (d Dialect) Now() string {
	switch d {
	case MySQL:
		return "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000"
	case PostgreSQL:
		return "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)"
	}
	return "CAST(unixepoch('subsec') * 1000 AS INTEGER)"
}

// Bind numbers the placeholders (?) if the dialect requires it.
func (d Dialect) Bind(query string) string {
	if d != PostgreSQL {
		return query
	}
	var b strings.Builder
	for i, part := range strings.Split(query, "?") {
		if i > 0 {
			b.WriteString("$" + strconv.Itoa(i))
		}
		b.WriteString(part)
	}
	return b.String()
}

// Raise returns a statement that stores a fence unless a higher one is stored. The table has the
// columns of the key and the column fence; these are also the arguments of the statement.
func (d Dialect) Raise(table string, key ...string) string {
	columns := strings.Join(key, ", ")
	raise := "INSERT INTO " + table + " (" + columns + ", fence) VALUES (?" + strings.Repeat(", ?", len(key)) + ") "
	if d == MySQL {
		return raise + "ON DUPLICATE KEY UPDATE fence = GREATEST(fence, VALUES(fence))"
	}
	return d.Bind(raise + "ON CONFLICT (" + columns + ") DO UPDATE SET fence = excluded.fence WHERE " + table + ".fence < excluded.fence")
}
