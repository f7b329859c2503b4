// Package reward records which family got which reward: once, however many of
// its members ask, at whatever moment and on whatever node.
//
// [Desk.Claim] reads and records while it holds a lock on family and reward, so
// that what has to be done before a reward is recorded ([Options.Prepare]) is
// done for one member and not for five that ask at once. The lock saves that work;
// it is not what makes the record the only one. Two more things stand behind it,
// in the database:
//
//   - A unique key on family and reward. Whatever becomes of the lock (its store
//     failed over, a caller records without it), a second record is impossible.
//   - The fence of the lease. A claim takes its fence to the database with its
//     first read, and writes only if no higher one was seen since. A member whose
//     process was stopped beyond its lease and wakes up gets guard.ErrStale: it
//     cannot overtake the member that was granted the lock after it.
//
// # Answers
//
// There are three, as everywhere here: the record; a refusal, [*TakenError], which
// names the member that has the reward, and since when; and doubt, any other error, after which
// the same member may claim again. A member that has the reward gets the same
// record again, so that a lost reply and a repeated request do no harm.
//
// # The life of a reward
//
// A reward may be offered to a family ([Desk.Offer]) before it is claimed, with
// [Options.OfferedOnly] it must be. What was claimed is delivered ([Desk.Deliver]), once, or
// withdrawn ([Desk.Withdraw]); what was withdrawn comes never back. Each step is made under
// the lock and its fence, and only from the states before it; asked again it returns the
// same record. [Book.List] has the rewards of a family, and [Handler] serves all of it.
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
