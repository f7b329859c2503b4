// Package reward records which family got which reward: once, however many of its members
// claim it, at any time and on any node.
//
// [Desk.Claim] reads and records while it holds a lock on family and reward. The preparation of
// a reward ([Options.Prepare]) therefore runs for one member, and not for five that claim at
// once. The lock saves that work. Two rules of the database make the record unique:
//
//   - A unique key on family and reward. A second record is impossible even if the store of
//     the lock fails over, or a caller records without the lock.
//   - The fence of the lease. A claim takes its fence to the database with its
//     first read, and writes only if no higher one was seen since. A member whose
//     process was stopped beyond its lease and wakes up gets guard.ErrStale: it
//     cannot overtake the member that was granted the lock after it.
//
// # Answers
//
// A claim has three outcomes: the record; a refusal, such as [*TakenError], which names the member
// that has the reward, and since when; and doubt (any other error), after which the same member
// may claim again. A member that has the reward gets the same record again, so that a lost reply
// or a repeated request does no harm.
//
// # The life of a reward
//
// A reward may be offered to a family ([Desk.Offer]) before it is claimed; with
// [Options.OfferedOnly] it must be. A claimed reward is delivered once ([Desk.Deliver]), or
// withdrawn for ever ([Desk.Withdraw]). Each step is made under the lock and its fence, and only
// from the states before it. A repeated step returns the same record. [Book.List] returns the
// rewards of a family, and [Handler] serves all steps over HTTP.
//
// # The database
//
// SQLite, PostgreSQL, and MySQL or MariaDB, through database/sql; the driver is
// the caller's choice. [Open] creates the tables and brings them up to date. Times
// are the database's. Isolation may be read committed or higher. The tests run on
// MariaDB; MySQL 8.0.17 and 8.0.18 reserve the word MEMBER, and refuse the table.
//
// # Personal data
//
// Families and members are personal data. They are masked in errors, in logs, and
// wherever a [Claim] or a [Record] is printed.
package reward
