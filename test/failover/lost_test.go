package failover_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/guard"
	"github.com/cronce/cronce/lock/redislock"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/lock/series/claimer"
)

// TestLostWrites shows the limit of Redis. The master grants a lease and a number that its replica has
// not received, and the replica is promoted. Both are granted again while the first holder rightly
// trusts its lease. The remaining promise holds: the second fences are higher, so a resource that
// checks fences refuses the late write of the first holder. The number is the same in both grants. A
// Locker that requires a confirmation by the replica is granted nothing that the replica does not have.
func TestLostWrites(t *testing.T) {
	each(t, func(t *testing.T, at *topology) {
		before := newDriver(t, at.before)
		at.warm(t, before)
		mark := opened(t, before)
		at.copied(t, before)
		at.master.CutReplicas()

		undone := at.replicasAreLacking(t, before, mark)
		first, err := lock.New(before, "a").TryAcquire(t.Context(), at.lock, lock.Options{TTL: time.Hour}) // it is not renewed while the master is replaced
		must(t, err)
		c := claim("a/1", mark)
		c.From = undone.Fence
		a := claimer.New(before, "a").Claim(t.Context(), []series.Claim{c})[0]
		if a.Kind != series.KindGranted {
			t.Fatalf("the claim is answered with %+v", a)
		}
		var resource guard.Guard
		must(t, resource.Do(first.Fence(), func() error { return nil }))

		at.promote()
		after := newDriver(t, at.after)
		second := at.granted(t, lock.New(after, "b"))
		if err := first.Check(); err != nil {
			t.Fatalf("the first holder knows already (%v): nothing is shown", err)
		}
		must(t, second.Check())
		refused(t, &resource, first, second)
		claimedAgain(t, after, &a, mark)
	})
}

// replicasAreLacking requests a lease and a number with a confirmation by the replica. It returns the
// rest of the number's grant, which was undone.
func (at *topology) replicasAreLacking(t *testing.T, d *redislock.Driver, mark int64) series.Answer {
	t.Helper()
	_, err := d.Acquire(t.Context(), driver.Acquisition{Key: at.lock, Owner: "r/1", TTL: time.Minute, Replicas: 1})
	if short, ok := errors.AsType[*driver.ReplicasError](err); !ok || short.Acked != 0 {
		t.Errorf("the lease: %v, want a *lock.ReplicasError", err)
	}
	c := claim("r/1", mark)
	c.Replicas = 1
	a := d.Claim(t.Context(), []series.Claim{c})[0]
	if _, ok := errors.AsType[*driver.ReplicasError](a.Err); !ok || a.Kind != series.KindUnknown {
		t.Errorf("the claim is answered with %+v", a)
	}
	left := d.Claim(t.Context(), []series.Claim{claim("r/2", mark)})[0]
	if left.State == series.RunOpen { // the driver tries for a moment to undo the grant: this machine was slower
		undo := series.EndRequest{State: series.RunUnstarted, RunRef: series.RunRef{Key: jobName, Number: c.Number, Owner: c.Owner, Fence: left.Fence}}
		must(t, d.ReleaseRuns(t.Context(), []series.EndRequest{undo})[0].Err)
		left = d.Claim(t.Context(), []series.Claim{claim("r/2", mark)})[0]
	}
	if left.Kind != series.KindPassed || left.State != series.RunUnstarted {
		t.Fatalf("of the claim is left %+v", left)
	}
	return left
}

// refused fails the test unless the resource takes the second holder's write and
// refuses the first one's.
func refused(t *testing.T, resource *guard.Guard, first, second *lock.Lease) {
	t.Helper()
	if second.Fence() <= first.Fence() {
		t.Errorf("the fence is %d after %d", second.Fence(), first.Fence())
	}
	must(t, resource.Do(second.Fence(), func() error { return nil }))
	err := resource.Do(first.Fence(), func() error { t.Error("the late write was done"); return nil })
	if !errors.Is(err, guard.ErrStale) {
		t.Errorf("the late write: %v, want guard.ErrStale", err)
	}
}

// claimedAgain claims the number of a once more.
func claimedAgain(t *testing.T, d *redislock.Driver, a *claimer.Claimed, mark int64) {
	t.Helper()
	var b claimer.Claimed
	becomes(t, "an answer", func() bool {
		b = claimer.New(d, "b").Claim(t.Context(), []series.Claim{claim("b/1", mark)})[0]
		return b.Err == nil
	})
	must(t, a.Lease.Check())
	if b.Kind != series.KindGranted || b.Fence <= a.Fence || b.Number != a.Number {
		t.Errorf("the claim is answered with %+v after %+v", b, a)
	}
}

// warm makes the scripts known, and the lock one that was granted before.
func (at *topology) warm(t *testing.T, d *redislock.Driver) {
	t.Helper()
	lease, err := lock.New(d, "w").Acquire(t.Context(), at.lock, lock.Options{})
	must(t, err)
	must(t, lease.Release(t.Context()))
}

// granted asks for a lease of a minute until it is granted. The new master does not know the first holder, whose lease is an hour. While
// the master is replaced there is doubt alone, and an attempt in doubt may have been granted: then it holds the lock until it is given back.
func (at *topology) granted(t *testing.T, l *lock.Locker) *lock.Lease {
	t.Helper()
	for give := time.Now().Add(2 * time.Minute); ; {
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		lease, err := l.TryAcquire(ctx, at.lock, lock.Options{TTL: time.Minute})
		stop()
		if err == nil {
			return lease
		}
		if held, is := errors.AsType[*lock.HeldError](err); is && held.Left > time.Minute {
			t.Fatalf("the lock is held on: %v", err)
		}
		if time.Now().After(give) {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// opened opens a series in which a number is due, and returns its mark.
func opened(t *testing.T, d *redislock.Driver) int64 {
	t.Helper()
	s := d.Open(t.Context(), []series.OpenRequest{{Key: jobName, Node: "opener"}})[0]
	must(t, s.Err)
	becomes(t, "a number is due", func() bool { return d.ReadSeries(t.Context(), []string{jobName})[0].Now > s.Mark+1 })
	return s.Mark
}

// claim asks for the number after mark.
func claim(owner string, mark int64) series.Claim {
	return series.Claim{Key: jobName, Owner: owner, Number: mark + 1, After: mark, TTL: time.Minute, Deadline: time.Hour, Attempts: 1, Latest: driver.MaxNumber}
}
