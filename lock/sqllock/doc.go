// Package sqllock keeps leases and series in a database through database/sql:
// PostgreSQL, MySQL and MariaDB, or SQLite. The caller chooses the driver of the
// database; this package imports none.
//
// A [Driver] is the store that lock.Open and the scheduler use. A lease is a row. The
// database judges it by its own clock, in UTC, which is read once the row is locked, by
// one statement or in one short transaction that is idempotent for its owner. The Driver
// holds no connection while a lease is held or an owner waits; only a [Listener] does.
// A request that the database rolled back completely (a deadlock, a serialisation failure,
// a busy lock) is repeated within the caller's time. Every other error is doubt.
//
// Owners that share a key (driver.Sharer) are a list in the row of the key. Each of them
// takes a short transaction. Several keys (driver.MultiAcquirer) take one transaction,
// which locks them in their order.
//
// A fence is the database's clock in µs, and higher than the last fence of its key and
// the fence that the caller has seen. The row of a key stays for a day after its last
// grant, and for at least an hour after its lease. Once a minute a request starts the
// removal of older rows, which runs in the background for two seconds at most. Fences
// grow even after a row was removed, unless the clock was set back by more than the time
// since.
//
// # Tables
//
// The Driver uses eight tables whose names begin with cronce_. [Migrations] returns the
// files, [Script] returns them for a client, [Driver.CreateTables] runs the missing ones, and cronce_version names the last
// of them. Namespaces share the tables. Keys, owners and nodes are stored and compared
// byte by byte.
//
// # Series
//
// A series is a row with its state as JSON, and a row for each verdict of its
// journal. The rows of cronce_journal before first_line are the exceptions of the
// journal. Up to 200 requests take one transaction, which locks the rows in the order of
// their keys, reads the clock, applies the rules of lock/series, and writes the changes
// with one statement per table. If lines are deleted, each journal takes two more. A series is never removed by itself:
// delete a series that is no longer wanted from cronce_series, cronce_journal and
// cronce_outputs by hand.
//
// # Waiting
//
// An owner that waits has a row in the queue of the key. It enters the row with one
// INSERT that locks no other row. Owners are served in the order of these rows. A release
// grants the key to the next owner if that owner waits in the same Driver, and otherwise
// keeps the key for it for 2 seconds. So does every request that finds a key free while
// owners wait for it. On PostgreSQL this takes one statement.
//
// A Driver wakes its own waiters. A release in another process is notified on PostgreSQL
// through [Options].Listen, and otherwise found by probing. The first waiter of a process
// probes, with one short read: every few milliseconds while the key changes hands, then
// less and less often down to once a second, and soon after the holder's deadline. The
// more owners are before it in the queue, the less often it probes. With Listen it probes
// once a second, since notifications can be lost.
//
// An owner writes nothing while it waits. It must prove that it is alive only if it does
// not take a key that was kept for it, or if it blocks others from a key that they could
// share. Its row then records that it owes a sign of life, and the owner gives one with
// its next probe. If it has given none after 3 seconds, it is passed over. It keeps its
// place and, if it comes back, is the next. So waiters that die together cost 2 seconds,
// and about 5 more in which all of them are found. A database that stood still makes no
// owner be passed over: the 3 seconds count only if the database answered every probe of
// a waiter behind that owner in time; where no waiter probes, they begin with a second
// request for a sign of life. A key that was kept while the database stood still is kept
// once more.
//
// [Options].Inside lets a process with many waiters pass a key to its own waiters a few
// times in a row before it is the turn of another process.
//
// # The database
//
// [Driver.Check] checks the settings that can be read; a scheduler calls it.
//
// All requests must go to the one server that accepts writes: no proxy may send reads to
// replicas. Every request to a replica, or to a read-only server, is doubt, and the
// connection to it is closed. So that new connections find the server that accepts
// writes, name all servers with target_session_attrs=read-write (pgx, for PostgreSQL), set
// rejectReadOnly=true (go-sql-driver/mysql), and limit the life of connections to a few
// minutes with [database/sql.DB.SetConnMaxLifetime]: without it a pool keeps using an
// address that has moved. A failover to a replica that had not received the last commits
// forgets leases that are still trusted, as with any store. Then two owners may hold a
// key, and only the fence, which still grows, separates them:
// see TestFailoverLosesCommits. TestFrozen and TestRestartWithinTrust show holders and
// fences when a database stands still, or is killed and comes back. Two kinds of database
// do not forget: one with synchronous replication (synchronous_commit with
// synchronous_standby_names, or a Galera cluster with one node that accepts the writes),
// and one that writes its log before it replies (fsync,
// innodb_flush_log_at_trx_commit = 1, synchronous = full).
// [Driver.CheckStore] reports a database that forgets.
// The clocks of the servers must agree better than the margin of a lease: a failover
// to a server whose clock is ahead ends leases early.
//
// PostgreSQL 12 or newer, in a database with the encoding UTF8. The server ends the
// transaction of a process that stops in the middle of it after 5 seconds. Behind a
// pooler, use transactions or sessions, not statements. With a pooler that shares
// sessions between transactions, as PgBouncer does, pgx needs
// default_query_exec_mode=cache_describe or exec, and a [Listener] needs a connection
// that bypasses the pooler. Changes that a crash may forget are committed without waiting
// for the disk (synchronous_commit is off in that transaction alone): places in a queue,
// and releases. The grant that follows a release makes it durable; a release that is
// forgotten leaves the key held until its deadline.
//
// MySQL 8, MariaDB 10.6, or newer, with InnoDB. Each statement must commit itself: with
// autocommit=0, or a completion_type other than NO_CHAIN, every request is doubt. The
// tests run on MariaDB; for MySQL they only check that no statement contains a construct
// that MySQL is known to refuse. MySQL warns that VALUES() in ON DUPLICATE KEY UPDATE is
// deprecated; MariaDB does not support its replacement. Any session time zone works.
// With the driver go-sql-driver/mysql set interpolateParams=true, which halves
// the round trips; parseTime does not matter. The server must not be started with
// sysdate-is-now, with which it reads the clock before it waits for a row, and
// binlog_format must not be STATEMENT. A process that stops in the middle of a transaction
// keeps its row until its connection breaks: on MariaDB set
// idle_transaction_timeout=5 in the data source name (idle_write_transaction_timeout
// does not apply to a transaction that has only locked its row so far).
//
// SQLite 3.35 or newer serves the processes of one host, by the host's clock, to
// the millisecond; a file on a network file system protects nothing. There is one
// writer at a time. Set journal_mode=wal, so that readers and writers do not
// wait for each other, and a busy_timeout of up to a second: a driver may ignore
// the end of a context while it waits for the lock. A database in memory needs
// SetMaxOpenConns(1), since each connection would have its own. A process that
// stops in the middle of a transaction stops all the others.
package sqllock
