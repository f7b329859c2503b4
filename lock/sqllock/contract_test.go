package sqllock_test

import (
	"context"
	"database/sql"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/locktest"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/lock/sqllock"
)

// The driver keeps the contract on every database, by the database's own clock. The clock runs
// slower in this test, so that no lease ends only because the machine is loaded; the time that the
// test does not need to wait for is added to it. Two groups of parts run by the clock that
// TestContractExact sets instead. Sharing takes many requests, and its rule is code, not a
// statement. For parts about series, the remaining parts show that the database's clock judges. If
// CRONCE_SOAK is set, the parts about series run here, too.
func TestContract(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		db := on.connect(t)
		_, err := db.Exec("CREATE TABLE skipped (us BIGINT NOT NULL)")
		must(t, err)
		_, err = db.Exec("INSERT INTO skipped VALUES (0)")
		must(t, err)
		rs, err := newDriver(t, db, on.dialect, sqllock.Options{}).Now(t.Context())
		must(t, err)
		began := strconv.FormatInt(rs[0].Time.UnixMicro(), 10)
		var d *sqllock.Driver
		locktest.Run(t, locktest.Env{
			Open: func(t *testing.T) driver.Driver {
				d = newDriver(t, db, on.dialect, sqllock.Options{Namespace: fresh()})
				d.ClockFrom("(" + began + " + ({clock} - " + began + ") {divide} 10 + (SELECT us FROM skipped))")
				return alone{d, d, d, d, d, d, d, d, d, d, d, d, d}
			},
			Abandon: func(a driver.Acquisition) error { return d.Abandon(context.Background(), a) },
			Wait: func(some time.Duration) {
				_, err := db.Exec("UPDATE skipped SET us = us + " + strconv.FormatInt(some.Microseconds(), 10))
				must(t, err)
			},
			Forget: func() { forget(t, db) },
			Spoil:  func(key string) { spoil(t, db, key) },
			Only:   func(part string) bool { return !slices.Contains(exactly, part) || os.Getenv("CRONCE_SOAK") != "" },
		})
	})
}

// exactly lists the parts about series that TestContractExact runs, too.
var exactly = []string{"claims", "queues", "pauses", "the rules", "batches", "arguments"}

// The driver keeps the contract by a clock that the test sets, so that every time is compared
// exactly.
func TestContractExact(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		db := on.connect(t)
		_, err := db.Exec("CREATE TABLE clock (us BIGINT NOT NULL)")
		must(t, err)
		var now atomic.Int64 // µs
		set := func(to time.Time) {
			now.Store(to.UnixMicro())
			_, err := db.Exec("UPDATE clock SET us = " + strconv.FormatInt(to.UnixMicro(), 10))
			must(t, err)
		}
		_, err = db.Exec("INSERT INTO clock VALUES (0)")
		must(t, err)
		set(time.UnixMilli(1_795_207_852_937))
		var d *sqllock.Driver
		locktest.Run(t, locktest.Env{
			Open: func(t *testing.T) driver.Driver {
				d = newDriver(t, db, on.dialect, sqllock.Options{Namespace: fresh()})
				d.ClockFrom("(SELECT us FROM clock)")
				return d
			},
			Abandon:  func(a driver.Acquisition) error { return d.Abandon(context.Background(), a) },
			Wait:     func(some time.Duration) { set(time.UnixMicro(now.Load()).Add(some)) },
			SetClock: set,
			Forget:   func() { forget(t, db) },
			Spoil:    func(key string) { spoil(t, db, key) },
			Rounds:   exactRounds,
			Only:     func(part string) bool { return part != silentSharers },
		})
	})
}

// silentSharers is a part for which the clock must go on over several probes of a waiter.
const silentSharers = "sharing with waiters that fall silent"

// Owners that share a key and fall silent are passed over by the database's clock, which runs at its own speed here, and
// also skips the time that the test does not need to wait for.
func TestSilentSharers(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		db := on.connect(t)
		_, err := db.Exec("CREATE TABLE skipped (us BIGINT NOT NULL)")
		must(t, err)
		_, err = db.Exec("INSERT INTO skipped VALUES (0)")
		must(t, err)
		var d *sqllock.Driver
		locktest.Run(t, locktest.Env{
			Open: func(t *testing.T) driver.Driver {
				d = newDriver(t, db, on.dialect, sqllock.Options{Namespace: fresh()})
				d.ClockFrom("({clock} + (SELECT us FROM skipped))")
				return d
			},
			Abandon: func(a driver.Acquisition) error { return d.Abandon(context.Background(), a) },
			Wait: func(some time.Duration) {
				_, err := db.Exec("UPDATE skipped SET us = us + " + strconv.FormatInt(some.Microseconds(), 10))
				must(t, err)
			},
			Forget: func() { forget(t, db) },
			Only:   func(part string) bool { return part == silentSharers },
		})
	})
}

// alone hides that a driver can share keys.
type alone struct {
	driver.Driver
	driver.Waiter
	driver.MultiRenewer
	driver.Inspector
	series.Numbered
	series.Sharder
	series.Controlled
	series.Peeker
	series.Journaled
	series.OutputKeeper
	driver.Clocked
	series.Membership
	driver.Forcer
}

const exactRounds = 3 // each has 60 requests, which are slow on a loaded machine

const tables = "cronce_leases cronce_places cronce_series cronce_journal cronce_nodes cronce_taken cronce_audit cronce_outputs"

// spoil makes the holders of a key unreadable.
func spoil(t testing.TB, db *sql.DB, key string) {
	t.Helper()
	_, err := db.Exec("UPDATE cronce_leases SET holders = 'x' WHERE name = '" + key + "'")
	must(t, err)
}

// forget empties all tables.
func forget(t testing.TB, db *sql.DB) {
	t.Helper()
	for table := range strings.FieldsSeq(tables) {
		_, err := db.Exec("DELETE FROM " + table)
		must(t, err)
	}
}
