package zklock_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/cronce/cronce/internal/zkserver"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/zklock"
)

// A lease goes to another session. The owner that waits behind it, and has seen that its
// holder had the key, is not first when that holder's node goes; and the end of the old
// session ends nothing.
func TestAdoptionAcrossSessions(t *testing.T) {
	t.Parallel()
	addr := zkserver.Shared(t)
	op := operator(t, addr)
	one, two, behind := newDriver(t, addr, zklock.Options{}), newDriver(t, addr, zklock.Options{}), newDriver(t, addr, zklock.Options{})
	a := driver.Acquisition{Key: "k", Owner: "a/1", TTL: time.Minute}
	g, err := one.Acquire(t.Context(), a)
	must(t, err)
	old := holding(a, g)
	_, err = one.Renew(t.Context(), old) // which writes its node
	must(t, err)
	next := await(t, lock.New(behind, "c"), "k")
	queuedBehind(t, one, "k", 1)
	now(t, behind)
	for i, by := range []*zklock.Driver{two, one, two} {
		to := driver.Acquisition{Key: "k", Owner: fmt.Sprint("b/", i), TTL: time.Minute}
		got, err := by.Adopt(t.Context(), old, to)
		must(t, err)
		if got.Fence <= old.Fence {
			t.Errorf("the fence is %d after %d", got.Fence, old.Fence)
		}
		now(t, behind) // the answer comes after that to what the waiter sent
		names := places(t, op, one, "k")
		if len(names) != 2 || !strings.HasPrefix(names[0], fmt.Sprint("b%2F", i)) {
			t.Fatalf("the places are %q, want that of b/%d and that of c", names, i)
		}
		if _, at, err := op.Get(one.LockPath("k") + "/" + names[1]); err != nil || at.Version != 0 {
			t.Fatalf("the one behind has taken the key: %+v, %v", at, err)
		}
		for _, d := range []*zklock.Driver{one, two} {
			if _, err := d.Renew(t.Context(), old); !errors.Is(err, lock.ErrHandedOver) {
				t.Errorf("the renewal of the old lease says %v", err)
			}
		}
		old = holding(to, got)
	}
	must(t, one.Close())
	_, err = two.Renew(t.Context(), old)
	must(t, err)
	select {
	case <-next:
		t.Fatal("the one behind was granted the key beside the holder")
	default:
	}
	must(t, two.Release(t.Context(), old))
	served := <-next
	must(t, served.err)
	if served.lease.Fence() <= old.Fence {
		t.Errorf("the fence is %d after %d", served.lease.Fence(), old.Fence)
	}
}

// Whichever reply to an adoption is lost: asked again it is granted, once.
func TestLostReplyOfAnAdoption(t *testing.T) {
	t.Parallel()
	addr := zkserver.Shared(t)
	op, p := operator(t, addr), newProxy(t, addr)
	d, adopts := newDriver(t, addr, zklock.Options{}), newDriver(t, p.addr(), zklock.Options{Session: time.Minute})
	for n := int32(1); ; n++ {
		key := fmt.Sprint("k", n)
		a := driver.Acquisition{Key: key, Owner: "a/1", TTL: time.Minute}
		g, err := d.Acquire(t.Context(), a)
		must(t, err)
		settled(t, func() (any, error) { return adopts.Inspect(t.Context(), key) })
		old, to := holding(a, g), driver.Acquisition{Key: key, Owner: "b/1", TTL: time.Minute}
		adopt := func() (driver.Grant, error) { return adopts.Adopt(t.Context(), old, to) }
		p.cut.Store(n)
		_, first := adopt()
		if p.cut.Swap(0) > 0 {
			must(t, first)
			if n < 6 {
				t.Errorf("an adoption has %d replies", n-1)
			}
			return
		}
		got := settled(t, adopt)
		if again := settled(t, adopt); again.Fence != got.Fence || got.Fence <= g.Fence {
			t.Errorf("reply %d was lost: the fence is %d, asked again %d, before %d", n, got.Fence, again.Fence, g.Fence)
		}
		if names := places(t, op, d, key); len(names) != 1 || names[0][0] != 'b' {
			t.Errorf("reply %d was lost: the places are %q, want that of b", n, names)
		}
		if _, err := d.Renew(t.Context(), old); !errors.Is(err, lock.ErrHandedOver) {
			t.Errorf("reply %d was lost: the renewal of the old lease says %v", n, err)
		}
	}
}

// Whichever reply to a forced unlock is lost: asked again it returns its record, and
// leaves the next holder alone.
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

// A place whose owner is first but has not taken the key yet is no holder: an unlock
// leaves it alone.
func TestForceLeavesTheNextAlone(t *testing.T) {
	t.Parallel()
	addr := zkserver.Shared(t)
	op := operator(t, addr)
	d := newDriver(t, addr, zklock.Options{})
	must(t, hold(t, lock.New(d, "a"), "k").Release(t.Context())) // makes the parent
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
