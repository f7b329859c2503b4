package sqllock_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/lock/sqllock"
)

// rolledBack returns a driver on SQLite whose database answers busy to the first statement with a beginning, so that
// the driver rolls the transaction back and repeats it. Before the repetition, change is carried out.
func rolledBack(t *testing.T, on database, statement, change string) *sqllock.Driver {
	t.Helper()
	var busy atomic.Int32
	other := on.connect(t)
	db, l := on.lossyOn(t)
	l.Before = func(query string) error {
		switch {
		case strings.HasPrefix(query, statement) && busy.CompareAndSwap(0, 1):
			return code(5)
		case query == "BEGIN IMMEDIATE" && busy.CompareAndSwap(1, 2):
			_, err := other.Exec(change)
			return err
		}
		return nil
	}
	t.Cleanup(func() {
		if busy.Load() != 2 {
			t.Error("no transaction was repeated")
		}
	})
	return newDriver(t, db, on.dialect, sqllock.Options{})
}

// A request is answered as its last try was. In the first try the key was kept for an owner that waited; that try was
// rolled back, that owner left, and the second try granted the key.
func TestAnswerOfTheLastTry(t *testing.T) {
	t.Parallel()
	on := sqlite(t)
	clean := newDriver(t, on.connect(t), on.dialect, sqllock.Options{})
	a := driver.Acquisition{Key: "key", Owner: "n/1", TTL: minute}
	_, err := clean.Acquire(t.Context(), a)
	must(t, err)
	_ = clean.Abandon(t.Context(), driver.Acquisition{Key: "key", Owner: "n/2", TTL: minute})
	_, err = on.connect(t).Exec("UPDATE cronce_leases SET until_us = 1") // the lease is over
	must(t, err)

	d := rolledBack(t, on, "COMMIT", "DELETE FROM cronce_places")
	a.Owner = "n/3"
	g, err := d.Acquire(t.Context(), a)
	if err != nil || g.Fence == 0 {
		t.Errorf("the answer is %+v, %v; the owner has the key", g, err)
	}
}

// A lease that is renewed with others is lost if it was taken between two tries of the transaction, although the first
// try would have renewed it.
func TestRenewalOfTheLastTry(t *testing.T) {
	t.Parallel()
	on := sqlite(t)
	g, err := newDriver(t, on.connect(t), on.dialect, sqllock.Options{}).Acquire(t.Context(), driver.Acquisition{Key: "key", Owner: "n/1", TTL: minute})
	must(t, err)

	d := rolledBack(t, on, "UPDATE cronce_leases SET until_us = ", "UPDATE cronce_leases SET owner = 'n/2', fence = fence + 1")
	r := d.RenewAll(t.Context(), []driver.LeaseRef{{Key: "key", Owner: "n/1", Fence: g.Fence, TTL: minute}})[0]
	if !errors.Is(r.Err, driver.ErrLost) || r.Fence != 0 {
		t.Errorf("the renewal is answered with %+v, want that the lease is lost", r)
	}
}

// An owner gives its place up just when a release in its process has chosen it: the key is not passed to it, and is free.
func TestChosenOwnerLeaves(t *testing.T) {
	t.Parallel()
	on := mariadb(t)
	db, l := on.lossyOn(t)
	ctx, stop := context.WithCancel(t.Context())
	left := make(chan error, 1)
	var chosen atomic.Bool
	l.Before = func(query string) error {
		if strings.HasPrefix(query, "DELETE FROM cronce_places WHERE ns = ? AND name = ? AND place = ?") && !chosen.Swap(true) {
			stop()
			left <- <-left
		}
		return nil
	}
	d := newDriver(t, db, on.dialect, sqllock.Options{Inside: 1})
	g, err := d.Acquire(t.Context(), driver.Acquisition{Key: "key", Owner: "n/1", TTL: minute})
	must(t, err)
	go func() {
		_, err := d.Wait(ctx, driver.Acquisition{Key: "key", Owner: "n/2", TTL: minute})
		left <- err
	}()
	eventually(t, "it waits", func() bool {
		at, err := d.Inspect(t.Context(), "key")
		return err == nil && at.Waiting == 1
	})
	must(t, d.Release(t.Context(), driver.LeaseRef{Key: "key", Owner: "n/1", Fence: g.Fence}))
	if err := <-left; !errors.Is(err, context.Canceled) || !chosen.Load() {
		t.Errorf("the owner was chosen: %v; its wait ends with %v", chosen.Load(), err)
	}
	all, err := d.Holders(t.Context(), "key")
	must(t, err)
	if len(all) != 0 {
		t.Errorf("the key is passed to an owner that has left: %+v", all)
	}
}

// A request that the database takes back each time is sent 30 times, and a request to a server that is read-only goes to 5
// connections.
func TestTriesAreBounded(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		err  error
		want int32
	}{{code(5), 30}, {errors.New("Error 1290 (HY000): read-only"), 5}} {
		db, l := sqlite(t).lossyOn(t)
		var sent atomic.Int32
		l.Before = func(query string) error {
			if strings.HasPrefix(query, "INSERT") {
				sent.Add(1)
				return row.err
			}
			return nil
		}
		_, err := newDriver(t, db, sqllock.SQLite, sqllock.Options{}).Acquire(t.Context(), driver.Acquisition{Key: "key", Owner: "n/1", TTL: minute})
		if !errors.Is(err, row.err) || sent.Load() != row.want {
			t.Errorf("%v: it was sent %d times, want %d; the answer is %v", row.err, sent.Load(), row.want, err)
		}
	}
}

// The error of a request whose context has ended is the end of the context, also if the driver of the database reports
// something else.
func TestEndOfContextIsReported(t *testing.T) {
	t.Parallel()
	db, l := sqlite(t).lossyOn(t)
	ctx, stop := context.WithCancel(t.Context())
	interrupted := errors.New("interrupted")
	l.Before = func(string) error { stop(); return interrupted }
	_, err := newDriver(t, db, sqllock.SQLite, sqllock.Options{}).Acquire(ctx, driver.Acquisition{Key: "key", Owner: "n/1", TTL: minute})
	if !errors.Is(err, context.Canceled) || !errors.Is(err, interrupted) {
		t.Errorf("the error is %v, want both", err)
	}
}

// A connection on which a rollback or a commit fails is closed: with an open transaction it would keep all others from
// writing, and the next request on it would commit the rest of this one. A server of a Galera cluster without a quorum
// refuses both.
func TestEndOfTransactionFails(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		for _, end := range []string{"ROLLBACK", "COMMIT"} {
			db, l := on.lossyOn(t)
			db.SetMaxOpenConns(1)
			d := newDriver(t, db, on.dialect, sqllock.Options{Namespace: fresh()})
			fails := errors.New("Error 1047: WSREP has not yet prepared node for application use")
			broken := false
			l.Before = func(query string) error {
				if !broken && (query == end || end == "ROLLBACK" && strings.HasPrefix(query, "INSERT INTO cronce_series")) {
					broken = query == end
					return fails
				}
				return nil
			}
			if s := d.Open(t.Context(), []series.OpenRequest{{Key: "job", Node: "n"}})[0]; !errors.Is(s.Err, fails) || !broken {
				t.Errorf("%s: the opening says %v, want that it failed", end, s.Err)
			}
			for _, d := range []*sqllock.Driver{d, newDriver(t, on.connect(t), on.dialect, sqllock.Options{Namespace: fresh()})} {
				_, err := d.AcquireAll(t.Context(), []driver.Acquisition{{Key: "key", Owner: "n/1", TTL: minute}})
				must(t, err)
			}
			if s := d.ReadSeries(t.Context(), []string{"job"})[0]; s.Mark != 0 {
				t.Errorf("%s: the opening is committed: %+v", end, s)
			}
		}
	})
}
