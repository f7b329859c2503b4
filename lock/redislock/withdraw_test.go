package redislock_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock/redislock"
)

// patience is the time within which a caller that is cancelled returns, if its call is not on the
// wire.
const patience = 5 * time.Millisecond

// A caller requests a key, and notes how long that took and the result.
type caller struct {
	cancel context.CancelFunc
	took   time.Duration // 0: it waits still
	err    error
}

// atBusyServer is atServer with as many batches in flight as there may be: calls have to wait.
func atBusyServer(t *testing.T) (*fakeServer, *redislock.Driver, *sync.WaitGroup) {
	d, store := atServer(t)
	var wg sync.WaitGroup
	for range 2 {
		call(t, &wg, store, "mine", time.Hour)
	}
	return d, store, &wg
}

// call makes a call in a goroutine, and returns once it is enqueued.
func call(t *testing.T, wg *sync.WaitGroup, store *redislock.Driver, owner string, limit time.Duration) *caller {
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	c := &caller{cancel: cancel}
	wg.Go(func() {
		defer cancel()
		began := time.Now()
		c.err = asks(ctx, store, owner)
		c.took = max(time.Since(began), 1)
	})
	synctest.Wait()
	return c
}

func (c *caller) want(t *testing.T, who string, err error, took time.Duration) {
	t.Helper()
	if synctest.Wait(); c.took == 0 || !errors.Is(c.err, err) || c.took > took {
		t.Errorf("%s: %v after %v, want %v within %v", who, c.err, c.took, err, took)
	}
}

// A caller that is cancelled in the queue, while no batch completes, returns within a few
// milliseconds, and at once if it has waited for longer.
func TestCancelledInTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, store, wg := atBusyServer(t)
		early, late := call(t, wg, store, "mine", time.Hour), call(t, wg, store, "mine", time.Hour)
		early.cancel()
		time.Sleep(patience)
		early.want(t, "cancelled at once", context.Canceled, patience)
		time.Sleep(time.Minute)
		if late.took != 0 {
			t.Errorf("the caller that was not cancelled returned after %v: %v", late.took, late.err)
		}
		late.cancel()
		late.want(t, "cancelled after a minute", context.Canceled, time.Minute+patience)
		timed := call(t, wg, store, "mine", 3*time.Second)
		time.Sleep(3 * time.Second)
		timed.want(t, "three seconds later", context.DeadlineExceeded, 3*time.Second)
		close(d.open)
		wg.Wait()
	})
}

// A caller whose call is enqueued while others wait already can be cancelled in the queue as
// well, and waits no longer than its deadline when its batch is in flight.
func TestCallersThatComeLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, store, wg := atBusyServer(t)
		for range 3 {
			call(t, wg, store, "mine", time.Hour)
			time.Sleep(patience + time.Millisecond)
			cancelled := call(t, wg, store, "mine", time.Hour)
			cancelled.cancel()
			time.Sleep(patience)
			cancelled.want(t, "cancelled", context.Canceled, patience)
		}
		timed := call(t, wg, store, "mine", time.Minute)
		d.open <- struct{}{} // the others are flushed with it
		time.Sleep(time.Minute)
		timed.want(t, "a minute later", context.DeadlineExceeded, time.Minute)
		close(d.open)
		wg.Wait()
	})
}

// A caller whose call is sent again, alone, waits no longer than its deadline for that
// either; and one that was cancelled waits for its answer.
func TestDeadlineInASecondRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, store, wg := atBusyServer(t)
		timed, cancelled := call(t, wg, store, "later", time.Minute), call(t, wg, store, "later", time.Hour)
		for range 3 { // the lone requests, and the first run for both
			d.open <- struct{}{}
			synctest.Wait()
		}
		cancelled.cancel()
		time.Sleep(time.Minute)
		timed.want(t, "a minute later", context.DeadlineExceeded, time.Minute)
		if cancelled.took != 0 {
			t.Errorf("the caller whose call is on the wire did not wait: %v", cancelled.err)
		}
		close(d.open)
		wg.Wait()
	})
}

// A call that a batch has no room for is in the next one, and can be cancelled meanwhile,
// whether it waited for long before that or not.
func TestMoreThanABatch(t *testing.T) {
	for _, waited := range []time.Duration{0, time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			d, store := atServer(t)
			var wg sync.WaitGroup
			var all []*caller
			for range 2 + 200 + 30 {
				all = append(all, call(t, &wg, store, "mine", time.Hour))
			}
			time.Sleep(waited)
			d.open <- struct{}{} // 200 are flushed
			synctest.Wait()
			all[201].cancel() // is on the wire
			all[211].cancel()
			time.Sleep(patience)
			all[211].want(t, "cancelled", context.Canceled, waited+patience)
			close(d.open)
			wg.Wait()
			for i, c := range all {
				if i != 211 && c.err != nil {
					t.Errorf("caller %d: %v", i, c.err)
				}
			}
			got := d.calls()
			slices.Sort(got)
			if !slices.Equal(got, []int{1, 1, 29, 200}) {
				t.Errorf("batches of %v calls, want 1, 1, 29 and 200", got)
			}
		})
	}
}

// Calls that have waited for long change nothing for those that come after them.
func TestWaitingForLongAgainAndAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, store := atServer(t)
		for range 3 {
			var wg sync.WaitGroup
			var all []*caller
			for range 5 {
				all = append(all, call(t, &wg, store, "mine", time.Hour))
			}
			time.Sleep(time.Second)
			all[4].cancel()
			all[4].want(t, "cancelled", context.Canceled, time.Second)
			for range 3 {
				d.open <- struct{}{}
				time.Sleep(time.Second)
			}
			wg.Wait()
			for i, c := range all[:4] {
				if c.err != nil || c.took > 4*time.Second {
					t.Errorf("caller %d: %v after %v", i, c.err, c.took)
				}
			}
		}
		if got := d.calls(); !slices.Equal(got, []int{1, 1, 2, 1, 1, 2, 1, 1, 2}) {
			t.Errorf("batches of %v calls, want 1, 1 and 2 each time", got)
		}
	})
}
