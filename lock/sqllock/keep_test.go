package sqllock_test

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pressly/goose/v3"

	"github.com/cronce/cronce/internal/rig"
	"github.com/cronce/cronce/internal/sqlserver"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/lock/sqllock"
)

// The files work with goose, forwards and backwards, and are the statements that CreateTables runs.
func TestMigrations(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		db := on.connect(t)
		p := migrations(t, on, db)
		d := newDriver(t, db, on.dialect, sqllock.Options{})
		_, err := p.Up(t.Context())
		must(t, err)
		must(t, d.CreateTables(t.Context())) // all tables exist
		must(t, d.Check(t.Context()))
		_, err = p.DownTo(t.Context(), 0)
		must(t, err)
		if d.Check(t.Context()) == nil {
			t.Error("the tables are still there")
		}
	})
}

// migrations returns the migrations of a database, and drops the tables that it has.
func migrations(t *testing.T, on database, db *sql.DB) *goose.Provider {
	t.Helper()
	for table := range strings.FieldsSeq(tables + " cronce_version") {
		_, err := db.Exec("DROP TABLE " + table)
		must(t, err)
	}
	p, err := goose.NewProvider(map[sqllock.Dialect]goose.Dialect{
		sqllock.PostgreSQL: goose.DialectPostgres, sqllock.MySQL: goose.DialectMySQL, sqllock.SQLite: goose.DialectSQLite3,
	}[on.dialect], db, sqllock.Migrations(on.dialect))
	must(t, err)
	return p
}

// The rows of keys that were not used for a day are removed, the others stay, and the next fence of
// a removed key is still higher.
func TestUnusedGo(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		db := on.connect(t)
		d := newDriver(t, db, on.dialect, sqllock.Options{})
		grant := func(key string) driver.LeaseRef {
			g, err := d.Acquire(t.Context(), driver.Acquisition{Key: key, Owner: "n/1", TTL: minute})
			must(t, err)
			return driver.LeaseRef{Key: key, Owner: "n/1", Fence: g.Fence}
		}
		old, used := grant("old"), grant("used")
		grant("held")
		must(t, d.Release(t.Context(), old))
		for _, s := range []string{"UPDATE cronce_leases SET used_day = used_day - 2 WHERE name <> 'used'",
			"INSERT INTO cronce_places (ns, name, owner, party, most, ttl_us, seen_fence, asked_us) VALUES ('cronce', 'old', 'dead/1', '', 1, 1, 0, 1)"} {
			_, err := db.Exec(s)
			must(t, err)
		}
		d.MaintenanceDue()
		must(t, d.Release(t.Context(), used))
		d.MaintenanceDone()
		var rows, next int64
		must(t, db.QueryRow("SELECT count(*) FROM cronce_leases").Scan(&rows))
		if next = grant("old").Fence; rows != 2 || next <= old.Fence {
			t.Errorf("%d rows are kept, want 2; the fence is %d, was %d", rows, next, old.Fence)
		}
	})
}

// When the journals together are too large, a series loses two lines for each new one, and keeps
// its newest. The lines that it loses are deleted, and none of another series.
func TestJournalBytes(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		db := on.connect(t)
		d := newDriver(t, db, on.dialect, sqllock.Options{JournalBytes: 1})
		os := []series.OpenRequest{{Key: "job", Node: "n"}, {Key: "other", Node: "n"}}
		mark := d.Open(t.Context(), os)[0].Mark
		newDriver(t, db, on.dialect, sqllock.Options{Namespace: "other"}).Open(t.Context(), os)
		waitOn(t, d, 30*time.Millisecond)
		i := int64(0)
		miss := func(n int) {
			var cs []series.Claim
			for range n {
				i++ // neighbours have different revisions, so that nothing folds
				cs = append(cs, series.Claim{Key: "job", Owner: fmt.Sprint("n/", i), Number: mark + i, After: mark + i - 1, TTL: minute,
					Attempts: 1, Latest: driver.MaxNumber, Revision: fmt.Sprint("r", i%2)})
			}
			for _, a := range d.Claim(t.Context(), cs) {
				if a.Kind != series.KindMissed {
					t.Fatalf("the answer is %+v", a)
				}
			}
		}
		lines := func(want int) {
			t.Helper()
			j, err := d.Journal(t.Context(), "job", 0)
			must(t, err)
			n, newest := len(j.Exceptions)+len(j.Lines), j.Lines[len(j.Lines)-1].To
			if n != want || newest != mark+i || j.Truncated != (i > 9) {
				t.Errorf("%d lines are kept, to %d, truncated %v; want %d, to %d", n, newest, j.Truncated, want, mark+i)
			}
			rows := strings.Fields(texts(t, db, "SELECT ns, name, count(*) FROM cronce_journal GROUP BY ns, name ORDER BY ns, name"))
			if want := fmt.Sprintf("[cronce job %d cronce other 1 other job 1 other other 1]", want); fmt.Sprint(rows) != want {
				t.Errorf("the rows of lines are %v, want %s", rows, want)
			}
		}
		miss(9)
		lines(10)
		d.MaintenanceDue()
		_, err := d.Beat(t.Context(), series.Beat{Node: "n", TTL: minute}) // this starts the weighing
		must(t, err)
		d.MaintenanceDone()
		miss(1)
		lines(9)
		miss(5)
		lines(4)
		miss(5)
		lines(1)
	})
}

// Journals full of the longest texts of errors stay within their limit in bytes: above it the text
// of an error at the end of a run also costs its series old lines. The newest line is never lost.
func TestJournalsOfErrors(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		const budget, writers, rounds = 20_000, 4, 12
		db := on.connect(t)
		d := newDriver(t, db, on.dialect, sqllock.Options{JournalBytes: budget})
		var keys []string
		var os []series.OpenRequest
		for i := range writers {
			keys = append(keys, fmt.Sprint("job-", i))
			os = append(os, series.OpenRequest{Key: keys[i], Node: "n"})
		}
		marks := d.Open(t.Context(), os)
		waitOn(t, d, (rounds+5)*time.Millisecond)
		most := 0
		for round := range int64(rounds) {
			d.MaintenanceDue()
			_, err := d.Beat(t.Context(), series.Beat{Node: "n", TTL: minute}) // this starts the weighing before each round
			must(t, err)
			d.MaintenanceDone()
			var cs []series.Claim
			for i, key := range keys {
				mark := marks[i].Mark + round
				cs = append(cs, series.Claim{Key: key, Owner: fmt.Sprint("n/", round), Number: mark + 1, After: mark, TTL: time.Hour, Deadline: time.Hour, Attempts: 1, Latest: driver.MaxNumber})
			}
			var es []series.EndRequest
			for i, a := range d.Claim(t.Context(), cs) {
				if a.Kind != series.KindGranted {
					t.Fatalf("the answer is %+v", a)
				}
				es = append(es, series.EndRequest{RunRef: series.RunRef{Key: keys[i], Number: cs[i].Number, Owner: cs[i].Owner, Fence: a.Fence, TTL: time.Hour},
					Outcome: series.OutcomeFailed, Error: strings.Repeat(fmt.Sprint(round%10), series.MaxErrorText)})
			}
			for _, e := range d.ReleaseRuns(t.Context(), es) {
				if !e.Ended {
					t.Fatalf("the end of a run: %+v", e)
				}
			}
			bytes := 0
			for i, key := range keys {
				j, err := d.Journal(t.Context(), key, 0)
				must(t, err)
				if n := len(j.Lines); n == 0 || j.Lines[n-1].To != marks[i].Mark+round+1 {
					t.Fatalf("round %d: the newest of %d lines of %s is not there", round, n, key)
				}
				for _, l := range slices.Concat(j.Exceptions, j.Lines) {
					bytes += len(l.Error)
				}
			}
			most = max(most, bytes)
		}
		// A round may write above the limit until the journals are weighed again.
		if limit := budget + 2*writers*series.MaxErrorText; most > limit || most < budget/2 {
			t.Errorf("the texts have up to %d bytes, want at most %d, and some", most, limit)
		}
	})
}

// In journals that are too large the text of an error costs its series two old lines, and is not
// kept if there are no two; an end without a text costs none.
func TestErrorTextCostsLines(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		d := newDriver(t, on.connect(t), on.dialect, sqllock.Options{JournalBytes: 1})
		text := strings.Repeat("x", series.MaxErrorText)
		var ends []series.EndRequest
		rows := []struct {
			key          string
			runs         int64
			text         string
			kept         bool
			lines, after int
		}{{"many", 4, text, true, 5, 3}, {"three", 2, text, true, 3, 1}, {"two", 1, text, false, 2, 2}, {"none", 4, "", false, 5, 5}}
		for _, r := range rows {
			mark := d.Open(t.Context(), []series.OpenRequest{{Key: r.key, Node: "n"}})[0].Mark
			waitOn(t, d, 10*time.Millisecond)
			var run series.RunRef
			for i := range r.runs {
				c := series.Claim{Key: r.key, Owner: fmt.Sprint("n/", i), Number: mark + i + 1, After: mark + i, TTL: minute, Deadline: time.Hour, Attempts: 1, Latest: driver.MaxNumber, Overlap: series.OverlapAllow}
				a := d.Claim(t.Context(), []series.Claim{c})[0]
				if a.Kind != series.KindGranted {
					t.Fatalf("the answer is %+v", a)
				}
				run = series.RunRef{Key: c.Key, Number: c.Number, Owner: c.Owner, Fence: a.Fence, TTL: c.TTL}
			}
			ends = append(ends, series.EndRequest{RunRef: run, Outcome: series.OutcomeFailed, Error: r.text})
		}
		d.MaintenanceDue()
		_, err := d.Beat(t.Context(), series.Beat{Node: "n", TTL: minute}) // this starts the weighing
		must(t, err)
		d.MaintenanceDone()
		for i, r := range rows {
			before, err := d.Journal(t.Context(), r.key, 0)
			must(t, err)
			if e := d.ReleaseRuns(t.Context(), ends[i:i+1])[0]; !e.Ended {
				t.Fatalf("the end: %+v", e)
			}
			j, err := d.Journal(t.Context(), r.key, 0)
			must(t, err)
			newest := j.Lines[len(j.Lines)-1]
			if n := len(j.Exceptions) + len(j.Lines); len(before.Lines) != r.lines || n != r.after || (newest.Error != "") != r.kept || newest.Outcome != series.OutcomeFailed {
				t.Errorf("%s: of %d lines there are %d, the text is kept: %v", r.key, len(before.Lines), n, newest.Error != "")
			}
		}
	})
}

// A row that a newer version has written is doubt, and is left unchanged. The other series of the
// batch are answered.
func TestNewerFormat(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		db := on.connect(t)
		d := newDriver(t, db, on.dialect, sqllock.Options{})
		os := []series.OpenRequest{{Key: "new", Node: "n"}, {Key: "old", Node: "n"}}
		d.Open(t.Context(), os)
		_, err := db.Exec(fmt.Sprintf("UPDATE cronce_series SET format = %d WHERE name = 'new'", series.Format+1))
		must(t, err)
		const row = "SELECT format, state FROM cronce_series WHERE name = 'new'"
		before := texts(t, db, row)
		for _, is := range [][]series.Series{d.ReadSeries(t.Context(), []string{"new", "old"}), d.Open(t.Context(), os)} {
			if is[0].Err == nil || is[1].Err != nil {
				t.Errorf("the answers are %+v", is)
			}
		}
		if a := d.Control(t.Context(), series.Control{Key: "new", Action: series.ActionPause, Op: "1", Who: "ann", Reason: "for the test", Seen: series.AnySeen}); !errors.Is(a.Err, driver.ErrUnreadable) {
			t.Errorf("a pause is answered with %+v", a)
		}
		if all, err := d.Audit(t.Context(), "", 0); err != nil || len(all) != 0 {
			t.Errorf("the audit is %+v, %v, want no record", all, err)
		}
		if after := texts(t, db, row); after != before {
			t.Errorf("the row is now %q, was %q", after, before)
		}
	})
}

// A grant is a waiter that was served, and when.
type grant struct {
	waiter int
	at     time.Time
}

// inOrder fails the test if a waiter is served before one that came earlier. On a machine that is too busy
// for a waiter to take the key in the time for which it is kept, that waiter is passed over after this time,
// and served whenever it answers.
func inOrder(t *testing.T, freed time.Time, served <-chan grant, waiters int) {
	t.Helper()
	left := map[int]bool{}
	for i := range waiters {
		left[i] = true
	}
	for range waiters {
		g := <-served
		for i := range g.waiter {
			if wait := g.at.Sub(freed); left[i] && wait < sqllock.Reserved {
				t.Errorf("waiter %d is served %v after the key was free, before waiter %d", g.waiter, wait, i)
			}
			delete(left, i) // it was passed over, or this is an error already
		}
		delete(left, g.waiter)
		freed = g.at
	}
}

// Drivers that share only the database serve their waiters in the order in which they came.
func TestOrderOverDrivers(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		holder := newDriver(t, on.connect(t), on.dialect, sqllock.Options{})
		a := driver.Acquisition{Key: "key", Owner: "holder/1", TTL: minute}
		g, err := holder.Acquire(t.Context(), a)
		must(t, err)
		served := make(chan grant, 5)
		var wg sync.WaitGroup
		for i := range 5 {
			d := newDriver(t, on.connect(t), on.dialect, sqllock.Options{})
			wg.Go(func() {
				a := driver.Acquisition{Key: "key", Owner: fmt.Sprint(i, "/1"), TTL: minute}
				g, err := d.Wait(t.Context(), a)
				served <- grant{i, time.Now()}
				if err != nil || d.Release(t.Context(), driver.LeaseRef{Key: "key", Owner: a.Owner, Fence: g.Fence}) != nil {
					t.Errorf("waiter %d: %v", i, err)
				}
			})
			eventually(t, "it has a place", func() bool {
				at, err := holder.Inspect(t.Context(), "key")
				return err == nil && at.Waiting == i+1
			})
		}
		freed := time.Now()
		must(t, holder.Release(t.Context(), driver.LeaseRef{Key: "key", Owner: a.Owner, Fence: g.Fence}))
		inOrder(t, freed, served, 5)
		wg.Wait()
	})
}

// A process that stops in the middle of a transaction does not keep the row for long, on PostgreSQL
// and, with the setting that the package comment names, on MariaDB.
func TestStoppedInTransaction(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(testing.TB) database{
		"PostgreSQL": postgres,
		"MariaDB": func(t testing.TB) database {
			on := mariadb(t)
			on.dsn += "&idle_transaction_timeout=5"
			return on
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stoppedInTransaction(t, open(t))
		})
	}
}

func stoppedInTransaction(t *testing.T, on database) {
	d := newDriver(t, on.connect(t), on.dialect, sqllock.Options{})
	a := driver.Acquisition{Key: "key", Owner: "n/1", TTL: minute}
	g, err := d.Acquire(t.Context(), a)
	must(t, err)
	stopped := make(chan struct{})
	locked := make(chan struct{})
	ended := make(chan error, 1)
	go func() {
		ended <- d.Turn(t.Context(), "key", func() { close(locked); <-stopped })
	}()
	<-locked
	_, err = d.Renew(t.Context(), driver.LeaseRef{Key: "key", Owner: a.Owner, Fence: g.Fence, TTL: minute})
	must(t, err)
	close(stopped)
	if err := <-ended; err == nil {
		t.Error("the transaction that was stopped is not doubt")
	}
}

// Waiters that died cost two seconds, and about five more in which the others are found: however
// many they are, they are passed over together. A waiter that is alive keeps its place, whatever
// the clock of the database has done meanwhile: silence counts only after a request for a sign of
// life.
func TestDeadWaiters(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		db := on.connect(t)
		_, err := db.Exec("CREATE TABLE skipped (us BIGINT NOT NULL)")
		must(t, err)
		_, err = db.Exec("INSERT INTO skipped VALUES (0)")
		must(t, err)
		d := newDriver(t, db, on.dialect, sqllock.Options{})
		d.ClockFrom("({clock} + (SELECT us FROM skipped))")
		a := driver.Acquisition{Key: "key", Owner: "holder/1", TTL: 10 * minute}
		g, err := d.Acquire(t.Context(), a)
		must(t, err)
		for i := range 8 {
			_ = d.Abandon(t.Context(), driver.Acquisition{Key: "key", Owner: fmt.Sprint("dead/", i), TTL: minute})
		}
		served := make(chan error, 1)
		go func() {
			_, err := d.Wait(t.Context(), driver.Acquisition{Key: "key", Owner: "waiter/1", TTL: minute})
			served <- err
		}()
		eventually(t, "there are nine places", func() bool {
			at, err := d.Inspect(t.Context(), "key")
			return err == nil && at.Waiting == 9
		})
		_, err = db.Exec("UPDATE skipped SET us = us + 120000000") // no owner is passed over for this step of the clock
		must(t, err)
		at, err := d.Inspect(t.Context(), "key")
		must(t, err)
		if at.Waiting != 9 {
			t.Errorf("after two minutes %d wait, want 9", at.Waiting)
		}
		must(t, d.Release(t.Context(), driver.LeaseRef{Key: "key", Owner: a.Owner, Fence: g.Fence}))
		meter, began := rig.NewMeter(t), time.Now()
		must(t, <-served)
		if took := time.Since(began); took > 12*time.Second+meter.Starved(began, time.Now()) { // one after the other would take 16 s
			t.Errorf("eight dead waiters cost %v", took)
		}
	})
}

// A database stands still while a key is kept for the first of two waiters, for longer than the key
// is kept: the first waiter is still served before the second. The database also stands still while
// a writer before a reader owes a sign of life, for longer than the writer may owe it: the reader
// goes on waiting behind the writer.
func TestOrderOverStall(t *testing.T) {
	eachServer(t, func(t *testing.T, s *sqlserver.Server, _ *sqllock.Driver) {
		on := made(t, database{"", map[string]sqllock.Dialect{"pgx": sqllock.PostgreSQL, "mysql": sqllock.MySQL}[s.Driver()], s.Driver(), s.DSN(s.Create(t))})
		holder := newDriver(t, on.connect(t), on.dialect, sqllock.Options{})
		a := driver.Acquisition{Key: "key", Owner: "holder/1", TTL: 10 * minute}
		g, err := holder.Acquire(t.Context(), a)
		must(t, err)
		served := make(chan grant, 2)
		var wg sync.WaitGroup
		defer wg.Wait()
		for i := range 2 {
			d := newDriver(t, on.connect(t), on.dialect, sqllock.Options{})
			wg.Go(func() {
				a := driver.Acquisition{Key: "key", Owner: fmt.Sprint(i, "/1"), TTL: 10 * minute}
				g, err := d.Wait(t.Context(), a)
				served <- grant{i, time.Now()}
				if err != nil || d.Release(t.Context(), driver.LeaseRef{Key: "key", Owner: a.Owner, Fence: g.Fence}) != nil {
					t.Errorf("waiter %d: %v", i, err)
				}
			})
			eventually(t, "it has a place", func() bool {
				at, err := holder.Inspect(t.Context(), "key")
				return err == nil && at.Waiting == i+1
			})
		}
		c := behindWriter(t, on, "shared")
		released := make(chan error, 1)
		c.ask(t)
		go func() {
			released <- holder.Release(t.Context(), driver.LeaseRef{Key: "key", Owner: a.Owner, Fence: g.Fence})
		}()
		s.Freeze()
		<-time.After(11 * time.Second)
		s.Thaw()
		thawed := time.Now()
		c.answers(t)
		must(t, <-released)
		inOrder(t, thawed, served, 2)
	})
}
