package lock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/memlock"
)

// noticed returns the events that a Locker reports.
func noticed(l *lock.Locker) <-chan lock.StoreEvent {
	all := make(chan lock.StoreEvent, 100)
	l.OnStoreEvent(func(t lock.StoreEvent) { all <- t })
	return all
}

// A store that has forgotten a lease before its time is reported, with the lease's
// end; one that was only silent is not.
func TestForgottenLeaseIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(memlock.Store)
		l := lock.New(plainOnly{store}, "a") // which has no clocks
		events := noticed(l)
		all := append(runs(t, store, 0, 3*time.Second), acquire(t, l, "plain", lock.Options{TTL: 3 * time.Second}))
		time.Sleep(10 * time.Second)
		if len(events) != 0 {
			t.Errorf("without a reason it reported %v", <-events)
		}
		store.Forget()
		for _, lease := range all {
			<-lease.Context().Done()
			wantErr(t, "cause", context.Cause(lease.Context()), lock.ErrForgotten)
			wantErr(t, "cause", context.Cause(lease.Context()), lock.ErrLost)
			wantErr(t, "check", lease.Check(), lock.ErrLost)
		}
		synctest.Wait()
		if len(events) != 1 {
			t.Fatalf("it reported %d events, want of the plain lease", len(events))
		}
		got := <-events
		if want := fmt.Sprintf(`the store has forgotten the lease on "plain" with the fence %d`, got.Fence); got.Key != "plain" || got.Fence == 0 || got.Step != 0 || got.String() != want {
			t.Errorf("it reported %+v, %v", got, got)
		}
	})
}

// A lease that ended because nobody answered was not forgotten.
func TestSilenceIsNotForgetting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFaulty()
		l := lock.New(store, "a")
		events := noticed(l)
		store.before = func(op string) {
			if op == "renew" {
				time.Sleep(time.Hour)
			}
		}
		lease := acquire(t, l, "k", lock.Options{TTL: 3 * time.Second})
		<-lease.Context().Done()
		cause := context.Cause(lease.Context())
		wantErr(t, "cause", cause, lock.ErrLost)
		if errors.Is(cause, lock.ErrForgotten) || len(events) != 0 {
			t.Errorf("the cause is %v, it reported %d events", cause, len(events))
		}
		time.Sleep(2 * time.Hour) // the renewals return
	})
}

// A store's clock that jumps is reported with how far, once; drift is not.
func TestClockStepIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ahead atomic.Int64
		ahead.Store(int64(time.Hour)) // from the beginning, which is no step
		l := lock.New(memlock.New(memlock.Options{Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }}), "a")
		events := noticed(l)
		lease := acquire(t, l, "k", lock.Options{TTL: 30 * time.Second})
		for range 20 { // 100 ms in each ten seconds
			time.Sleep(10 * time.Second)
			ahead.Add(int64(100 * time.Millisecond))
		}
		if len(events) != 0 {
			t.Errorf("drift was reported as %v", <-events)
		}
		for _, step := range []time.Duration{-time.Hour, 5 * time.Second} {
			ahead.Add(int64(step))
			time.Sleep(time.Minute)
			if len(events) != 1 {
				t.Fatalf("of a step by %v it reported %d events", step, len(events))
			}
			got := <-events
			if want := "the clock of the store " + got.Server + " jumped by " + got.Step.String(); (got.Step-step).Abs() > time.Second || got.Key != "" || got.Server == "" || got.String() != want {
				t.Errorf("of a step by %v it reported %+v, %v", step, got, got)
			}
		}
		wantErr(t, "release", lease.Release(t.Context()), nil)
	})
}

// A reading that took long shows no step that its slow answer explains, nor does the next one. Clocks are read
// once a second, however often leases are renewed.
func TestSlowReadingIsNoStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &slowClock{Store: new(memlock.Store)}
		l := lock.New(store, "a")
		events := noticed(l)
		lease := acquire(t, l, "k", lock.Options{TTL: driver.MinTTL})
		time.Sleep(10 * time.Second)
		if n := store.readings.Load(); n < 8 || n > 11 {
			t.Errorf("%d readings in 10 seconds", n)
		}
		for _, slow := range []time.Duration{2 * time.Second, 0} {
			store.slow.Store(int64(slow))
			time.Sleep(5 * time.Second)
			if len(events) != 0 {
				t.Errorf("a reading that took %v was reported as %v", slow, <-events)
			}
		}
		wantErr(t, "release", lease.Release(t.Context()), nil)
		time.Sleep(5 * time.Second) // the last reading returns
	})
}

// slowClock is a store that answers readings of its clock slowly.
type slowClock struct {
	*memlock.Store
	slow     atomic.Int64
	readings atomic.Int32
}

func (s *slowClock) Now(ctx context.Context) ([]driver.ClockReading, error) {
	s.readings.Add(1)
	rs, err := s.Store.Now(ctx)
	time.Sleep(time.Duration(s.slow.Load()))
	for i := range rs {
		rs[i].Received = time.Now()
	}
	return rs, err
}

// restarted is a store whose readings come from a process that the test names, one
// for each master.
type restarted struct {
	*memlock.Store
	processes atomic.Pointer[map[string]string] // by server
}

func (s *restarted) Now(ctx context.Context) ([]driver.ClockReading, error) {
	rs, err := s.Store.Now(ctx)
	if err != nil {
		return nil, err
	}
	var all []driver.ClockReading
	for server, process := range *s.processes.Load() {
		r := rs[0]
		r.Server, r.Process = server, process
		all = append(all, r)
	}
	return all, nil
}

// A server that was restarted, or that another took the place of, is reported once,
// and its leases live on. A master that is new and took nobody's place, one that
// left, and one that does not tell are not.
func TestReplacedServerIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &restarted{Store: &memlock.Store{}}
		l := lock.New(store, "a")
		events := noticed(l)
		become := func(processes map[string]string) {
			store.processes.Store(&processes)
			time.Sleep(time.Minute)
		}
		become(map[string]string{"x": "1"})
		lease := acquire(t, l, "k", lock.Options{TTL: 30 * time.Second})
		for _, step := range []struct {
			masters map[string]string
			want    string // the server that is reported
		}{
			{map[string]string{"x": "1"}, ""},
			{map[string]string{"x": "2"}, "x"},
			{map[string]string{"x": "2", "y": "3"}, ""},
			{map[string]string{"x": "2", "y": "4"}, "y"},
			{map[string]string{"x": "2", "z": "5"}, "z"},
			{map[string]string{"x": "2"}, ""},
			{map[string]string{"x": "1"}, "x"},
			{map[string]string{"x": ""}, ""},
			{map[string]string{"x": "6"}, ""},
			{map[string]string{"x": "6", "y": "7"}, ""},
			{map[string]string{"x": "6"}, ""}, // a failover: y's place is empty for a while
			{map[string]string{"x": "6", "z": "8"}, "z"},
			{map[string]string{"x": "6", "z": "8", "y": "9"}, ""},
			{map[string]string{"x": "6", "w": "10", "y": "9"}, "w"},
			{map[string]string{"x": "6", "w": "10", "y": "9", "v": "11"}, ""}, // z's place is taken by w already
		} {
			become(step.masters)
			switch {
			case len(events) != min(1, len(step.want)):
				t.Fatalf("of %v it reported %d events", step.masters, len(events))
			case step.want == "":
				continue
			}
			got := <-events
			if want := (lock.StoreEvent{Server: step.want, Replaced: true}); got != want || !strings.Contains(got.String(), "replaced") {
				t.Errorf("of %v it reported %+v, %v", step.masters, got, got)
			}
		}
		wantErr(t, "check", lease.Check(), nil)
		wantErr(t, "release", lease.Release(t.Context()), nil)
	})
}

// A function that hangs delays neither renewals nor the end of a lost lease. It gets the events
// since then once it returns, with the number of events that it was too slow for.
func TestStoreEventsThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 1100
		store := new(memlock.Store)
		l := lock.New(store, "a")
		var events []lock.StoreEvent
		release := make(chan struct{})
		l.OnStoreEvent(func(e lock.StoreEvent) {
			if events = append(events, e); len(events) == 1 {
				<-release
			}
		})
		var leases []*lock.Lease
		for i := range n {
			leases = append(leases, acquire(t, l, fmt.Sprint("k", i), lock.Options{TTL: 30 * time.Second}))
		}
		store.Forget()
		time.Sleep(15 * time.Second)
		for _, lease := range leases {
			if err := context.Cause(lease.Context()); !errors.Is(err, lock.ErrForgotten) {
				t.Fatalf("the context of %s has ended with %v", lease.Key(), err)
			}
		}
		kept := acquire(t, l, "kept", lock.Options{TTL: 3 * time.Second})
		time.Sleep(time.Minute)
		wantErr(t, "check of a lease that is renewed meanwhile", kept.Check(), nil)
		close(release)
		wantErr(t, "the wait for the function", l.Wait(t.Context()), nil)
		dropped := 0
		for _, e := range events {
			dropped += e.Dropped
		}
		if waited := len(events) - 1; waited != 1024 && waited != 1023 || dropped != n-len(events) { // the first may still wait when the others come
			t.Errorf("%d events, %d dropped, of %d", len(events), dropped, n)
		}
		_ = kept.Release(t.Context())
	})
}
