package sqlserver

import (
	"regexp"
	"slices"
	"strings"
)

// The tests run on MariaDB. MySQL would treat these words differently: it does not know or support
// some of them, and since version 8 it reserves others that MariaDB does not reserve.
var (
	unknown = strings.Fields("RETURNING EXCLUDED SEQUENCE NEXTVAL LASTVAL SETVAL MINUS EXAMINED VERSIONING PERIOD INET4 INET6 UUID" +
		" IDLE_TRANSACTION_TIMEOUT IDLE_WRITE_TRANSACTION_TIMEOUT MAX_STATEMENT_TIME CLOCK_TIMESTAMP")
	reserved = strings.Fields("CUBE CUME_DIST DENSE_RANK EMPTY EXCEPT FIRST_VALUE FUNCTION GENERATED GET GROUPING GROUPS INTERSECT" +
		" JSON_TABLE LAG LAST_VALUE LATERAL LEAD LIBRARY MANUAL NTH_VALUE NTILE OF OPTIMIZER_COSTS PARALLEL PERCENT_RANK QUALIFY RANK" +
		" RECURSIVE ROW_NUMBER STORED SYSTEM TABLESAMPLE VIRTUAL WINDOW")
)

// aside matches the parts of a statement that are not words for MySQL: comments, except for
// comments that MariaDB executes, and text literals.
var (
	aside = regexp.MustCompile(`(?s)--[^\n]*|/\*[^!].*?\*/|'[^']*'`)
	words = regexp.MustCompile(`\w+`)
)

// NotMySQL returns the words of a statement that MySQL 8 would treat differently than MariaDB.
func NotMySQL(statement string) (bad []string) {
	for _, word := range words.FindAllString(aside.ReplaceAllString(statement, " "), -1) {
		if w := strings.ToUpper(word); slices.Contains(unknown, w) || slices.Contains(reserved, w) {
			bad = append(bad, word)
		}
	}
	return bad
}
