package zklock_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/cronce/cronce/internal/zkserver"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/zklock"
)

// Whichever reply to a forced unlock is lost, a repeated request returns the record, and leaves the
// next holder alone.
func TestLostReplyOfAForcedUnlock(t *testing.T) {
	t.Parallel()
	addr := zkserver.Shared(t)
	p := newProxy(t, addr)
	d, forces := newDriver(t, addr, zklock.Options{}), newDriver(t, p.addr(), zklock.Options{Session: time.Minute})
	for n := int32(1); ; n++ {
		key := fmt.Sprint("k", n)
		a := driver.Acquisition{Key: key, Owner: "a/1", TTL: time.Minute}
		g, err := d.Acquire(t.Context(), a)
		must(t, err)
		settled(t, func() (any, error) { return forces.Inspect(t.Context(), key) })
		force := func() (driver.ForceRecord, error) {
			return forces.Force(t.Context(), driver.ForceRequest{Key: key, ID: "id", By: "alice", Reason: "gone", To: g.Fence})
		}
		p.cut.Store(n)
		_, first := force()
		if p.cut.Swap(0) > 0 {
			must(t, first)
			if n < 6 {
				t.Errorf("a forced unlock has %d replies", n-1)
			}
			return
		}
		made := settled(t, force)
		next := driver.Acquisition{Key: key, Owner: "b/1", TTL: time.Minute}
		got, err := d.Acquire(t.Context(), next)
		must(t, err)
		if again := settled(t, force); again.At != made.At {
			t.Errorf("reply %d was lost: the records are %+v and %+v", n, made, again)
		}
		_, err = d.Renew(t.Context(), holding(next, got))
		must(t, err)
		if all, err := d.ForceRecords(t.Context(), key); err != nil || len(all) != 1 {
			t.Errorf("reply %d was lost: the records are %+v, %v", n, all, err)
		}
		if _, err := d.Renew(t.Context(), holding(a, g)); !errors.Is(err, lock.ErrForced) {
			t.Errorf("reply %d was lost: the renewal of the old lease says %v", n, err)
		}
	}
}

// A place whose owner is first but has not taken the key yet is not a holder: an unlock leaves it
// alone.
func TestForceLeavesTheNextAlone(t *testing.T) {
	t.Parallel()
	addr := zkserver.Shared(t)
	op := operator(t, addr)
	d := newDriver(t, addr, zklock.Options{})
	must(t, hold(t, lock.New(d, "a"), "k").Release(t.Context())) // creates the parent
	for i, c := range []struct {
		data string
		want error
	}{{"1|60000|0|true", driver.ErrFree}, {"1|60000|0|false", nil}} {
		_, err := op.Create(d.LockPath("k")+fmt.Sprintf("/b%%2F1#1#%010d", 900+i), []byte(c.data), zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
		must(t, err)
		_, err = d.Force(t.Context(), driver.ForceRequest{Key: "k", ID: fmt.Sprint("id", i), By: "alice", Reason: "gone"})
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.data, err, c.want)
		}
		if left := len(places(t, op, d, "k")); left != 1 && c.want != nil || left != 0 && c.want == nil {
			t.Errorf("%s: %d places are left", c.data, left)
		}
		if c.want != nil {
			must(t, op.Delete(d.LockPath("k")+"/"+places(t, op, d, "k")[0], -1))
		}
	}
}
