package lock_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/memlock"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/lock/series/claimer"
)

// copied is a store with one replica, which may be gone.
type copied struct {
	*memlock.Store
	gone atomic.Bool
}

func (c *copied) Replicas(context.Context, string) (int, error) { return c.acked(), nil }

func (c *copied) acked() int {
	if c.gone.Load() {
		return 0
	}
	return 1
}

func (c *copied) short(key string, want int) error {
	if c.acked() < want {
		return &driver.ReplicasError{Key: key, Want: want, Acked: c.acked()}
	}
	return nil
}

func (c *copied) Acquire(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	if err := c.short(a.Key, a.Replicas); err != nil {
		return driver.Grant{}, err
	}
	a.Replicas = 0
	return c.Store.Acquire(ctx, a)
}

func (c *copied) Wait(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	return c.Acquire(ctx, a)
}

func (c *copied) RenewAll(ctx context.Context, hs []driver.LeaseRef) []driver.Renewal {
	return renewEach(ctx, hs, c.Renew)
}

func (c *copied) Renew(ctx context.Context, h driver.LeaseRef) (driver.Grant, error) {
	g, err := c.Store.Renew(ctx, h)
	if short := c.short(h.Key, h.Replicas); err == nil && short != nil {
		return driver.Grant{}, short
	}
	return g, err
}

func (c *copied) Claim(ctx context.Context, cs []series.Claim) []series.Answer {
	stripped := append([]series.Claim(nil), cs...)
	for i := range stripped {
		stripped[i].Replicas = 0
	}
	return c.Store.Claim(ctx, stripped)
}

func (c *copied) RenewRuns(ctx context.Context, rs []series.RunRef) []series.RenewAnswer {
	out := c.Store.RenewRuns(ctx, rs)
	for i := range out {
		if err := c.short(rs[i].Key, rs[i].Replicas); err != nil {
			out[i] = series.RenewAnswer{Err: err}
		}
	}
	return out
}

// The deadline here moves only with renewals that the replicas have. The one in
// the store moves with each, so the lease ends here first.
func TestTrustMovesWithReplicas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &copied{Store: new(memlock.Store)}
		l := lock.New(store, "a")
		all := map[string]kept{
			"plain":           acquire(t, l, "plain", lock.Options{TTL: 3 * time.Second, Replicas: 1}),
			"numbered":        runs(t, store, 1, 3*time.Second)[0],
			"without replica": acquire(t, l, "free", lock.Options{TTL: 3 * time.Second}),
		}
		time.Sleep(10 * time.Second) // renewed all the time
		synctest.Wait()              // until the renewals of this instant are answered
		store.gone.Store(true)
		until := map[string]time.Time{}
		for name, lease := range all {
			wantErr(t, name, lease.Check(), nil)
			until[name] = lease.Deadline()
		}
		time.Sleep(2 * time.Second)
		for name, lease := range all {
			if moved := lease.Deadline().After(until[name]); moved != (name == "without replica") {
				t.Errorf("%s: the deadline moved: %v", name, moved)
			}
		}
		time.Sleep(2 * time.Second)
		for _, name := range []string{"plain", "numbered"} {
			wantErr(t, name, context.Cause(all[name].Context()), lock.ErrLost)
		}
		if _, err := lock.New(store, "b").TryAcquire(ctxFor(t, time.Second), "plain", lock.Options{}); err == nil {
			t.Error("the key was free as soon as the lease had ended")
		}
		wantErr(t, "release", all["without replica"].(*lock.Lease).Release(t.Context()), nil)
	})
}

func ctxFor(t *testing.T, d time.Duration) context.Context {
	ctx, stop := context.WithTimeout(t.Context(), d)
	t.Cleanup(stop)
	return ctx
}

// A store that cannot wait for replicas is never asked to.
func TestReplicasUnsupported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newFaulty()
		l := lock.New(store, "a")
		_, err := l.TryAcquire(t.Context(), "k", lock.Options{Replicas: 1})
		wantErr(t, "try", err, lock.ErrUnsupported)
		_, err = l.Acquire(t.Context(), "k", lock.Options{Replicas: 1})
		wantErr(t, "acquire", err, lock.ErrUnsupported)
		_, err = l.AcquireAll(t.Context(), []string{"k", "l"}, lock.Options{Replicas: 1})
		wantErr(t, "several", err, lock.ErrUnsupported)
		claim := series.Claim{Key: "job", Owner: l.Owner(), Number: 1, TTL: lock.DefaultTTL, Attempts: 1, Replicas: 1}
		wantErr(t, "claim", claimer.New(store, "a").Claim(t.Context(), []series.Claim{claim})[0].Err, lock.ErrUnsupported)
		if n := store.acquires.Load(); n != 0 {
			t.Errorf("the store was asked %d times", n)
		}
	})
}
