package sqlserver

import (
	"regexp"
	"slices"
	"strings"
)

// The tests run on MariaDB. These words are what MySQL would take otherwise: those
// that it does not know, or refuses here, and those that it reserves since version
// 8 and MariaDB does not.
var (
	unknown = strings.Fields("RETURNING EXCLUDED SEQUENCE NEXTVAL LASTVAL SETVAL MINUS EXAMINED VERSIONING PERIOD INET4 INET6 UUID" +
		" IDLE_TRANSACTION_TIMEOUT IDLE_WRITE_TRANSACTION_TIMEOUT MAX_STATEMENT_TIME CLOCK_TIMESTAMP")
	reserved = strings.Fields("CUBE CUME_DIST DENSE_RANK EMPTY EXCEPT FIRST_VALUE FUNCTION GENERATED GET GROUPING GROUPS INTERSECT" +
		" JSON_TABLE LAG LAST_VALUE LATERAL LEAD LIBRARY MANUAL NTH_VALUE NTILE OF OPTIMIZER_COSTS PARALLEL PERCENT_RANK QUALIFY RANK" +
		" RECURSIVE ROW_NUMBER STORED SYSTEM TABLESAMPLE VIRTUAL WINDOW")
)

// aside is what MySQL does not read, comments that MariaDB executes included, and
// what it takes as a text.
var (
	aside = regexp.MustCompile(`(?s)--[^\n]*|/\*[^!].*?\*/|'[^']*'`)
	words = regexp.MustCompile(`\w+`)
)

// NotMySQL returns the words of a statement that MySQL 8 would not take as MariaDB
// does.
func NotMySQL(statement string) (bad []string) {
	for _, word := range words.FindAllString(aside.ReplaceAllString(statement, " "), -1) {
		if w := strings.ToUpper(word); slices.Contains(unknown, w) || slices.Contains(reserved, w) {
			bad = append(bad, word)
		}
	}
	return bad
}
