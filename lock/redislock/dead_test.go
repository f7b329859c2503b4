package redislock_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/internal/rig"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/redislock"
)

// someone returns a fresh owner.
func someone() string { return "dead/" + uuid.NewString() }

// deadWaiters are ten processes that took a place and died: no connection has their
// inboxes any more.
func deadWaiters(t *testing.T, addr string, limit int) {
	t.Helper()
	for range 10 {
		d := newDriver(t, client(t, addr), redislock.Options{})
		_ = d.AbandonSure(t.Context(), driver.Acquisition{Key: "key", Owner: someone(), TTL: time.Minute, Limit: limit}) // held
	}
}

// waits lets a process of its own wait for the key, and returns when it has a place.
func waits(t *testing.T, addr string, limit, places int) <-chan *lock.Lease {
	t.Helper()
	l, d := pod(t, addr, "waiter")
	got := make(chan *lock.Lease, 1)
	go func() {
		lease, err := l.Acquire(patient(t.Context()), "key", lock.Options{Limit: limit})
		if err != nil {
			t.Errorf("wait: %v", err)
		}
		got <- lease
	}()
	until(t, "it has a place", func() bool {
		at, err := d.Inspect(context.Background(), "key")
		return err == nil && at.Waiting == places
	})
	return got
}

// Waiters whose processes have died delay nobody: the server knows that their
// inboxes are gone.
func TestDeadWaitersCostNothing(t *testing.T) {
	t.Parallel()
	for name, limit := range map[string]int{"alone": 1, "readers": lock.NoLimit} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			addr := redisserver.Start(t).Addr()
			l, _ := pod(t, addr, "holder")
			held := acquireKey(t, l, "key")
			deadWaiters(t, addr, limit)
			got := waits(t, addr, limit, 11)
			meter, began := rig.NewMeter(t), time.Now()
			must(t, held.Release(t.Context()))
			lease := <-got
			if took := time.Since(began); took > 10*time.Second+meter.Starved(began, time.Now()) { // each that is waited for costs two seconds
				t.Errorf("behind ten dead waiters it took %v", took)
			}
			must(t, lease.Release(t.Context()))
		})
	}
}

// A server that was restarted has lost all connections, and the waiters reconnect a moment later:
// while none of them is connected, the key is reserved for the first. The queue is kept for as long as
// the waiters have set, since they may probe as rarely as before.
func TestKeptForTheFirstOfThoseWhoAreGone(t *testing.T) {
	for _, limit := range []int{1, lock.NoLimit} {
		s := simulated(t)
		c := client(t, s.Addr())
		l, d := pod(t, s.Addr(), "holder")
		held := acquireKey(t, l, "key")
		first := driver.Acquisition{Key: "key", Owner: someone(), TTL: time.Minute, Limit: limit}
		_ = d.AbandonSure(t.Context(), first) // held
		deadWaiters(t, s.Addr(), limit)
		must(t, held.Release(t.Context()))
		at, err := d.Inspect(t.Context(), "key")
		must(t, err)
		if at.Owner != first.Owner || at.Waiting != 10 {
			t.Errorf("limit %d: the key stands at %+v, want it kept for %s before ten others", limit, at, first.Owner)
		}
		if left := c.PTTL(t.Context(), "cronce:v1:q:{key}").Val(); left != 20*time.Second {
			t.Errorf("limit %d: the queue is kept for %v, want 20s", limit, left)
		}
		must(t, d.AbandonSure(t.Context(), first)) // it is back
	}
}

// While the key is held, a waiter gets no message for ten seconds, and sends no request until it is
// woken. A waiter whose server cannot wake it probes each second.
func TestIdleWaiterAsksRarely(t *testing.T) {
	t.Parallel()
	addr := redisserver.Start(t).Addr()
	c := client(t, addr)
	l, _ := pod(t, addr, "holder")
	held := acquireKey(t, l, "key")
	got := waits(t, addr, 1, 1)
	before := calls(t, c, "evalsha")
	time.Sleep(3 * time.Second)
	if n := calls(t, c, "evalsha") - before; n > 1 {
		t.Errorf("%d scripts in three seconds of waiting", n)
	}
	if left := c.PTTL(t.Context(), redislock.DefaultNamespace+":v1:q:{key}").Val(); left < 10*time.Second {
		t.Errorf("the queue is forgotten in %v, and its waiter may look in ten seconds", left)
	}
	must(t, held.Release(t.Context()))
	must(t, (<-got).Release(t.Context()))
}

// The first in line is stopped: its connection is there, so the key is kept for it.
// The next one, which looks rarely, is notified, and passes over it after two seconds.
func TestStoppedWaiterIsPassedOver(t *testing.T) {
	t.Parallel()
	addr := redisserver.Start(t).Addr()
	l, d := pod(t, addr, "holder")
	held := acquireKey(t, l, "key")
	stopped := newDriver(t, client(t, addr), redislock.Options{})
	listening := client(t, addr).Subscribe(t.Context(), stopped.Inbox())
	t.Cleanup(func() { _ = listening.Close() })
	_, err := listening.Receive(t.Context())
	must(t, err)
	_ = stopped.AbandonSure(t.Context(), driver.Acquisition{Key: "key", Owner: someone(), TTL: time.Minute}) // held
	got := waits(t, addr, 1, 2)
	meter, began := rig.NewMeter(t), time.Now()
	must(t, held.Release(t.Context()))
	lease := <-got
	if took := time.Since(began); took < 1900*time.Millisecond || took > 9*time.Second+meter.Starved(began, time.Now()) {
		t.Errorf("behind a stopped waiter it took %v", took)
	}
	must(t, lease.Release(t.Context()))
	if at, err := d.Inspect(t.Context(), "key"); err != nil || at != (driver.KeyState{}) {
		t.Errorf("left behind: %+v, %v", at, err)
	}
}

// A freed key is reserved for the first in line. Those behind it whose processes have died lose their places, and the first one after
// them that is there is notified: it is next if the first does not answer.
func TestNextIsNotifiedPastTheDead(t *testing.T) {
	t.Parallel()
	addr := redisserver.Start(t).Addr()
	d, raw := newDriver(t, client(t, addr), redislock.Options{}), client(t, addr)
	inbox := raw.Subscribe(t.Context(), "next")
	defer inbox.Close()
	_, err := inbox.Receive(t.Context())
	must(t, err)
	for key, limit := range map[string]int{"alone": 1, "shared": 2} {
		a := driver.Acquisition{Key: key, Owner: "n/0", TTL: time.Minute, Limit: limit}
		g, err := d.Acquire(t.Context(), a)
		must(t, err)
		must(t, raw.RPush(t.Context(), "cronce:v1:q:{"+key+"}", "first|n/1", "+gone|n/2", "+gone|n/3", "+next|"+key, "+gone|n/5").Err())
		must(t, d.Release(t.Context(), driver.LeaseRef{Key: key, Owner: a.Owner, Fence: g.Fence, Limit: limit}))
		if left := raw.LRange(t.Context(), "cronce:v1:q:{"+key+"}", 0, -1).Val(); len(left) != 2 || left[0] != "+next|"+key {
			t.Fatalf("%s: the queue is %q, want the living one first", key, left)
		}
		message, err := inbox.ReceiveMessage(t.Context())
		must(t, err)
		if message.Payload != "|"+key {
			t.Errorf("%s: the message is %q, want |%s", key, message.Payload, key)
		}
	}
}
