package claimer_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/lock/series/claimer"
)

// runs claims one run for each TTL, all in one batch.
func runs(t *testing.T, l *claimer.Claimer, store series.Numbered, ttls ...time.Duration) (leases []*claimer.Lease) {
	t.Helper()
	cs := openSeries(t, l, store, len(ttls))
	for i := range cs {
		cs[i].TTL = ttls[i]
	}
	for i, a := range l.Claim(t.Context(), cs) {
		if a.Kind != series.KindGranted {
			t.Fatalf("claim %d was answered %+v", i, a)
		}
		leases = append(leases, a.Lease)
	}
	return leases
}

// wantTrusted wants leases to be trusted.
func wantTrusted(t *testing.T, leases []*claimer.Lease) {
	t.Helper()
	for _, s := range leases {
		wantErr(t, s.Ref.Key, s.Check(), nil)
	}
}

// letGo stops the renewal of leases, and lets requests that are on their way end.
func letGo(leases []*claimer.Lease) {
	for _, s := range leases {
		s.Abandon(nil)
	}
	time.Sleep(time.Minute)
}

// Leases of one TTL share a request, leases of different TTLs do not.
func TestRenewalsByTTL(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(counted)
		leases := runs(t, claimer.New(store, "a"), store, time.Second, 1020*time.Millisecond, time.Second)
		time.Sleep(500 * time.Millisecond)
		if n := store.renewals.Load(); n != 2 {
			t.Errorf("%d renewal requests for two TTLs, want 2", n)
		}
		wantTrusted(t, leases)
		letGo(leases)
	})
}

// partitioned is a store whose series live in partitions, by the last byte of their keys.
type partitioned struct{ *counted }

func (s partitioned) Partitions() int          { return 256 }
func (s partitioned) Partition(key string) int { return int(key[len(key)-1]) }

// Leases of one TTL in different partitions share no request: one partition that is silent
// holds up no other.
func TestRenewalsByPartition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := partitioned{new(counted)}
		leases := runs(t, claimer.New(store, "a"), store, time.Second, time.Second, time.Second)
		time.Sleep(500 * time.Millisecond)
		if n := store.renewals.Load(); n != 3 {
			t.Errorf("%d renewal requests for three partitions, want 3", n)
		}
		letGo(leases)
	})
}

// The context of a numbered lease shows the same to each goroutine that uses it before the
// end or after it: that it ended, why, and the values of the caller's context. A context
// that comes from it ends with it.
func TestContextOfNumberedLease(t *testing.T) {
	cause := errors.New("enough")
	type key struct{}
	looks := map[string]func(context.Context) context.Context{
		"unused":     func(context.Context) context.Context { return nil },
		"at its end": func(ctx context.Context) context.Context { _ = ctx.Done(); return nil },
		"child": func(ctx context.Context) context.Context {
			child, stop := context.WithTimeout(ctx, time.Hour)
			t.Cleanup(stop)
			return child
		},
		"value": func(ctx context.Context) context.Context { return context.WithValue(ctx, "more", 1) }, //nolint:staticcheck // any key does
	}
	for name, look := range looks {
		for _, late := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				store := &memlock.Store{}
				l := claimer.New(store, "a")
				caller, stop := context.WithCancel(context.WithValue(t.Context(), key{}, "v"))
				lease := l.Claim(caller, openSeries(t, l, store, 1))[0].Lease
				stop() // the lease does not end with it
				ctx := lease.Context()
				wantErr(t, name+": before", ctx.Err(), nil)
				if late {
					lease.Cancel(cause)
				}
				child := look(ctx)
				if !late {
					wantErr(t, name+": looked at", ctx.Err(), nil)
					lease.Cancel(cause)
				}
				lease.Cancel(errors.New("again"))
				wantErr(t, name+": ended", ctx.Err(), context.Canceled)
				wantErr(t, name+": why", context.Cause(ctx), cause)
				<-ctx.Done()
				if v := ctx.Value(key{}); v != "v" {
					t.Errorf("%s: value %v", name, v)
				}
				if child != nil {
					<-child.Done()
					wantErr(t, name+": child", context.Cause(child), cause)
				}
			})
		}
	}
}
