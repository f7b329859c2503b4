package sqllock_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/lock/sqllock"
)

// The clock is in UTC whatever time zone the sessions have: only time zones can make two clocks of
// one machine differ so much.
func TestClockIsUTC(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		rs, err := newDriver(t, on.connect(t), on.dialect, sqllock.Options{}).Now(t.Context())
		must(t, err)
		if off := time.Since(rs[0].Time).Abs(); off > 10*time.Minute {
			t.Errorf("the clock of %s is %v off", rs[0].Server, off)
		}
	})
}

// The times of a reading enclose its request and its reply: here the reply is late.
func TestReadingOfALateReply(t *testing.T) {
	t.Parallel()
	const late = 20 * time.Millisecond
	db, l := sqlite(t).lossyOn(t)
	l.Late.Store(int64(late))
	rs, err := newDriver(t, db, sqllock.SQLite, sqllock.Options{}).Now(t.Context())
	must(t, err)
	if took := rs[0].Received.Sub(rs[0].Sent); took < late {
		t.Errorf("the reading took %v, want %v or more", took, late)
	}
}

// A request that has to wait for a row is judged by the clock after the wait, not before it.
func TestClockAfterLock(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		db := on.connect(t)
		d := newDriver(t, db, on.dialect, sqllock.Options{})
		a := driver.Acquisition{Key: "key", Owner: "n/1", TTL: minute}
		acquire := func() int64 {
			g, err := d.Acquire(t.Context(), a)
			must(t, err)
			return g.Fence
		}
		h := driver.LeaseRef{Key: "key", Owner: "n/1", Fence: acquire(), TTL: minute}
		must(t, d.Release(t.Context(), h))

		freed := on.hold(t, db, "cronce_leases", "key")
		if h.Fence = acquire(); h.Fence < <-freed {
			t.Error("a grant is judged before the wait")
		}
		freed = on.hold(t, db, "cronce_leases", "key")
		_, err := d.Renew(t.Context(), h)
		must(t, err)
		var until int64
		must(t, db.QueryRow("SELECT until_us FROM cronce_leases").Scan(&until))
		if until < <-freed+h.TTL.Microseconds() {
			t.Error("a renewal is judged before the wait")
		}
		_ = d.Abandon(t.Context(), driver.Acquisition{Key: "key", Owner: "m/1", TTL: minute})
		freed = on.hold(t, db, "cronce_leases", "key")
		must(t, d.Release(t.Context(), h)) // keeps the key for the other owner
		must(t, db.QueryRow("SELECT until_us FROM cronce_leases").Scan(&until))
		if until < <-freed+(2*time.Second).Microseconds() {
			t.Error("a release is judged before the wait")
		}

		mark := d.Open(t.Context(), []series.OpenRequest{{Key: "job", Node: "n"}, {Key: "other", Node: "n"}})[0].Mark
		freed = on.hold(t, db, "cronce_series", "job")
		c := series.Claim{Key: "job", Owner: "n/1", Number: mark + 1, After: mark, TTL: minute, Attempts: 1, Latest: driver.MaxNumber}
		other := c
		other.Key = "other"
		answers := d.Claim(t.Context(), []series.Claim{other, c})
		for at, i := <-freed, 0; i < 2; i++ {
			if must(t, answers[i].Err); answers[i].Now < at/1000 {
				t.Error("a claim is judged before the wait")
			}
		}
	})
}

// Several keys are granted together by one clock, the one after the wait for the last of their rows.
func TestClockAfterTheLastLock(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		db := on.connect(t)
		d := newDriver(t, db, on.dialect, sqllock.Options{})
		as := []driver.Acquisition{{Key: "a", Owner: "n/1", TTL: minute}, {Key: "b", Owner: "n/1", TTL: minute}}
		gs, err := d.AcquireAll(t.Context(), as)
		must(t, err)
		for i, g := range gs {
			must(t, d.Release(t.Context(), driver.LeaseRef{Key: as[i].Key, Owner: as[i].Owner, Fence: g.Fence}))
		}
		freed := on.hold(t, db, "cronce_leases", "b")
		gs, err = d.AcquireAll(t.Context(), as)
		must(t, err)
		if at := <-freed; gs[0].Fence < at || gs[1].Fence < at {
			t.Errorf("the fences are %d and %d, but the last row was locked until %d", gs[0].Fence, gs[1].Fence, at)
		}
	})
}

// hold locks a row from now on for a moment, changes nothing, and sends the database's clock, in
// µs, just before it frees the row.
func (d database) hold(t *testing.T, db *sql.DB, table, name string) <-chan int64 {
	t.Helper()
	clock := newDriver(t, db, d.dialect, sqllock.Options{})
	conn, err := db.Conn(t.Context())
	must(t, err)
	begin := []string{"BEGIN", fmt.Sprintf("SELECT 1 FROM %s WHERE name = '%s' FOR UPDATE", table, name)}
	if d.dialect == sqllock.SQLite {
		begin = []string{"BEGIN IMMEDIATE"}
	}
	for _, s := range begin {
		_, err := conn.ExecContext(t.Context(), s)
		must(t, err)
	}
	freed := make(chan int64, 1)
	go func() {
		defer conn.Close()
		<-time.After(150 * time.Millisecond)
		rs, err := clock.Now(context.Background())
		if err == nil {
			freed <- rs[0].Time.UnixMicro()
			_, err = conn.ExecContext(context.Background(), "ROLLBACK")
		}
		if err != nil {
			t.Error(err)
		}
	}()
	return freed
}
