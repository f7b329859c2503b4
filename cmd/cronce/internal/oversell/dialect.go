package oversell

import (
	"strconv"
	"strings"
)

// A Dialect is the kind of a database.
type Dialect string

// The dialects.
const (
	SQLite     Dialect = "SQLite"
	MySQL      Dialect = "MySQL" // and MariaDB
	PostgreSQL Dialect = "PostgreSQL"
)

// forUpdate locks the rows that a SELECT finds.
func (d Dialect) forUpdate() string {
	if d == SQLite {
		return "" // the transaction has locked the database
	}
	return " FOR UPDATE"
}

// bind numbers the placeholders where the dialect wants that.
func (d Dialect) bind(query string) string {
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
