// Package sqllock keeps leases and series in a database through database/sql:
// PostgreSQL, MySQL and MariaDB, or SQLite. The driver of the database is the caller's
// choice; this package imports none.
//
// A [Driver] is what lock.Open and the scheduler want below them. A lease is a row. It is
// judged on the database's clock, in UTC, which is read once the row is locked, by one
// statement or in one short transaction that is idempotent for its owner. No connection
// is held while a lease is held or an owner waits, but for that of a [Listener]. What a
// database takes back whole (a deadlock, a serialisation that failed, a lock that is
// busy) is asked again within the caller's time; every other error is doubt.
//
// Owners that share a key (driver.Sharer) stand in the row as a list, and take a
// short transaction each; several keys (driver.MultiAcquirer) are one transaction, which
// locks them in their order.
//
// A fence is the database's clock in µs, and above the last of its key and what
// the asker has seen. The row of a key stays for a day after its last grant, and for
// at least an hour after its lease. Once a minute a request starts the removal of older
// rows, which runs in the background for two seconds at most: fences grow over that,
// too, unless the clock was set back by more than the time since.
//
// # Tables
//
// Eight tables whose names begin with cronce_. [Migrations] has the files,
// [Driver.CreateTables] runs those that are missing, and cronce_version names the last
// of them. Namespaces share the tables. Keys, owners and nodes are kept and compared
// byte by byte.
//
// # Series
//
// A series is a row with its state as JSON, and a row for each verdict of its
// journal. Up to 200 requests are one transaction, which locks the rows in the
// order of their keys, reads the clock, applies the rules of lock/series, and
// writes what changed with a statement per table. Nothing forgets a series: one
// that is not wanted any more is deleted from cronce_series, cronce_journal and cronce_outputs
// by hand.
//
// # Waiting
//
// An owner that waits has a row in the queue of the key, which it enters with one INSERT
// that locks no other row, and is served in the order of those rows. A release grants
// the key to the next owner if that waits in the same Driver, and keeps it for 2 seconds
// for one that waits elsewhere; so does every request that finds a key free for which
// others wait. On PostgreSQL that takes one statement.
//
// A Driver wakes its own waiters. A release in another process is notified on PostgreSQL
// through [Options].Listen, and otherwise found by probing: of the waiters of a process
// the first one probes, with one short read, every few milliseconds while the key
// changes hands, then ever more rarely down to once a second, and soon after the
// holder's deadline. The more are before it the more rarely it probes. With Listen it
// probes once a second, since notifications can be lost.
//
// An owner that waits writes nothing. It has to answer for itself only if it does not
// take a key that was kept for it, or if it keeps others from a key that they could
// share: its row then says that it owes a sign of life, it gives one with its next probe,
// and if none has come after 3 seconds it is passed over. It keeps its place and, should
// it come back, is the next. So waiters that die together cost 2 seconds, and about 5 more
// in which all of them are found. A database that stood still passes no owner over:
// the 3 seconds are those in which it answered each probe of a waiter behind that owner in
// time, or begin with a second question where no waiter probes; and a key that was kept
// meanwhile is kept once more.
//
// [Options].Inside lets a process with many waiters pass a key on inside a few times in
// a row before it is the turn of another process.
//
// # The database
//
// [Driver.Check] reads the settings that can be read; a scheduler asks it.
//
// All must go to the one server that is written to: no proxy may send reads to
// replicas. A replica, or a server that is read-only, gives no answer but doubt, and the
// connection to it is closed. So that new connections find the server that is written
// to, name all servers with target_session_attrs=read-write (pgx, for PostgreSQL), set
// rejectReadOnly=true (go-sql-driver/mysql), and give connections an end with
// [database/sql.DB.SetConnMaxLifetime], a few minutes: without it a pool keeps using
// an address that has moved. A failover to a replica that had not received the last commits
// forgets leases that are still trusted, as with any store: then two may hold a
// key, and only the fence, which still grows, keeps them apart:
// TestFailoverLosesCommits. TestFrozen and TestRestartWithinTrust show what holders
// and fences do where one stands still, or is killed and comes back. Synchronous
// replication (synchronous_commit with synchronous_standby_names, or a Galera
// cluster that is written to at one node) and a database that writes its log
// before it answers (fsync, innodb_flush_log_at_trx_commit = 1, synchronous = full)
// do not forget; [Driver.Fit] names one that does not.
// Clocks of the servers must agree better than the margin of a lease: a failover
// to one that is ahead ends leases early.
//
// PostgreSQL 12 or newer, in a database with the encoding UTF8. A process that
// stops in the middle of a transaction loses it after 5 seconds. Behind a pooler,
// use transactions or sessions, not statements; one that shares sessions between
// transactions, as PgBouncer does, needs default_query_exec_mode=cache_describe or exec
// with pgx, and a [Listener] needs a connection past the pooler. What a crash may
// forget is committed without waiting for the disk (synchronous_commit is off in that
// transaction alone): places in a queue, and releases. The grant that follows a release
// makes it durable; a release that is forgotten leaves the key held until its deadline.
//
// MySQL 8, MariaDB 10.6, or newer, with InnoDB. Each statement must commit itself: with
// autocommit=0, or a completion_type other than NO_CHAIN, every request is doubt. The tests run on MariaDB; for
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
// writer at a time. Set journal_mode=wal, so that readers and writers do not
// wait for each other, and a busy_timeout of up to a second: a driver may not heed
// the end of a context while it waits for that. A database in memory needs
// SetMaxOpenConns(1), since each connection would have its own. A process that
// stops in the middle of a transaction stops all the others.
package sqllock
