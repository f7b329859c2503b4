package reward

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

// now is the database's clock in Unix milliseconds.
func (d Dialect) now() string {
	switch d {
	case MySQL:
		return "CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000 AS SIGNED)"
	case PostgreSQL:
		return "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)"
	}
	return "CAST(unixepoch('subsec') * 1000 AS INTEGER)"
}

// raise remembers a fence unless a higher one was seen: arguments are family,
// reward and fence.
func (d Dialect) raise() string {
	insert := "INSERT INTO reward_fence (family, reward, fence) VALUES (?, ?, ?) "
	if d == MySQL {
		return insert + "ON DUPLICATE KEY UPDATE fence = GREATEST(fence, VALUES(fence))"
	}
	return insert + "ON CONFLICT (family, reward) DO UPDATE SET fence = excluded.fence WHERE reward_fence.fence < excluded.fence"
}

// insert records a claim unless there is a record, or a higher fence was seen:
// arguments are family, reward, member, fence, family, reward and fence.
func (d Dialect) insert() string {
	insert := "INSERT INTO reward_record (family, reward, member, fence, recorded_at) " +
		"SELECT ?, ?, ?, ?, " + d.now() + " FROM reward_fence WHERE family = ? AND reward = ? AND fence = ? "
	if d == MySQL {
		return insert + "ON DUPLICATE KEY UPDATE reward_record.fence = reward_record.fence"
	}
	return insert + "ON CONFLICT (family, reward) DO NOTHING"
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
