package lock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/memlock"
)

// Force frees a key, and its record names the owner and the note apart. A key that nobody holds has none.
func TestForce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := lock.New(new(memlock.Store), "a")
		held := acquire(t, l, "k", lock.Options{TTL: time.Minute, Note: "a move", Fixed: true})
		owner, err := l.Inspect(t.Context(), "k")
		wantErr(t, "inspect", err, nil)
		made, err := l.Force(t.Context(), driver.ForceRequest{Key: "k", By: "alice", Reason: "gone"})
		if err != nil || made.ID == "" || len(made.Owners) != 1 || made.Owners[0].Owner != owner.Owner || made.Owners[0].Note != "a move" {
			t.Errorf("the record is %+v, %v", made, err)
		}
		records, err := l.ForceRecords(t.Context(), "k")
		if err != nil || len(records) != 1 || records[0].ID != made.ID || records[0].Owners[0] != made.Owners[0] {
			t.Errorf("the records are %+v, %v", records, err)
		}
		wantErr(t, "release of the lease that was freed", held.Release(t.Context()), lock.ErrForced)
		_, err = l.Force(t.Context(), driver.ForceRequest{Key: "k", By: "alice", Reason: "gone"})
		wantErr(t, "force of a free key", err, driver.ErrFree)
	})
}

// A store with nothing but the methods of a Driver returns ErrUnsupported for the requests beyond them.
func TestUnsupported(t *testing.T) {
	l := lock.New(struct{ driver.Driver }{new(memlock.Store)}, "a")
	_, force := l.Force(t.Context(), driver.ForceRequest{Key: "k", By: "alice", Reason: "gone"})
	_, records := l.ForceRecords(t.Context(), "k")
	_, inspect := l.Inspect(t.Context(), "k")
	_, holders := l.Holders(t.Context(), "k")
	for name, err := range map[string]error{"force": force, "records": records, "inspect": inspect, "holders": holders} {
		wantErr(t, name, err, lock.ErrUnsupported)
	}
}
