package sqllock_test

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/lock/sqllock"
)

// runs runs n numbers of a series one after the other. Every third fails, with a long text.
func runs(t *testing.T, d *sqllock.Driver, key string, n int) {
	t.Helper()
	is := d.Open(t.Context(), []series.OpenRequest{{Key: key, Node: "n"}})[0]
	must(t, is.Err)
	waitOn(t, d, time.Duration(is.Mark+int64(n)+1-is.Now)*time.Millisecond)
	for i := range int64(n) {
		c := series.Claim{Key: key, Owner: fmt.Sprint("n/", i), Number: is.Mark + i + 1, After: is.Mark + i, TTL: minute, Deadline: 10 * minute, Attempts: 1, Latest: driver.MaxNumber}
		a := d.Claim(t.Context(), []series.Claim{c})[0]
		if a.Kind != series.KindGranted {
			t.Fatalf("the answer is %+v", a)
		}
		e := series.EndRequest{RunRef: series.RunRef{Key: key, Number: c.Number, Owner: c.Owner, Fence: a.Fence, TTL: minute}, Outcome: series.OutcomeOK, OK: true}
		if i%3 == 0 {
			e.OK, e.Outcome, e.Error = false, series.OutcomeFailed, strings.Repeat(fmt.Sprint(i%10), series.MaxErrorText/2)
		}
		if out := d.ReleaseRuns(t.Context(), []series.EndRequest{e})[0]; !out.Ended {
			t.Fatalf("the end of a run: %+v", out)
		}
	}
}

// weighed returns the journal of a series, whose counted bytes must be the bytes of its rows.
func weighed(t *testing.T, d *sqllock.Driver, db *sql.DB, key string) series.Journal {
	t.Helper()
	var counted, bytes, rows int
	must(t, db.QueryRow("SELECT bytes FROM cronce_series WHERE name = '"+key+"'").Scan(&counted))
	must(t, db.QueryRow("SELECT sum(length(line)), count(*) FROM cronce_journal WHERE name = '"+key+"'").Scan(&bytes, &rows))
	j, err := d.Journal(t.Context(), key, 0)
	must(t, err)
	if n := len(j.Exceptions) + len(j.Lines); counted != bytes || n != rows {
		t.Errorf("%d bytes are counted, the %d rows have %d; %d lines are returned", counted, rows, bytes, n)
	}
	return j
}

// The bytes of a journal are counted exactly, whichever lines are deleted. A journal under byte
// pressure shrinks to its newest line, and gives up its exceptions on the way.
func TestExceptionsWeigh(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		db := on.connect(t)
		d := newDriver(t, db, on.dialect, sqllock.Options{JournalLines: 20})
		runs(t, d, "job", 19)
		if j := weighed(t, d, db, "job"); len(j.Lines) != 20 || len(j.Exceptions) != 0 {
			t.Errorf("%d lines and %d exceptions are kept, want 20, 0", len(j.Lines), len(j.Exceptions))
		}
		runs(t, d, "job", 40)
		j := weighed(t, d, db, "job")
		ran := func(l series.Line) bool { return !l.Exception() }
		if len(j.Lines) < 16 || len(j.Lines) > 17 || len(j.Exceptions) != 3 || slices.ContainsFunc(j.Exceptions, ran) {
			t.Errorf("%d lines are kept, and the exceptions %+v, want 16 or 17, and 3", len(j.Lines), j.Exceptions)
		}
		if j.ExceptionsSince == 0 || j.ExceptionsSince > j.Exceptions[0].At {
			t.Errorf("the exceptions are complete since %d, the oldest is of %d", j.ExceptionsSince, j.Exceptions[0].At)
		}
		d = newDriver(t, db, on.dialect, sqllock.Options{JournalLines: 20, JournalBytes: 1})
		_, err := d.Beat(t.Context(), series.Beat{Node: "n", TTL: minute}) // this starts the weighing
		must(t, err)
		d.MaintenanceDone()
		for size := len(j.Lines) + len(j.Exceptions); size > 1; {
			runs(t, d, "job", 1)
			j = weighed(t, d, db, "job")
			if now := len(j.Lines) + len(j.Exceptions); now >= size || len(j.Lines) == 0 || len(j.Exceptions) > size/5 {
				t.Fatalf("of %d lines there are %d, and %d exceptions", size, len(j.Lines), len(j.Exceptions))
			}
			size = len(j.Lines) + len(j.Exceptions)
		}
	})
}

// A text that cannot be read is deleted with the lines around it, among the lines and among the
// exceptions. The exception between them stays, and no step fails.
func TestUnreadableExceptions(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		db := on.connect(t)
		d := newDriver(t, db, on.dialect, sqllock.Options{JournalLines: 20})
		runs(t, d, "job", 22)
		j := weighed(t, d, db, "job")
		if len(j.Exceptions) == 0 {
			t.Fatal("there are no exceptions")
		}
		_, err := db.Exec("UPDATE cronce_journal SET line = '{' WHERE n IN (1, 7)") // both failed
		must(t, err)
		j, err = d.Journal(t.Context(), "job", 0)
		must(t, err)
		foul := func(l series.Line) bool { return l.Verdict == series.VerdictUnreadable }
		if !slices.ContainsFunc(j.Exceptions, foul) || !slices.ContainsFunc(j.Lines, foul) {
			t.Fatalf("the lines are %+v, the exceptions %+v", j.Lines, j.Exceptions)
		}
		runs(t, d, "job", 5)
		j, err = d.Journal(t.Context(), "job", 0)
		must(t, err)
		if slices.ContainsFunc(slices.Concat(j.Lines, j.Exceptions), foul) || len(j.Exceptions) != 1 {
			t.Errorf("the lines are %+v, the exceptions %+v", j.Lines, j.Exceptions)
		}
	})
}
