package guard

import (
	"database/sql"
	"fmt"
)

// Condition returns the text of an SQL condition that is true unless the row has seen a higher
// fence. The statement must also set the column to the fence:
//
//	UPDATE invoice SET state = $1, fence = $2 WHERE id = $3 AND (fence IS NULL OR fence <= $2)
//
// Column is a BIGINT; placeholder is the parameter with the fence. Both become part of the
// statement unchanged: never take them from outside the program.
func Condition(column, placeholder string) string {
	return fmt.Sprintf("(%s IS NULL OR %s <= %s)", column, column, placeholder)
}

// Written returns nil if a statement with a [Condition] changed a row, and otherwise ErrStale: a
// higher fence was seen, or there is no such row. A driver for MySQL must count the rows that were
// found, not the rows that were changed (clientFoundRows=true), or a repeated write looks stale.
func Written(r sql.Result) error {
	n, err := r.RowsAffected()
	if err != nil {
		return fmt.Errorf("guard: rows affected: %w", err)
	}
	if n == 0 {
		return ErrStale
	}
	return nil
}
