package sqlserver_test

import (
	"slices"
	"testing"

	"github.com/cronce/cronce/internal/sqlserver"
)

func TestNotMySQL(t *testing.T) {
	for statement, want := range map[string][]string{
		"SELECT 1 FROM a WHERE b = 'RANK' -- rank":                                          nil,
		"SET @bound = 5 /*M!100300 , SESSION idle_transaction_timeout = 5 */ /* rank */":    nil,
		"UPDATE a SET b = 1 RETURNING b":                                                    {"RETURNING"},
		"CREATE TABLE a (rank INT, -- a\n groups INT)":                                      {"rank", "groups"},
		"INSERT INTO a (b) VALUES (?) ON DUPLICATE KEY UPDATE b = VALUES(b), r = r + 1":     nil,
		"SELECT last_insert_id(timestampdiff(microsecond, '1970-01-01', utc_timestamp(6)))": nil,
	} {
		if got := sqlserver.NotMySQL(statement); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", statement, got, want)
		}
	}
}
