package stock

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/pressly/goose/v3"
)

// A Dialect is the kind of a database.
type Dialect uint8

// The dialects. The zero value is SQLite.
const (
	SQLite     Dialect = iota // one host; open it with a busy timeout
	MySQL                     // and MariaDB
	PostgreSQL                // with any driver of database/sql
)

// String is the name of the dialect, and of its folder of migrations.
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

func (d Dialect) goose() goose.Dialect {
	switch d {
	case MySQL:
		return goose.DialectMySQL
	case PostgreSQL:
		return goose.DialectPostgres
	}
	return goose.DialectSQLite3
}

// bound ends the transaction of a process that was stopped in the middle of it,
// so that it does not block the next run for longer than its lease does. SQLite
// and MySQL know nothing like it: there a stopped process blocks until it goes on
// or dies. The comment is for MariaDB to execute. PostgreSQL plans by statistics
// that it takes now and then: of a table that has just grown from nothing it would
// read every row for each key.
func (d Dialect) bound() string {
	switch d {
	case MySQL:
		return "SET @bound = 5 /*M!100300 , SESSION idle_transaction_timeout = 5 */"
	case PostgreSQL:
		return "SELECT set_config('idle_in_transaction_session_timeout', '5s', true), set_config('enable_seqscan', 'off', true)"
	}
	return ""
}

// now is the database's clock in Unix milliseconds.
func (d Dialect) now() string {
	switch d {
	case MySQL:
		return "CAST(UNIX_TIMESTAMP(SYSDATE(3)) * 1000 AS SIGNED)"
	case PostgreSQL:
		return "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)"
	}
	return "CAST(unixepoch('subsec') * 1000 AS INTEGER)"
}

// bind numbers the placeholders where the dialect wants that.
func (d Dialect) bind(query string) string {
	if d != PostgreSQL {
		return query
	}
	var b strings.Builder
	n := 0
	for i := range len(query) {
		if query[i] != '?' {
			b.WriteByte(query[i])
			continue
		}
		n++
		b.WriteString("$" + strconv.Itoa(n))
	}
	return b.String()
}

// upsert is what follows the rows of an INSERT so that rows that are there take
// the values of columns; sums are columns that the values are added to.
func (d Dialect) upsert(table, key string, columns, sums []string) string {
	excluded, conflict := "excluded.%[1]s", " ON CONFLICT ("+key+") DO UPDATE SET "
	if d == MySQL {
		excluded, conflict = "VALUES(%[1]s)", " ON DUPLICATE KEY UPDATE "
	}
	sets := make([]string, 0, len(columns)+len(sums))
	for _, c := range columns {
		sets = append(sets, fmt.Sprintf("%[1]s = "+excluded, c))
	}
	for _, c := range sums {
		sets = append(sets, fmt.Sprintf("%[1]s = "+table+".%[1]s + "+excluded, c))
	}
	return conflict + strings.Join(sets, ", ")
}
