package claimer_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/lock/series/claimer"
)

// counted is a store that counts the requests that renew runs.
type counted struct {
	memlock.Store
	renewals atomic.Int32
}

func (s *counted) RenewRuns(ctx context.Context, rs []series.RunRef) []series.RenewAnswer {
	s.renewals.Add(1)
	return s.Store.RenewRuns(ctx, rs)
}

func wantErr(t *testing.T, what string, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// openSeries opens n series and returns claims for their next second.
func openSeries(t *testing.T, l *claimer.Claimer, store series.Numbered, n int) []series.Claim {
	t.Helper()
	number := time.Now().Add(time.Second).Truncate(time.Second).UnixMilli()
	cs := make([]series.Claim, n)
	for i := range cs {
		key := fmt.Sprintf("job-%d", i)
		if s := store.Open(t.Context(), []series.OpenRequest{{Key: key, Node: "a", Revision: "r"}}); s[0].Err != nil {
			t.Fatal(s[0].Err)
		}
		cs[i] = series.Claim{Key: key, Owner: l.Owner(), Number: number, After: number - 1000, TTL: 3 * time.Second,
			Deadline: time.Second, Attempts: 1, Latest: number + 60_000, Revision: "r"}
	}
	time.Sleep(time.Until(time.UnixMilli(number)))
	return cs
}

// Fifty runs share a request that renews them. A lease ends once.
func TestRunsShareRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(counted)
		l := claimer.New(store, "a")
		var leases []*claimer.Lease
		for _, c := range l.Claim(t.Context(), openSeries(t, l, store, 50)) {
			if c.Kind != series.KindGranted {
				t.Fatalf("answer %v, want granted", c.Kind)
			}
			leases = append(leases, c.Lease)
		}
		time.Sleep(1500 * time.Millisecond)
		if n := store.renewals.Load(); n != 1 {
			t.Errorf("%d renewal requests, want 1", n)
		}
		for i, s := range leases {
			if first := s.End(); !first || s.Ref.Key != fmt.Sprintf("job-%d", i) || s.Ref.Fence == 0 || !errors.Is(context.Cause(s.Context()), lock.ErrReleased) {
				t.Errorf("the first End of %+v: %v; the context ended with %v", s.Ref, first, context.Cause(s.Context()))
			}
		}
		time.Sleep(10 * time.Second)
		if n := store.renewals.Load(); n != 1 {
			t.Errorf("%d renewal requests after the end, want 1", n)
		}
		if leases[0].End() {
			t.Error("a lease ended twice")
		}
	})
}

// A run that a newer number waits for learns of it by its renewal; its lease is
// kept until it ends.
func TestReplacedContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memlock.Store{}
		l := claimer.New(store, "a")
		claims := openSeries(t, l, store, 1)
		c := l.Claim(t.Context(), claims)[0]
		newer := claims[0]
		newer.Owner, newer.Overlap = l.Owner(), series.OverlapReplace
		newer.Number, newer.After = newer.Number+1000, newer.Number
		time.Sleep(time.Until(time.UnixMilli(newer.Number)))
		waits := l.Claim(t.Context(), []series.Claim{newer})[0]
		if waits.Kind != series.KindWaiting {
			t.Fatalf("answer %v, want waiting", waits.Kind)
		}
		<-c.Lease.Context().Done()
		wantErr(t, "cause", context.Cause(c.Lease.Context()), claimer.ErrReplaced)
		wantErr(t, "the lease is still held", c.Lease.Check(), nil)
		if !c.Lease.Replaced() {
			t.Error("the lease does not know that it was replaced")
		}
		c.Lease.End()
		if e := store.ReleaseRuns(t.Context(), []series.EndRequest{{RunRef: c.Lease.Ref, State: series.RunDone, Outcome: series.OutcomeReplaced}})[0]; e.Waiting != newer.Number || e.Fence != waits.Fence {
			t.Errorf("the end names %d with fence %d, want %d and %d", e.Waiting, e.Fence, newer.Number, waits.Fence)
		}
	})
}

// An abandoned lease is not renewed: it ends at its deadline.
func TestAbandonedLeaseEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(counted)
		l := claimer.New(store, "a")
		claims := openSeries(t, l, store, 1)
		c := l.Claim(t.Context(), claims)[0]
		c.Lease.Abandon(claimer.ErrReplaced)
		time.Sleep(3 * time.Second)
		runs := store.ReadSeries(t.Context(), []string{claims[0].Key})[0].Runs
		if len(runs) != 1 || runs[0].Until > time.Now().UnixMilli() || store.renewals.Load() != 0 {
			t.Errorf("the run is %+v after %d renewals, want it over", runs, store.renewals.Load())
		}
	})
}

// A deaf store ignores the context of claims and answers them late.
type deaf struct {
	*memlock.Store
	delay time.Duration
}

func (d deaf) Claim(_ context.Context, cs []series.Claim) []series.Answer {
	time.Sleep(d.delay)
	return d.Store.Claim(context.Background(), cs)
}

// Each batch is answered once, at the latest when its context ends: a grant that
// comes after the doubt is nobody's, and the same owner learns of it when it asks
// again.
func TestClaimThenAnswersOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memlock.Store{}
		claims := openSeries(t, claimer.New(store, "a"), store, 1)
		claims[0].TTL, claims[0].Deadline = 30*time.Second, time.Minute
		l := claimer.New(deaf{store, 3 * time.Second}, "a")
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		answers := make(chan claimer.Claimed, 2)
		began := time.Now()
		l.ClaimThen(ctx, claims, func(as []claimer.Claimed) { answers <- as[0] })
		if len(answers) != 1 || time.Since(began) != 3*time.Second {
			t.Fatalf("%d answers after %v", len(answers), time.Since(began))
		}
		if a := <-answers; !errors.Is(a.Err, context.DeadlineExceeded) || a.Lease != nil {
			t.Errorf("answered %+v, want doubt", a)
		}
		l.ClaimThen(t.Context(), claims, func(as []claimer.Claimed) { answers <- as[0] })
		if a := <-answers; a.Kind != series.KindGranted || a.Lease.Check() != nil || len(answers) != 0 {
			t.Errorf("asked again: %+v, want the grant", a)
		}
	})
}
