package sqllock

import (
	"regexp"
	"strconv"
	"strings"
)

// A Dialect is the kind of a database.
type Dialect uint8

// The dialects. The zero Dialect is none.
const (
	PostgreSQL Dialect = iota + 1 // 12 or newer
	MySQL                         // MySQL 8 or newer, MariaDB 10.6 or newer
	SQLite                        // 3.35 or newer
)

var dialects = [...]string{"none", "postgresql", "mysql", "sqlite"}

// String is postgresql, mysql or sqlite.
func (d Dialect) String() string {
	if int(d) >= len(dialects) {
		return dialects[0]
	}
	return dialects[d]
}

// A grammar holds the differences between the dialects.
type grammar struct {
	prefix    string // with which the names of the tables begin; empty: cronce_
	dialect   Dialect
	clock     string // the database's clock, µs since 1970, read when it is evaluated; NULL in a session that is not usable
	usable    string // the condition under which a stand-alone statement takes effect, followed by AND; empty: always
	server    string // the name of the server
	greatest  string // the function that returns the largest of its arguments
	divide    string // the operator that divides integers
	nothing   string // the clause that makes an insert skip rows that exist
	versioned string // the query that reports whether the table with the version exists
	skip      string // the clause that makes a query lock its rows and skip rows that are locked
}

// idle is how long PostgreSQL keeps an idle transaction before it ends it: a process that was
// stopped in the middle of a transaction must not block the row for others.
const idle = "5s"

// commits is the condition under which MySQL has committed a stand-alone statement when it replies.
// With autocommit=0, or with a completion_type that begins the next transaction at once, the
// statement is rolled back when its connection closes.
const commits = "@@autocommit = 1 AND @@completion_type = 'NO_CHAIN'"

var grammars = map[Dialect]grammar{
	PostgreSQL: {
		dialect: PostgreSQL,
		// A replica answers with an earlier state.
		clock:     "(CASE WHEN pg_is_in_recovery() THEN NULL ELSE (extract(epoch FROM clock_timestamp()) * 1000000)::bigint END)",
		server:    "coalesce(host(inet_server_addr()), 'local') || ':' || current_setting('port')",
		greatest:  "greatest",
		divide:    "/",
		versioned: "SELECT count(to_regclass('cronce_version'))",
		nothing:   " ON CONFLICT DO NOTHING",
		skip:      " FOR UPDATE SKIP LOCKED",
	},
	MySQL: {
		dialect: MySQL,
		// UTC_TIMESTAMP is the time at which the statement began. SYSDATE is the current time, but
		// in the time zone of the session. So the time that has passed since then is added, without
		// the difference that a change of the zone in between would make: multiples of half an
		// hour.
		clock: "if(" + commits + " AND @@read_only = 0, timestampdiff(microsecond, '1970-01-01', utc_timestamp(6))" +
			" + mod(timestampdiff(microsecond, now(6), sysdate(6)) + 180900000000, 1800000000) - 900000000, NULL)",
		usable:    commits + " AND ",
		server:    "concat(@@hostname, ':', @@port)",
		greatest:  "greatest",
		divide:    "DIV",
		versioned: "SELECT count(*) FROM information_schema.tables WHERE table_schema = database() AND table_name = 'cronce_version'",
		nothing:   " ON DUPLICATE KEY UPDATE ns = ns",
		skip:      " FOR UPDATE SKIP LOCKED",
	},
	SQLite: {
		dialect:   SQLite,
		clock:     "(cast(round((julianday('now') - 2440587.5) * 86400000.0) AS integer) * 1000)",
		server:    "'sqlite'",
		greatest:  "max",
		divide:    "/",
		versioned: "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'cronce_version'",
		nothing:   " ON CONFLICT DO NOTHING",
	},
}

var (
	tableNames = regexp.MustCompile(`\bcronce_(leases|places|series|journal|nodes|taken|audit|outputs|version)\b`)
	indexNames = regexp.MustCompile(`\bcronce_(\w+_by_\w+|places_\w+_key)\b`) // in the statements that create the tables; an index is in the schema of its table
)

// named inserts the names of the tables into a statement.
func (g *grammar) named(s string) string {
	if g.prefix == "" {
		return s
	}
	_, bare, schema := strings.Cut(g.prefix, ".")
	if !schema {
		bare = g.prefix
	}
	return indexNames.ReplaceAllString(tableNames.ReplaceAllString(s, g.prefix+"$1"), bare+"$1")
}

// text turns a statement with the words {clock}, {silence}, {usable}, {server}, {greatest},
// {divide}, {nothing} and {skip}, and a ? for each argument, into a statement of the dialect.
func (g *grammar) text(s string) string {
	s = g.named(s)
	s = strings.NewReplacer("{clock}", g.clock, "{silence}", strconv.FormatInt(micros(silence), 10), "{usable}", g.usable, "{server}", g.server, "{greatest}", g.greatest,
		"{divide}", g.divide, "{nothing}", g.nothing, "{skip}", g.skip).Replace(s)
	if g.dialect != PostgreSQL {
		return s
	}
	var b strings.Builder
	for i, part := range strings.Split(s, "?") {
		if i > 0 {
			b.WriteString("$" + strconv.Itoa(i))
		}
		b.WriteString(part)
	}
	return b.String()
}

// locked returns a query that locks its rows in the order of the query. Its last column is the
// clock; in the last row it is read after all rows were locked. In SQLite the transaction has
// locked the database before.
func (g *grammar) locked(columns, from string) string {
	switch g.dialect {
	case PostgreSQL: // columns that are not read from the locked rows are read before the lock
		return g.text("WITH l AS MATERIALIZED (SELECT " + columns + " FROM " + from + " FOR UPDATE) SELECT " + columns +
			", {clock} FROM l WHERE set_config('idle_in_transaction_session_timeout', '" + idle + "', true) IS NOT NULL")
	case MySQL:
		return g.text("SELECT " + columns + ", {clock} FROM " + from + " FOR UPDATE")
	}
	return g.text("SELECT " + columns + ", {clock} FROM " + from)
}

// An update changes the row of a key. $1, $2, ... stand for its arguments, in their order and once
// each, and {now} for the clock.
type update struct{ sets, column, value, where string }

// yielding returns an update that returns the value to which it sets the column. The update reads
// the clock after the row is locked. MySQL locks a row before it reads it, and SQLite locks the
// database. PostgreSQL reads, computes, and then waits for the row; so there the update first locks
// a row that seems to match.
func (g *grammar) yielding(u update) string {
	u.sets += ", " + u.column + " = "
	now := func(s, word string) string { return strings.ReplaceAll(s, "{now}", word) }
	switch g.dialect {
	case PostgreSQL:
		return g.text("WITH l AS MATERIALIZED (SELECT ns FROM cronce_leases WHERE " + now(u.where, "{clock}") + " FOR UPDATE)," +
			" c AS MATERIALIZED (SELECT {clock} AS us FROM l)" +
			" UPDATE cronce_leases SET " + now(u.sets+u.value, "c.us") + " FROM c WHERE " + now(u.where, "c.us") + " RETURNING " + u.column)
	case MySQL:
		u.value = "last_insert_id(" + u.value + ")"
	}
	text := now("UPDATE cronce_leases SET "+u.sets+u.value+" WHERE "+g.usable+u.where, "{clock}")
	if g.dialect == SQLite {
		text += " RETURNING " + u.column
	}
	return g.text(numbered.ReplaceAllString(text, "?"))
}

// handOver returns a statement that frees a key that one owner holds alone, and serves the next
// owner: the named owner of the same process or, if none is named, the first that waits to hold the
// key alone. It grants the key to an owner of the same process. For any other owner it keeps the
// key, and notifies the owner's process if there is a listener. It also keeps the key for an owner
// whose fence would lie more than a day ahead: the owner's own request then returns that error. A
// grant is durable before the database replies. The grant that follows makes the rest durable; if a
// crash forgets it, the key is only held until its deadline.
func (g *grammar) handOver() string {
	if g.dialect != PostgreSQL {
		return ""
	}
	return strings.NewReplacer("{clock}", g.clock, "{silence}", strconv.FormatInt(micros(silence), 10), "{day}", dayMicros, "{lazy}", lazy).Replace(strings.ReplaceAll(g.named(`
WITH l AS MATERIALIZED (
  SELECT fence FROM cronce_leases WHERE ns = $1 AND name = $2 AND owner = $3 AND place = 0 AND fence BETWEEN $4 AND $5
  AND until_us > {clock} FOR UPDATE
), c AS MATERIALIZED (
  SELECT {clock} AS us, fence FROM l
), n AS MATERIALIZED (
  SELECT p.* FROM c, LATERAL (
    SELECT place, owner, most, party, ttl_us, seen_fence FROM cronce_places
    WHERE ns = $1 AND name = $2 AND owner = $9 AND party = $6 AND most <= 1 FOR UPDATE) p
), f AS MATERIALIZED (
  SELECT * FROM n UNION ALL
  SELECT p.* FROM c, LATERAL (
    SELECT place, owner, most, party, ttl_us, seen_fence FROM cronce_places
    WHERE ns = $1 AND name = $2 AND {waits} ORDER BY place LIMIT 1 FOR UPDATE) p
  WHERE NOT EXISTS (SELECT 1 FROM n)
), g AS MATERIALIZED (
  SELECT f.*, f.party = $6 AND greatest(c.fence, f.seen_fence) < c.us + {day} AS here FROM f, c
), d AS (
  DELETE FROM cronce_places WHERE ns = $1 AND name = $2 AND place = (SELECT place FROM f WHERE most <= 1)
)
UPDATE cronce_leases SET owner = coalesce(g.owner, ''),
  place = CASE WHEN g.here THEN 0 ELSE coalesce(g.place, 0) END,
  until_us = CASE WHEN g.place IS NULL THEN 0 WHEN g.here THEN c.us + g.ttl_us ELSE c.us + $7 END,
  fence = CASE WHEN g.here THEN greatest(cronce_leases.fence + 1, c.us, g.seen_fence + 1) ELSE cronce_leases.fence END,
  used_day = CASE WHEN g.here THEN c.us / 86400000000 ELSE used_day END
FROM c LEFT JOIN g ON true
WHERE ns = $1 AND name = $2 AND coalesce(g.most, 1) <= 1
RETURNING coalesce(g.owner, ''), coalesce(g.here, false), cronce_leases.fence, until_us - c.us,
  CASE WHEN g.here THEN '' ELSE {lazy} END,
  CASE WHEN $8 AND g.party <> $6 THEN pg_notify('cronce_' || g.party, g.owner)::text END`), "{waits}", waits("asked_us", "c.us")))
}

// lazy lets PostgreSQL reply before this transaction is on disk. Use it only for changes that a
// crash may forget.
const lazy = "set_config('synchronous_commit', 'off', true)"

// whereUsable returns the value, or NULL, which no column accepts, in a session that is not usable.
func (g *grammar) whereUsable(value string) string {
	if g.usable == "" {
		return value
	}
	return "if(" + commits + ", " + value + ", NULL)"
}

// lazily returns an insert that a crash may forget.
func (g *grammar) lazily(insert, values, behind string) string {
	if g.dialect == PostgreSQL {
		return g.text(insert + " SELECT " + values + " WHERE " + lazy + " IS NOT NULL" + behind)
	}
	return g.text(insert + " VALUES (" + values + ")" + behind)
}

var numbered = regexp.MustCompile(`\$\d`)

// replacing returns the clause that makes an insert replace columns of a row that exists.
func (g *grammar) replacing(key string, columns ...string) string {
	sets := make([]string, len(columns))
	for i, c := range columns {
		sets[i] = c + " = excluded." + c
		if g.dialect == MySQL {
			sets[i] = c + " = values(" + c + ")"
		}
	}
	if g.dialect == MySQL {
		return " ON DUPLICATE KEY UPDATE " + strings.Join(sets, ", ")
	}
	return " ON CONFLICT (" + key + ") DO UPDATE SET " + strings.Join(sets, ", ")
}
