package sqltext

import (
	"fmt"
	"strings"

	"github.com/cronce/cronce/internal/database"
)

// Bound ends the transaction of a process that was stopped in the middle of it,
// so that it does not block the next run for longer than its lease does. SQLite
// and MySQL know nothing like it: there a stopped process blocks until it goes on
// or dies. The comment is for MariaDB to execute. PostgreSQL plans by statistics
// that it takes now and then: of a table that has just grown from nothing it would
// read every row for each key.
func Bound(d database.Dialect) string {
	switch d {
	case database.MySQL:
		return "SET @bound = 5 /*M!100300 , SESSION idle_transaction_timeout = 5 */"
	case database.PostgreSQL:
		return "SELECT set_config('idle_in_transaction_session_timeout', '5s', true), set_config('enable_seqscan', 'off', true)"
	}
	return ""
}

// UnlessThere is what follows the rows of an INSERT into product so that rows which
// are there stay as they are.
func UnlessThere(d database.Dialect) string {
	if d == database.MySQL {
		return " ON DUPLICATE KEY UPDATE sku = VALUES(sku)"
	}
	return " ON CONFLICT DO NOTHING"
}

// Upsert is what follows the rows of an INSERT so that rows that are there take
// the values of columns; sums are columns that the values are added to.
func Upsert(d database.Dialect, table, key string, columns, sums []string) string {
	excluded, conflict := "excluded.%[1]s", " ON CONFLICT ("+key+") DO UPDATE SET "
	if d == database.MySQL {
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
