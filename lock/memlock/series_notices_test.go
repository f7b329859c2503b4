package memlock_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/lock/series"
)

// Runs are cancelled while the caller of NotifyRuns processes an earlier notice: it gets theirs when
// it returns, without any further cancel.
func TestNoticesComeDuringANotice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s memlock.Store
		keys := []string{"a", "b", "c"}
		for _, key := range keys {
			beginRun(t, &s, key)
		}
		ctx, stop := context.WithCancel(t.Context())
		var got []string
		proceed, ended := make(chan struct{}), make(chan error, 1)
		go func() {
			ended <- s.NotifyRuns(ctx, func(key string) {
				got = append(got, key)
				<-proceed
			})
		}()
		synctest.Wait()
		for _, key := range keys {
			c := series.Control{Key: key, Action: series.ActionCancel, Op: key, Who: "op", Reason: "test", Seen: series.AnySeen,
				Number: s.ReadSeries(t.Context(), []string{key})[0].Runs[0].Number}
			if a := s.Control(t.Context(), c); a.Err != nil {
				t.Fatalf("the cancel of %q: %+v", key, a)
			}
			synctest.Wait()
		}
		close(proceed)
		synctest.Wait()
		if !slices.Equal(got, keys) {
			t.Errorf("the notices are of %q, want of %q", got, keys)
		}
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("NotifyRuns returns %v, want the end of its context", err)
		}
	})
}

// beginRun opens a series and begins a run of it.
func beginRun(t *testing.T, s *memlock.Store, key string) {
	t.Helper()
	mark := s.Open(t.Context(), []series.OpenRequest{{Key: key, Node: "n"}})[0].Mark
	c := series.Claim{Key: key, Owner: "n/1", Number: mark + 5, After: mark, TTL: time.Hour, Deadline: time.Hour, Attempts: 1, Latest: driver.MaxNumber}
	time.Sleep(5 * time.Millisecond)
	if a := s.Claim(t.Context(), []series.Claim{c})[0]; a.Kind != series.KindGranted {
		t.Fatalf("the claim of %q: %+v", key, a)
	}
}
