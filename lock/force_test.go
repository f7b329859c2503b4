package lock_test

import (
	"context"
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

// A live holder learns of the force with its next renewal.
func TestForceOfALiveHolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := lock.New(new(memlock.Store), "a")
		held := acquire(t, l, "k", lock.Options{TTL: 30 * time.Second})
		_, err := l.Force(t.Context(), driver.ForceRequest{Key: "k", By: "alice", Reason: "gone"})
		wantErr(t, "force", err, nil)
		began := time.Now()
		<-held.Context().Done()
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("the context ended after %v", took)
		}
		wantErr(t, "the cause", context.Cause(held.Context()), lock.ErrForced)
	})
}

// A force without an answer is repeated with the same ID, for 3 seconds; then it returns the doubt.
func TestForceInDoubt(t *testing.T) {
	for _, c := range []struct {
		id   string
		lost int // answers
		want error
	}{{"", 2, nil}, {"ticket-7", 2, nil}, {"ticket-7", 1000, errNetwork}} {
		synctest.Test(t, func(t *testing.T) {
			store := &doubtfulForce{Store: new(memlock.Store), lost: c.lost}
			l := lock.New(store, "a")
			acquire(t, l, "k", lock.Options{})
			began := time.Now()
			made, err := l.Force(t.Context(), driver.ForceRequest{Key: "k", ID: c.id, By: "alice", Reason: "gone"})
			wantErr(t, "force", err, c.want)
			switch took := time.Since(began); {
			case err == nil && (len(store.ids) != 3 || made.ID != store.ids[0]):
				t.Errorf("the record is %+v after the IDs %q", made, store.ids)
			case err != nil && (took != 3*time.Second || err.Error() != `lock: free "k" by force: `+errNetwork.Error()):
				t.Errorf("after %v: %v", took, err)
			}
			for _, id := range store.ids {
				if id != store.ids[0] || c.id != "" && id != c.id {
					t.Errorf("asked with the IDs %q and %q, for %q", store.ids[0], id, c.id)
				}
			}
		})
	}
}

// doubtfulForce is a store whose first answers to Force are lost.
type doubtfulForce struct {
	*memlock.Store
	lost int
	ids  []string
}

func (s *doubtfulForce) Force(ctx context.Context, f driver.ForceRequest) (driver.ForceRecord, error) {
	made, err := s.Store.Force(ctx, f)
	if s.ids = append(s.ids, f.ID); len(s.ids) <= s.lost {
		return driver.ForceRecord{}, errNetwork
	}
	return made, err
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
