package zklock_test

import (
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/cronce/cronce/internal/rig"
	"github.com/cronce/cronce/internal/zkserver"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/zklock"
)

// lose calls do, which gets n replies, and loses the last of them.
func lose(t *testing.T, p *proxy, n int32, do func() error) {
	t.Helper()
	p.cut.Store(n)
	if err := do(); err == nil {
		t.Error("a reply that was lost was no doubt")
	}
	if p.cut.Load() != 0 {
		t.Fatal("no reply was lost")
	}
}

// settled calls do until there is an answer: the client needs a moment to connect.
func settled[T any](t *testing.T, do func() (T, error)) (v T) {
	t.Helper()
	var err error
	rig.Eventually(t, "an answer after the connection was cut", func() bool {
		v, err = do()
		return err == nil
	})
	return v
}

// A node was created and the reply was lost: the owner repeats the request, finds its own node and
// is granted the key with it; there is no second node.
func TestLostReply(t *testing.T) {
	t.Parallel()
	addr := zkserver.Shared(t)
	op := operator(t, addr)
	p := newProxy(t, addr)
	d := newDriver(t, p.addr(), zklock.Options{Session: time.Minute})
	hold(t, lock.New(d, "warm"), "warm")
	req := driver.Acquisition{Key: "k", Owner: "a/1", TTL: time.Minute}
	acquire := func() (driver.Grant, error) { return d.Acquire(t.Context(), req) }
	must(t, d.Release(t.Context(), holding(req, settled(t, acquire)))) // creates the parent

	lose(t, p, 2, func() error { _, err := acquire(); return err }) // a read, and the creation
	if n := len(places(t, op, d, "k")); n != 1 {
		t.Fatalf("%d places after the lost reply, want 1", n)
	}
	g := settled(t, acquire)
	if n := len(places(t, op, d, "k")); n != 1 {
		t.Errorf("%d places after it was asked again, want 1", n)
	}
	if again := settled(t, acquire); again.Fence != g.Fence {
		t.Errorf("asked a third time the fence is %d, was %d", again.Fence, g.Fence)
	}
	lose(t, p, 2, func() error { return d.Release(t.Context(), holding(req, g)) }) // a read, and the removal
	if n := len(places(t, op, d, "k")); n != 0 {
		t.Errorf("%d places after the release", n)
	}
	settled(t, func() (int, error) { return 0, d.Release(t.Context(), holding(req, g)) })
}

func holding(a driver.Acquisition, g driver.Grant) driver.LeaseRef {
	return driver.LeaseRef{Key: a.Key, Owner: a.Owner, Fence: g.Fence, TTL: a.TTL}
}

// The owner of a node whose reply was lost never comes back, although its session lives on: the
// node is removed when its TTL has passed.
func TestLostReplyOfWhoGivesUp(t *testing.T) {
	t.Parallel()
	addr := zkserver.Shared(t)
	op := operator(t, addr)
	p := newProxy(t, addr)
	d := newDriver(t, p.addr(), zklock.Options{Session: time.Minute})
	req := driver.Acquisition{Key: "k", Owner: "a/1", TTL: time.Minute}
	must(t, d.Release(t.Context(), holding(req, settled(t, func() (driver.Grant, error) { return d.Acquire(t.Context(), req) }))))
	req.TTL = 10 * time.Second // long enough to count the places
	lose(t, p, 2, func() error { _, err := d.Acquire(t.Context(), req); return err })
	if n := len(places(t, op, d, "k")); n != 1 {
		t.Fatalf("%d places after the lost reply, want 1", n)
	}
	rig.Eventually(t, "the end of the place", func() bool { return len(places(t, op, d, "k")) == 0 && d.Places() == 0 })
}

// The reply to a waiter's creation is lost: the waiter continues in the place that it has, and gets
// the key.
func TestLostReplyOfAWaiter(t *testing.T) {
	t.Parallel()
	addr := zkserver.Shared(t)
	op := operator(t, addr)
	p := newProxy(t, addr)
	d := newDriver(t, addr, zklock.Options{Session: time.Minute})
	waiter := newDriver(t, p.addr(), zklock.Options{Session: time.Minute})
	hold(t, lock.New(waiter, "warm"), "warm")
	first := hold(t, lock.New(d, "a"), "k")
	p.cut.Store(2)
	next := await(t, lock.New(waiter, "b"), "k")
	rig.Eventually(t, "the lost reply", func() bool { return p.cut.Load() == 0 })
	queuedBehind(t, d, "k", 1)
	must(t, first.Release(t.Context()))
	g := <-next
	must(t, g.err)
	if n := len(places(t, op, d, "k")); n != 1 {
		t.Errorf("%d places, want 1", n)
	}
	must(t, g.lease.Release(t.Context()))
	if n := len(places(t, op, d, "k")); n != 0 {
		t.Errorf("%d places after the release", n)
	}
}

// A waiter that has lost a reply reports the doubt at once, and waits on.
func TestLostReplyIsReported(t *testing.T) {
	t.Parallel()
	addr := zkserver.Shared(t)
	p := newProxy(t, addr)
	d := newDriver(t, addr, zklock.Options{Session: time.Minute})
	waiter := newDriver(t, p.addr(), zklock.Options{Session: time.Minute})
	hold(t, lock.New(waiter, "warm"), "warm")
	first := hold(t, lock.New(d, "a"), "k")
	var held, doubts atomic.Int32
	a := driver.Acquisition{Key: "k", Owner: "b/1", TTL: time.Minute, Answered: func(err error) {
		if _, is := errors.AsType[*lock.HeldError](err); is {
			held.Add(1)
		} else {
			doubts.Add(1)
		}
	}}
	p.cut.Store(2)
	got := make(chan error, 1)
	go func() {
		_, err := waiter.Wait(t.Context(), a)
		got <- err
	}()
	rig.Eventually(t, "both answers", func() bool { return doubts.Load() > 0 && held.Load() > 0 })
	must(t, first.Release(t.Context()))
	must(t, <-got)
}

// A waiter has a second node, whose creation it does not know: the node is removed, and the waiter keeps
// its place.
func TestSecondNodeOfAWaiter(t *testing.T) {
	t.Parallel()
	addr := zkserver.Shared(t)
	op, d := operator(t, addr), newDriver(t, addr, zklock.Options{Session: time.Minute})
	first := hold(t, lock.New(d, "a"), "k")
	got := make(chan error, 1)
	go func() {
		_, err := d.Wait(t.Context(), driver.Acquisition{Key: "k", Owner: "b/1", TTL: time.Minute, Limit: 2}) // it watches the whole queue
		got <- err
	}()
	queuedBehind(t, d, "k", 1)
	put := func(owner string) string {
		path, err := op.Create(d.LockPath("k")+"/"+owner+"#2#", []byte("1|60000|0|true"), zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
		must(t, err)
		return path
	}
	second := put("b%2F1")
	rig.Eventually(t, "the end of the second node", func() bool {
		must(t, op.Delete(put("c%2F1"), -1)) // a change, for a waiter that watches only since the second node exists
		there, _, err := op.Exists(second)
		return err == nil && !there
	})
	must(t, first.Release(t.Context()))
	must(t, <-got)
}

// The request to remove a node does not arrive: the release is doubt, and the removal is repeated long
// before the TTL has passed.
func TestLostRemovalIsRepeated(t *testing.T) {
	t.Parallel()
	addr := zkserver.Shared(t)
	op, p := operator(t, addr), newProxy(t, addr)
	d := newDriver(t, p.addr(), zklock.Options{Session: time.Minute, Dial: beforeFirst(deletion, "/locks/k/", p.sever)})
	a := driver.Acquisition{Key: "k", Owner: "a/1", TTL: time.Hour}
	g, err := d.Acquire(t.Context(), a)
	must(t, err)
	if err := d.Release(t.Context(), holding(a, g)); err == nil {
		t.Error("a request that was lost was no doubt")
	}
	rig.Eventually(t, "the end of the place", func() bool { return len(places(t, op, d, "k")) == 0 && d.Places() == 0 })
}

// A creation arrives late: after its owner has given up, and has removed its nodes. The node is removed
// long before the session ends, although the first request to do so is lost.
func TestLateCreationIsRemoved(t *testing.T) {
	t.Parallel()
	addr := zkserver.Shared(t)
	op, p := operator(t, addr), newProxy(t, addr)
	var severed atomic.Bool
	d := newDriver(t, p.addr(), zklock.Options{Session: 4 * time.Second, Dial: beforeFirst(deletion, "/locks/k/", func() {
		severed.Store(true)
		p.sever()
	})})
	hold(t, lock.New(d, "warm"), "warm")
	_, err := lock.New(newDriver(t, addr, zklock.Options{Session: time.Minute}), "other").Acquire(t.Context(), "k", lock.Options{Limit: 2}) // creates the parent
	must(t, err)
	a := driver.Acquisition{Key: "k", Owner: "a/1", TTL: time.Hour, Limit: 2}
	lose(t, p, 2, func() error { _, err := d.Acquire(t.Context(), a); return err }) // a read, and the creation
	mine := func() []string {
		return slices.DeleteFunc(places(t, op, d, "k"), func(name string) bool { return !strings.HasPrefix(name, "a%2F1#") })
	}
	names := mine()
	if len(names) != 1 {
		t.Fatalf("the places are %q, want one", names)
	}
	must(t, op.Delete(d.LockPath("k")+"/"+names[0], -1)) // it arrives later
	rig.Eventually(t, "the end of its place", func() bool {
		return errors.Is(d.Release(t.Context(), holding(a, driver.Grant{})), driver.ErrLost)
	})
	_, err = op.Create(d.LockPath("k")+"/a%2F1#2#", []byte("1|3600000|0|false"), zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
	must(t, err)
	rig.Eventually(t, "the end of the late place", func() bool { return len(mine()) == 0 && d.Places() <= 1 })
	if !severed.Load() {
		t.Error("no request was lost")
	}
}

// An owner that returned, and whose new creation is in doubt, keeps its place when earlier ones are removed.
func TestSweepKeepsADoubtfulPlace(t *testing.T) {
	t.Parallel()
	addr := zkserver.Shared(t)
	op, p := operator(t, addr), newProxy(t, addr)
	d := newDriver(t, p.addr(), zklock.Options{Session: time.Minute})
	hold(t, lock.New(d, "warm"), "warm")
	must(t, hold(t, lock.New(newDriver(t, addr, zklock.Options{}), "other"), "k").Release(t.Context())) // creates the parent
	lose(t, p, 2, func() error {                                                                        // a read, and the creation
		_, err := d.Acquire(t.Context(), driver.Acquisition{Key: "k", Owner: "a/1", TTL: time.Hour})
		return err
	})
	d.Sweep("k", "a/1")
	if names := places(t, op, d, "k"); len(names) != 1 {
		t.Errorf("the places are %q, want the one in doubt", names)
	}
}

// The pauses between tries to remove a node grow to a second: after a long outage, its lock is free soon.
func TestRemovalPauses(t *testing.T) {
	t.Parallel()
	for failures, want := range map[int]time.Duration{1: 50 * time.Millisecond, 3: 200 * time.Millisecond, 20: time.Second} {
		d := newDriver(t, "127.0.0.1:1", zklock.Options{})
		if got := d.RemovalPause(failures); got != want {
			t.Errorf("after %d failures the pause is %v, want %v", failures, got, want)
		}
	}
}
