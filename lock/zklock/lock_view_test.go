package zklock_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/cronce/cronce/internal/rig"
	"github.com/cronce/cronce/internal/zkserver"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/zklock"
)

// A waiter draws conclusions from the event of its watch: if the node before its own is gone, it is
// first only if the owner of that node had taken the key. After any other event it reads the queue
// again.
func TestView(t *testing.T) {
	const nothing = "reads the queue"
	for _, c := range []struct {
		what  string
		whole bool // the whole queue is watched
		held  bool
		event zk.EventType
		want  string
	}{
		{what: "a waiter takes the key", event: zk.EventNodeDataChanged, want: "held"},
		{what: "a holder is renewed", held: true, event: zk.EventNodeDataChanged, want: "held"},
		{what: "a holder leaves", held: true, event: zk.EventNodeDeleted, want: "held, first"},
		{what: "a waiter leaves", event: zk.EventNodeDeleted, want: nothing},
		{what: "the watch of a holder is lost", held: true, event: zk.EventNotWatching, want: nothing},
		{what: "the watch of a waiter is lost", event: zk.EventNotWatching, want: nothing},
		{what: "the session", held: true, event: zk.EventSession, want: nothing},
		{what: "a place comes or goes", whole: true, event: zk.EventNodeChildrenChanged, want: nothing},
		{what: "the floor of the key is written", whole: true, event: zk.EventNodeDataChanged, want: nothing},
		{what: "the key is gone", whole: true, event: zk.EventNodeDeleted, want: nothing},
	} {
		held, first := zklock.Saw(c.whole, c.held, c.event)
		got := nothing
		switch {
		case held && first:
			got = "held, first"
		case held:
			got = "held"
		case first:
			got = "first"
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}
}

// The waiter right before another one gives up. The waiter behind it is not first then: it reads
// which place is before its own now, and does not write its node while it waits.
func TestWaiterBeforeGivesUp(t *testing.T) {
	t.Parallel()
	const getData = 4
	addr := zkserver.Shared(t)
	op, p := operator(t, addr), newProxy(t, addr)
	d, last := newDriver(t, addr, zklock.Options{Session: time.Minute}), newDriver(t, p.addr(), zklock.Options{Session: time.Minute})
	first := hold(t, lock.New(d, "a"), "k")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	gaveUp := make(chan error, 1)
	go func() {
		_, err := d.Wait(ctx, driver.Acquisition{Key: "k", Owner: "b/1", TTL: time.Minute})
		gaveUp <- err
	}()
	queuedBehind(t, d, "k", 1)
	next := await(t, lock.New(last, "c"), "k")
	watches := func(n int32) { // until it watches the node before its own; the reply to Now comes after the replies to earlier requests
		rig.Eventually(t, "the last one watches", func() bool { return p.asked[getData].Load() >= n || len(next) > 0 })
		now(t, last)
	}
	watches(1)
	stop()
	if err := <-gaveUp; !errors.Is(err, context.Canceled) {
		t.Errorf("the one that gave up: %v", err)
	}
	watches(2)
	names := places(t, op, d, "k")
	if len(names) != 2 || !strings.HasPrefix(names[1], "c") {
		t.Fatalf("the places are %q, want those of a and c", names)
	}
	_, at, err := op.Get(d.LockPath("k") + "/" + names[1])
	must(t, err)
	if at.Version != 0 {
		t.Error("the last one has taken a key that another holds")
	}
	must(t, first.Release(t.Context()))
	g := <-next
	must(t, g.err)
	if g.lease.Fence() <= first.Fence() {
		t.Errorf("the fence is %d after %d", g.lease.Fence(), first.Fence())
	}
}
