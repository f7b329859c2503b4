// Package sqllock keeps leases and series in a database through database/sql:
// PostgreSQL, MySQL and MariaDB, or SQLite. The driver of the database is the caller's
// choice; this package imports none.
//
// A [Driver] is what lock.New and the scheduler want below them. A lease is a row. It is judged on
// the database's clock, in UTC, which is read once the row is locked, by one
// statement or in one short transaction that is idempotent for its owner. No
// connection is held while a lease is held or somebody waits. What a database
// takes back whole (a deadlock, a serialisation that failed, a lock that is busy)
// is asked again within the caller's time; every other error is doubt.
//
// Owners that share a key (lock.Sharer) stand in the row as a list, and take a
// short transaction each; several keys (lock.Several) are one transaction, which
// locks them in their order.
//
// A fence is the database's clock in µs, and above the last of its key and what
// the asker has seen. The row of a key stays for a day after its last grant, for
// at least an hour after its lease, and is then removed by a release, at most a
// hundred a minute and process: fences grow over that, too, unless the clock was
// set back by more than the time since.
//
// # Tables
//
// Five tables whose names begin with cronce_. [Migrations] has the files,
// [Driver.CreateTables] runs them. Namespaces share the tables. Keys, owners and
// nodes are kept and compared byte by byte.
//
// # Series
//
// A series is a row with its state as JSON, and a row for each verdict of its
// journal. Up to 200 requests are one transaction, which locks the rows in the
// order of their keys, reads the clock, applies the rules of lock/series, and
// writes what changed with a statement per table. Nothing forgets a series: one
// that is not wanted any more is deleted from cronce_series and cronce_journal by
// hand.
//
// # Waiting
//
// Who waits has a row in the queue of the key, at most 1,000 to a key, and is
// served in that order: the release keeps the key for the first for 2 seconds,
// and whoever asks for a free key that others wait for does the same. Waiters of
// the same Driver as the release are woken; the others look: the first in the
// queue every [Options].Poll or more often, those behind it the more rarely the
// more are before them, at least once a second, each with one short read and with
// jitter, and every 2.5 seconds with a transaction that tells that it is there. A
// place that was not seen for 10 seconds is passed over, after 5 if it does not
// fit beside the holders and others might; of those seen later that do not
// answer, each costs 2 seconds.
//
// # The database
//
// [Driver.Check] looks at what can be looked at; a scheduler asks it.
//
// All must go to the one server that is written to: no proxy may send reads to
// replicas. A failover to a replica that had not received the last commits
// forgets leases that are still trusted, as with any store: then two may hold a
// key, and only the fence, which still grows, tells them apart:
// TestFailoverLosesCommits. TestFrozen and TestRestartWithinTrust show what holders
// and fences do where one stands still, or is killed and comes back. Synchronous
// replication (synchronous_commit with synchronous_standby_names, or a Galera
// cluster that is written to at one node) and a database that writes its log
// before it answers (fsync, innodb_flush_log_at_trx_commit = 1, synchronous = full)
// do not forget; [Driver.Fit] tells of one that does not.
// Clocks of the servers must agree better than the margin of a lease: a failover
// to one that is ahead ends leases early.
//
// PostgreSQL 12 or newer, in a database with the encoding UTF8. A process that
// stops in the middle of a transaction loses it after 5 seconds. Behind a pooler,
// use transactions or sessions, not statements.
//
// MySQL 8, MariaDB 10.5, or newer, with InnoDB. The tests run on MariaDB; for
// MySQL they only hold that nothing is sent that it is known to refuse. Of VALUES()
// in an update of what is there it warns that it is deprecated; MariaDB does not know
// what is to take its place. Any session time zone will do.
// With the driver go-sql-driver/mysql set interpolateParams=true, which halves
// the round trips; parseTime does not matter. A server started with
// sysdate-is-now reads the clock before it waits for a row, and binlog_format
// must not be STATEMENT. A process that stops in the middle of a transaction
// keeps its row until its connection breaks: on MariaDB set
// idle_transaction_timeout=5 in the data source name (idle_write_transaction_timeout
// does not see one that has only locked its row yet).
//
// SQLite 3.35 or newer serves the processes of one host, by the host's clock, to
// the millisecond; a file on a network file system protects nothing. There is one
// writer at a time. Set journal_mode=wal, so that who looks and who writes do not
// wait for each other, and a busy_timeout of up to a second: a driver may not heed
// the end of a context while it waits for that. A database in memory needs
// SetMaxOpenConns(1), since each connection would have its own. A process that
// stops in the middle of a transaction stops all the others.
package sqllock
