package zklock_test

import (
	"errors"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/cronce/cronce/internal/zkserver"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/zklock"
)

// A lease that one Driver acquired is freed through another one by its owner, with its fence or
// with no fence at all. A fence that is off by one, or another owner's name, frees nothing.
func TestReleaseThroughAnotherDriver(t *testing.T) {
	t.Parallel()
	addr := zkserver.Shared(t)
	op := operator(t, addr)
	d, other := newDriver(t, addr, zklock.Options{Session: time.Minute}), newDriver(t, addr, zklock.Options{})
	for _, named := range []bool{true, false} {
		a := driver.Acquisition{Key: "k", Owner: "a/1", TTL: time.Minute}
		g, err := d.Acquire(t.Context(), a)
		must(t, err)
		for _, h := range []driver.LeaseRef{
			{Key: "k", Owner: "a/1", Fence: g.Fence - 1},
			{Key: "k", Owner: "a/1", Fence: g.Fence + 1},
			{Key: "k", Owner: "b/1", Fence: g.Fence},
			{Key: "k", Owner: "b/1"},
		} {
			if err := other.Release(t.Context(), h); !errors.Is(err, driver.ErrLost) || errors.Is(err, driver.ErrForgotten) {
				t.Errorf("the release of %+v, where a/1 has the fence %d: %v", h, g.Fence, err)
			}
		}
		if _, err := d.Renew(t.Context(), holding(a, g)); err != nil {
			t.Fatalf("the lease after the releases that free nothing: %v", err)
		}
		h := driver.LeaseRef{Key: "k", Owner: "a/1"}
		if named {
			h.Fence = g.Fence
		}
		must(t, other.Release(t.Context(), h))
		if left := places(t, op, d, "k"); len(left) != 0 {
			t.Errorf("after the release of %+v there is %q", h, left)
		}
		if _, err := d.Renew(t.Context(), holding(a, g)); !errors.Is(err, driver.ErrLost) {
			t.Errorf("the renewal of what was freed: %v", err)
		}
	}
}

// The node of a lease is replaced by a node of another session, which may end at any moment: its
// owner has lost the lease, and is granted the key again with a higher fence and a node of its own.
func TestReplacedNode(t *testing.T) {
	t.Parallel()
	addr := zkserver.Shared(t)
	op := operator(t, addr)
	d := newDriver(t, addr, zklock.Options{Session: time.Minute})
	a := driver.Acquisition{Key: "k", Owner: "a/1", TTL: time.Minute}
	replaced := func() (g driver.Grant, node string) {
		g, err := d.Acquire(t.Context(), a)
		must(t, err)
		node = d.LockPath("k") + "/" + places(t, op, d, "k")[0]
		data, _, err := op.Get(node)
		must(t, err)
		must(t, op.Delete(node, -1))
		_, err = op.Create(node, data, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
		must(t, err)
		return g, node
	}

	g, node := replaced()
	if _, err := d.Renew(t.Context(), holding(a, g)); !errors.Is(err, driver.ErrLost) {
		t.Errorf("the renewal with the node of another session: %v", err)
	}
	if there, _, err := op.Exists(node); there || err != nil {
		t.Errorf("the node of the other session is there: %v, %v", there, err)
	}

	g, _ = replaced()
	next, err := d.Acquire(t.Context(), a)
	must(t, err)
	if next.Fence <= g.Fence {
		t.Errorf("the fence is %d, that of the lost lease %d", next.Fence, g.Fence)
	}
	left := places(t, op, d, "k")
	if len(left) != 1 {
		t.Fatalf("the places are %q, want one", left)
	}
	_, at, err := op.Get(d.LockPath("k") + "/" + left[0])
	must(t, err)
	if at.EphemeralOwner != d.SessionID() {
		t.Errorf("granted with the node of session %x, this is %x", at.EphemeralOwner, d.SessionID())
	}
}

// An owner takes a key that another one of its process shared until just now, after its own node was
// created: it has the higher fence, although the place of the other is still in the queue.
func TestFenceAfterAPlaceThatEnded(t *testing.T) {
	t.Parallel()
	d := newDriver(t, zkserver.Shared(t), zklock.Options{Session: time.Minute})
	a, b := driver.Acquisition{Key: "k", Owner: "a/1", TTL: time.Minute, Limit: 2}, driver.Acquisition{Key: "k", Owner: "b/1", TTL: time.Minute, Limit: 2}
	before, after, err := d.GrantAfterEnded(a, b)
	must(t, err)
	if after.Fence <= before.Fence {
		t.Errorf("the fence is %d after %d", after.Fence, before.Fence)
	}
}
