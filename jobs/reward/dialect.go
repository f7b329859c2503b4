package reward

import "github.com/cronce/cronce/internal/database"

// A Dialect is the kind of a database.
type Dialect = database.Dialect

// The dialects. The zero value is SQLite.
const (
	SQLite     = database.SQLite     // one host; open it with a busy timeout
	MySQL      = database.MySQL      // and MariaDB
	PostgreSQL = database.PostgreSQL // with any driver of database/sql
)

// insert records a claim unless there is a record, or a higher fence was seen:
// arguments are family, reward, member, fence, family, reward and fence.
func insert(d Dialect) string {
	text := "INSERT INTO reward_record (family, reward, member, fence, recorded_at) " +
		"SELECT ?, ?, ?, ?, " + d.Now() + " FROM reward_fence WHERE family = ? AND reward = ? AND fence = ? "
	if d == MySQL {
		return text + "ON DUPLICATE KEY UPDATE reward_record.fence = reward_record.fence"
	}
	return d.Bind(text + "ON CONFLICT (family, reward) DO NOTHING")
}

// offer records that a reward may be claimed, unless there is a record: arguments are family
// and reward.
func offer(d Dialect) string {
	text := "INSERT INTO reward_record (family, reward, member, fence, recorded_at, state, offered_at) " +
		"VALUES (?, ?, '', 0, 0, 'offered', " + d.Now() + ") "
	if d == MySQL {
		return text + "ON DUPLICATE KEY UPDATE reward_record.fence = reward_record.fence"
	}
	return d.Bind(text + "ON CONFLICT (family, reward) DO NOTHING")
}

// step makes a step of a record from one of the states, unless a higher fence was seen. Arguments
// are those of set, then family, reward, family, reward and fence.
func step(d Dialect, set, from string) string {
	return d.Bind("UPDATE reward_record SET " + set + " WHERE family = ? AND reward = ? AND state IN (" + from + ") " +
		"AND EXISTS (SELECT 1 FROM reward_fence WHERE family = ? AND reward = ? AND fence = ?)")
}
