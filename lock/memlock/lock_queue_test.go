package memlock_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/lock/series"
)

// A writer that waits, and looks each second, keeps its place before later readers,
// however long the readers keep the key.
func TestWaiterThatLooksKeepsItsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s memlock.Store
		reader := driver.Acquisition{Key: "key", Owner: "a/1", TTL: time.Hour, Limit: driver.NoLimit}
		if _, err := s.Acquire(t.Context(), reader); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = s.Wait(ctx, driver.Acquisition{Key: "key", Owner: "writer/1", TTL: time.Hour}) // it ends with the context
		}()
		time.Sleep(time.Minute + time.Second/2)
		reader.Owner = "b/1"
		if _, err := s.Acquire(t.Context(), reader); !isHeld(err) {
			t.Errorf("a reader that comes a minute after the writer: %v", err)
		}
		stop()
		<-done
	})
}

func isHeld(err error) bool {
	_, is := errors.AsType[*driver.HeldError](err)
	return is
}

// A writer that has not looked for 5 seconds keeps readers waiting, and one that has not
// for longer loses its place.
func TestAbsent(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	s := memlock.New(memlock.Options{Now: func() time.Time { return now }})
	reader := driver.Acquisition{Key: "key", Owner: "a/1", TTL: time.Hour, Limit: driver.NoLimit}
	if _, err := s.Acquire(t.Context(), reader); err != nil {
		t.Fatal(err)
	}
	if err := s.Abandon(driver.Acquisition{Key: "key", Owner: "writer/1", TTL: time.Hour}); !isHeld(err) {
		t.Fatal(err)
	}
	reader.Owner = "b/1"
	now = now.Add(5 * time.Second)
	if _, err := s.Acquire(t.Context(), reader); !isHeld(err) {
		t.Errorf("5s after the writer's look: %v", err)
	}
	now = now.Add(1)
	if _, err := s.Acquire(t.Context(), reader); err != nil {
		t.Errorf("later than that: %v", err)
	}
}

// Several keys that are asked for with barging, and refused, leave a key that was kept
// for a waiter to that waiter at once.
func TestBargedInVain(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	s := memlock.New(memlock.Options{Now: func() time.Time { return now }})
	holder := func(key string) driver.LeaseRef {
		a := driver.Acquisition{Key: key, Owner: "a/1", TTL: time.Hour}
		g, err := s.Acquire(t.Context(), a)
		if err != nil {
			t.Fatal(err)
		}
		return driver.LeaseRef{Key: key, Owner: a.Owner, Fence: g.Fence}
	}
	kept := holder("kept")
	if err := s.Abandon(driver.Acquisition{Key: "kept", Owner: "b/1", TTL: time.Hour}); !isHeld(err) {
		t.Fatal(err)
	}
	if err := s.Release(t.Context(), kept); err != nil {
		t.Fatal(err)
	}
	holder("held")
	both := []driver.Acquisition{
		{Key: "held", Owner: "c/1", TTL: time.Hour, Barge: true},
		{Key: "kept", Owner: "c/1", TTL: time.Hour, Barge: true},
	}
	for range 2 {
		if _, err := s.AcquireAll(t.Context(), both); !isHeld(err) {
			t.Errorf("both: %v", err)
		}
		at, err := s.Inspect(t.Context(), "kept")
		if err != nil || at.Owner != "b/1" || at.Waiting != 0 {
			t.Errorf("the key is not kept for the first in its queue: %+v, %v", at, err)
		}
		both[0], both[1] = both[1], both[0]
	}
}

// Fences that askers have seen ahead of the counter are remembered for their keys,
// however many these are, until the counter has passed them.
func TestFencesAheadAreKept(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	s := memlock.New(memlock.Options{Now: func() time.Time { return now }})
	acquire := func(i int, seen int64) int64 {
		key := fmt.Sprint("key ", i)
		g, err := s.Acquire(t.Context(), driver.Acquisition{Key: key, Owner: "a/1", TTL: time.Second, Fence: seen})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Release(t.Context(), driver.LeaseRef{Key: key, Owner: "a/1", Fence: g.Fence}); err != nil {
			t.Fatal(err)
		}
		return g.Fence
	}
	const keys = 3000
	ahead := now.Add(time.Hour).UnixMicro()
	for i := range keys {
		acquire(i, ahead)
	}
	for i := range keys {
		if fence := acquire(i, 0); fence != ahead+2 {
			t.Fatalf("the fence of key %d is %d, after %d", i, fence, ahead+1)
		}
	}
	now = now.Add(2 * time.Hour)
	for i := keys; i < 3*keys; i++ {
		acquire(i, now.Add(time.Hour).UnixMicro())
	}
	if n := s.FencesAhead(); n > 2*keys {
		t.Errorf("%d fences are remembered, %d are ahead", n, 2*keys)
	}
}

// A node is forgotten a day after its last beat was over, and not a millisecond before.
func TestNodesGo(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	s := memlock.New(memlock.Options{Now: func() time.Time { return now }})
	beat := func(node string) {
		if _, err := s.Beat(t.Context(), series.Beat{Node: node, TTL: time.Minute}); err != nil {
			t.Fatal(err)
		}
	}
	beat("silent")
	beat("left")
	if err := s.Leave(t.Context(), "left"); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		after time.Duration // the one before
		want  int
	}{
		{series.GoneFor - time.Millisecond, 3},
		{time.Millisecond, 2}, // the one that left a day ago has gone
		{time.Minute - time.Millisecond, 2},
		{time.Millisecond, 1},
	} {
		now = now.Add(c.after)
		beat("alive")
		if n := s.Nodes(); n != c.want {
			t.Errorf("at %v there are %d nodes, want %d", now, n, c.want)
		}
	}
}
