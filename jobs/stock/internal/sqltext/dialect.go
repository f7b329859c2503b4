package sqltext

import (
	"fmt"
	"strings"

	"github.com/cronce/cronce/internal/database"
)

// Bound returns a statement that makes the database end the transaction of a stopped process, so
// that it does not block the next run for longer than its lease. MariaDB executes the comment.
// SQLite and MySQL have no such limit: there a stopped process blocks until it continues or dies.
//
// The statement for PostgreSQL also forbids sequential scans: PostgreSQL plans by statistics that
// it collects now and then, and would scan a whole table that has just grown from nothing.
func Bound(d database.Dialect) string {
	switch d {
	case database.MySQL:
		return "SET @bound = 5 /*M!100300 , SESSION idle_transaction_timeout = 5 */"
	case database.PostgreSQL:
		return "SELECT set_config('idle_in_transaction_session_timeout', '5s', true), set_config('enable_seqscan', 'off', true)"
	}
	return ""
}

// UnlessThere is the suffix of an INSERT into product that leaves existing rows unchanged.
func UnlessThere(d database.Dialect) string {
	if d == database.MySQL {
		return " ON DUPLICATE KEY UPDATE sku = VALUES(sku)"
	}
	return " ON CONFLICT DO NOTHING"
}

// Upsert is the suffix of an INSERT that replaces columns of existing rows.
func Upsert(d database.Dialect, key string, columns []string) string {
	excluded, conflict := "excluded.%s", " ON CONFLICT ("+key+") DO UPDATE SET "
	if d == database.MySQL {
		excluded, conflict = "VALUES(%s)", " ON DUPLICATE KEY UPDATE "
	}
	sets := make([]string, len(columns))
	for i, c := range columns {
		sets[i] = c + " = " + fmt.Sprintf(excluded, c)
	}
	return conflict + strings.Join(sets, ", ")
}
