package lock_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/memlock"
)

// A crowd that waits for one key gives up together: those that stood behind have
// sent no request, and send none to undo it.
func TestCrowdGivesUp(t *testing.T) {
	const crowd = 1000
	store := newFaulty()
	l := lock.New(store, "a")
	acquire(t, lock.New(store.Store, "b"), "k", lock.Options{})
	ctx, end := context.WithCancel(t.Context())
	waits := store.waits.Load()
	var wg sync.WaitGroup
	for range crowd {
		wg.Go(func() {
			if _, err := l.Acquire(ctx, "k", lock.Options{}); !errors.Is(err, context.Canceled) {
				t.Errorf("gave up with %v", err)
			}
		})
	}
	for l.Behind("k") < crowd-1 {
		time.Sleep(time.Millisecond)
	}
	end()
	wg.Wait()
	if n := store.waits.Load() - waits; n != 1 {
		t.Errorf("%d of them asked the store, want only the first", n)
	}
	if n := l.Lines(); n != 0 {
		t.Errorf("%d lines are left", n)
	}
}

// A crowd of keys that were asked for leaves no memory behind.
func TestNoLineIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := lock.New(new(memlock.Store), "a")
		var wg sync.WaitGroup
		for n := range 200 {
			key := strconv.Itoa(n)
			held := acquire(t, l, key, lock.Options{})
			ctx, end := context.WithTimeout(t.Context(), time.Second)
			defer end()
			wg.Go(func() {
				_, err := l.Acquire(ctx, key, lock.Options{})
				wantErr(t, "acquire", err, context.DeadlineExceeded)
				wantErr(t, "release", held.Release(t.Context()), nil)
			})
		}
		synctest.Wait()
		if n := l.Lines(); n != 200 {
			t.Errorf("%d keys have lines, want 200", n)
		}
		wg.Wait()
		if lines := l.Lines(); lines != 0 {
			t.Errorf("%d lines are left, want none", lines)
		}
	})
}

// While a line is busy with callers that leave it, other keys are acquired and
// released.
func TestBusyLineDelaysNoOtherKey(t *testing.T) {
	l := lock.New(new(memlock.Store), "a")
	held := acquire(t, l, "k", lock.Options{})
	ctx, end := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wait := func() {
		wg.Go(func() {
			if _, err := l.Acquire(ctx, "k", lock.Options{}); !errors.Is(err, context.Canceled) {
				t.Errorf("gave up with %v", err)
			}
		})
	}
	for range 3 {
		wait()
	}
	for l.Behind("k") < 2 {
		time.Sleep(time.Millisecond)
	}
	goOn := l.Stall("k")
	end()
	wait() // comes while the line is busy
	done := make(chan error, 1)
	go func() {
		lease, err := l.Acquire(t.Context(), "other", lock.Options{})
		if err == nil {
			err = lease.Release(t.Context())
		}
		done <- err
	}()
	select {
	case err := <-done:
		wantErr(t, "the other key", err, nil)
	case <-time.After(10 * time.Second):
		t.Error("the other key waits for the line")
	}
	goOn()
	wg.Wait()
	wantErr(t, "release", held.Release(t.Context()), nil)
}
