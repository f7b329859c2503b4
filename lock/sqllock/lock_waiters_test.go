package sqllock

import (
	"context"
	"database/sql"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock/driver"
)

// Of the owners that could not give their places up the last hundred are remembered, so that a
// later grant to one of them is freed; each once.
func TestAbandonedOwners(t *testing.T) {
	var w waiters
	for i := range mostProbed + 1 {
		w.abandon(strconv.Itoa(i))
	}
	for _, row := range []struct {
		owner string
		want  bool
	}{
		{"0", false}, // the oldest was forgotten
		{"1", true},
		{"1", false}, // already freed
		{strconv.Itoa(mostProbed), true},
		{strconv.Itoa(mostProbed + 1), false},
	} {
		if got := w.give(row.owner, driver.Grant{Fence: 1}); got != row.want {
			t.Errorf("owner %s: abandoned is %v, want %v", row.owner, got, row.want)
		}
	}
}

// An owner whose place cannot be deleted is remembered, so that a grant that it is passed later is freed.
func TestOwnerThatCannotLeave(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &Driver{db: sql.OpenDB(breaking{}), grammar: grammars[SQLite]}
		defer d.db.Close()
		ctx, stop := context.WithCancel(t.Context())
		stop()
		w := waiter{driver: d, a: &driver.Acquisition{Key: "key", Owner: "n/1"}}
		w.giveUp(ctx)
		if !d.waiters.give("n/1", driver.Grant{Fence: 1}) {
			t.Error("it is forgotten")
		}
	})
}

// A statement of a waiter that fails does not count as an answer of the database: the time in which others may have been
// silent begins anew.
func TestFailureIsNoAnswer(t *testing.T) {
	d := &Driver{db: sql.OpenDB(breaking{}), grammar: grammars[SQLite]}
	defer d.db.Close()
	d.waiters.join("key", "n/1")
	d.waiters.observe("key", 100*micros(silence), 0)
	w := waiter{driver: d, a: &driver.Acquisition{Key: "key", Owner: "n/1"}}
	if err := w.send(t.Context(), "DELETE"); err == nil {
		t.Fatal("the statement did not fail")
	}
	if asked := d.waiters.observe("key", 101*micros(silence), 0); asked != 0 {
		t.Errorf("silent since %d µs, want 0", asked)
	}
}

// A request of a waiter whose context has ended leaves room for the next.
func TestRoomForRequests(t *testing.T) {
	d := &Driver{db: sql.OpenDB(breaking{}), grammar: grammars[SQLite], probes: make(chan struct{}, maxProbes)}
	defer d.db.Close()
	ctx, stop := context.WithCancel(t.Context())
	stop()
	for range 10 * maxProbes {
		w := waiter{driver: d, a: &driver.Acquisition{Key: "key", Owner: "n/1"}}
		if _, _, err := w.askInTurn(ctx); err == nil || len(d.probes) != 0 {
			t.Fatalf("%d requests run; the error is %v", len(d.probes), err)
		}
	}
}

// A process listens while an owner waits. Once it listens it wakes all owners, which may have missed a
// notification, and it ends after the wait.
func TestWaitListens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var running atomic.Bool
		d := &Driver{db: sql.OpenDB(breaking{}), grammar: grammars[SQLite], probes: make(chan struct{}, maxProbes)}
		defer d.db.Close()
		d.listen = func(ctx context.Context, _ string, receive func(string)) error {
			running.Store(true)
			defer running.Store(false)
			is := d.waiters.join("another", "n/2")
			receive("")
			if _, woken := d.waiters.given(is); !woken {
				t.Error("an owner is not woken")
			}
			d.waiters.leave("another", "n/2")
			<-ctx.Done()
			return ctx.Err()
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		if _, err := d.Wait(ctx, driver.Acquisition{Key: "key", Owner: "n/1", TTL: time.Minute}); err == nil || !running.Load() {
			t.Errorf("the wait ends with %v; it listens: %v", err, running.Load())
		}
		if time.Sleep(linger + 3*reconnect); running.Load() {
			t.Error("it still listens")
		}
	})
}

// A waiter that finds that another owner of its process has the key wakes that owner, which does not probe itself.
func TestHolderOfTheProcessIsWoken(t *testing.T) {
	d := new(Driver)
	is := d.waiters.join("key", "n/2")
	w := waiter{driver: d, a: &driver.Acquisition{Key: "key", Owner: "n/1"}}
	w.wakeOthers(&lease{held: []holder{{Owner: "n/2"}}})
	if _, woken := d.waiters.given(is); !woken || len(is.call) != 1 {
		t.Error("the owner is not woken")
	}
}
