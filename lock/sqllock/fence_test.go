package sqllock_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/sqllock"
)

// A key that is handed over gets a fence above its last fence and above the fence that the next
// owner has seen, to the µs, while the clock stands still. A fence that would lie more than a day
// ahead of that clock is doubt: the owner that waits gets that error, whichever operation passed
// the key on, and the key's last fence stays the same.
func TestFenceOfHandOver(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		const now, day = int64(1_795_207_852_937_000), int64(24 * time.Hour / time.Microsecond)
		db := on.connect(t)
		for _, s := range []string{"CREATE TABLE clock (us BIGINT NOT NULL)", "INSERT INTO clock VALUES (1795207852937000)"} {
			_, err := db.Exec(s)
			must(t, err)
		}
		open := func(namespace string) *sqllock.Driver {
			d := newDriver(t, db, on.dialect, sqllock.Options{Namespace: namespace})
			d.ClockFrom("(SELECT us FROM clock)")
			return d
		}
		for _, c := range []struct {
			last, seen, want int64 // 0: doubt
		}{
			{now, 0, now + 1},
			{now - 5, 0, now},
			{now, now, now + 1},
			{now, now + 1, now + 2},
			{now, now + day - 1, now + day},
			{now, now + day, 0},
			{now + day - 1, 0, now + day},
			{now + day, 0, 0},
			{driver.MaxNumber - 1, 0, 0},
			{now, driver.MaxNumber - 1, 0},
		} {
			for _, inside := range []bool{true, false} {
				namespace := fresh()
				near := open(namespace)
				far := near
				if !inside {
					far = open(namespace)
				}
				if got := handedOver(t, db, near, far, namespace, c.last, c.seen); got != c.want {
					t.Errorf("last %+d, seen %+d, inside %v: the fence is %+d, want %+d", c.last-now, c.seen-now, inside, got-now, c.want-now)
				}
			}
		}
	})
}

// handedOver returns the fence of an owner that waited for a key with the given last fence, or 0 if
// the answer was doubt.
func handedOver(t *testing.T, db *sql.DB, near, far *sqllock.Driver, namespace string, last, seen int64) int64 {
	t.Helper()
	_, err := near.Acquire(t.Context(), driver.Acquisition{Key: "key", Owner: "n/1", TTL: minute})
	must(t, err)
	_, err = db.Exec(fmt.Sprintf("UPDATE cronce_leases SET fence = %d WHERE ns = '%s'", last, namespace))
	must(t, err)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	a := driver.Acquisition{Key: "key", Owner: "n/2", TTL: minute, Fence: seen}
	granted := make(chan int64, 1)
	go func() {
		g, _ := far.Wait(ctx, a) // without a grant the fence is 0
		granted <- g.Fence
	}()
	eventually(t, "it waits", func() bool {
		at, err := near.Inspect(t.Context(), "key")
		return err == nil && at.Waiting == 1
	})
	must(t, near.Release(t.Context(), driver.LeaseRef{Key: "key", Owner: "n/1", Fence: last}))
	_, err = far.Acquire(t.Context(), a) // it is the owner's turn
	if err != nil {
		stop()
		if !errors.Is(err, driver.ErrFence) {
			t.Errorf("the owner is answered %v", err)
		}
	}
	fence := <-granted
	var kept int64
	must(t, db.QueryRow(fmt.Sprintf("SELECT fence FROM cronce_leases WHERE ns = '%s'", namespace)).Scan(&kept))
	if kept != max(fence, last) {
		t.Errorf("the last fence of the key is %d, granted was %d after %d", kept, fence, last)
	}
	return fence
}

// If the last fence of a key is the highest number that a column holds, the answer is doubt, too,
// for a single owner and for one of several: nothing is granted with that fence.
func TestHighestFence(t *testing.T) {
	each(t, func(t *testing.T, on database) {
		db := on.connect(t)
		d := newDriver(t, db, on.dialect, sqllock.Options{})
		for _, limit := range []int{1, 2} {
			a := driver.Acquisition{Key: fmt.Sprint("key ", limit), Owner: "n/1", TTL: minute, Limit: limit}
			g, err := d.Acquire(t.Context(), a)
			must(t, err)
			must(t, d.Release(t.Context(), driver.LeaseRef{Key: a.Key, Owner: a.Owner, Fence: g.Fence, Limit: limit}))
			_, err = db.Exec("UPDATE cronce_leases SET fence = 9223372036854775807")
			must(t, err)
			a.Owner = "n/2"
			if g, err := d.Acquire(t.Context(), a); !errors.Is(err, driver.ErrFence) {
				t.Errorf("limit %d: the answer is %+v, %v", limit, g, err)
			}
		}
	})
}
