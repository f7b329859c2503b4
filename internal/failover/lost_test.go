package failover_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/guard"
	"github.com/cronce/cronce/lock/redislock"
)

// TestLostGrant is what Redis cannot promise. The master grants a lease, its
// replica has not heard of it, and is promoted: the same key is granted again
// while the first holder believes in its lease, with every right. What is promised
// then is kept: the second fence is higher, and whoever looks at fences refuses
// the first holder's late write.
func TestLostGrant(t *testing.T) {
	each(t, func(t *testing.T, at *topology) {
		before := driver(t, at.before)
		at.warm(t, before)
		at.copied(t, before)
		at.master.CutReplicas()
		first, err := lock.New(before, "a").TryAcquire(t.Context(), at.lock, lock.Options{TTL: time.Minute})
		must(t, err)
		var resource guard.Guard
		must(t, resource.Do(first.Fence(), func() error { return nil }))

		at.promote()
		second := at.granted(t, lock.New(driver(t, at.after), "b"))
		if err := first.Check(); err != nil {
			t.Fatalf("the first holder knows already (%v): nothing is shown", err)
		}
		must(t, second.Check())
		if second.Fence() <= first.Fence() {
			t.Errorf("the fence is %d after %d", second.Fence(), first.Fence())
		}
		must(t, resource.Do(second.Fence(), func() error { return nil }))
		err = resource.Do(first.Fence(), func() error { t.Error("the late write was done"); return nil })
		if !errors.Is(err, guard.ErrStale) {
			t.Errorf("the late write: %v, want guard.ErrStale", err)
		}
	})
}

// warm makes the scripts known, and the key one that was granted before.
func (at *topology) warm(t *testing.T, d *redislock.Driver) {
	t.Helper()
	lease, err := lock.New(d, "w").TryAcquire(t.Context(), at.lock, lock.Options{})
	must(t, err)
	must(t, lease.Release(t.Context()))
}

// granted asks until the key is granted: while the master is replaced there is
// doubt alone.
func (at *topology) granted(t *testing.T, l *lock.Locker) *lock.Lease {
	t.Helper()
	for give := time.Now().Add(40 * time.Second); ; {
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		lease, err := l.TryAcquire(ctx, at.lock, lock.Options{TTL: time.Minute})
		stop()
		if err == nil {
			return lease
		}
		if _, held := errors.AsType[*lock.HeldError](err); held {
			t.Fatalf("the key is held on: %v", err)
		}
		if time.Now().After(give) {
			t.Fatal(err)
		}
	}
}

// A tick that was granted, and whose grant was lost, is granted once more: with a
// higher fence, for the same key and number, which are what the outside world can
// tell it by.
func TestLostClaim(t *testing.T) {
	each(t, func(t *testing.T, at *topology) {
		before, after := driver(t, at.before), driver(t, at.after)
		mark := opened(t, before)
		at.copied(t, before)
		at.master.CutReplicas()
		a := lock.New(before, "a").Claim(t.Context(), []lock.Claim{claim("a/1", mark)})[0]
		if a.Kind != lock.Granted {
			t.Fatalf("the claim is answered with %+v", a)
		}
		at.promote()
		var b lock.Answer
		becomes(t, "an answer", func() bool {
			b = lock.New(after, "b").Claim(t.Context(), []lock.Claim{claim("b/1", mark)})[0]
			return b.Err == nil
		})
		must(t, a.Lease.Check())
		if b.Kind != lock.Granted || b.Fence <= a.Fence || b.Number != a.Number {
			t.Errorf("the claim is answered with %+v after %+v", b, a)
		}
	})
}

// opened opens a series in which a number is due, and returns its mark.
func opened(t *testing.T, d *redislock.Driver) int64 {
	t.Helper()
	s := d.Open(t.Context(), []lock.Opening{{Key: series, Node: "opener"}})[0]
	must(t, s.Err)
	becomes(t, "a number is due", func() bool { return d.Look(t.Context(), []string{series})[0].Now > s.Mark+1 })
	return s.Mark
}

func claim(owner string, mark int64) lock.Claim {
	return lock.Claim{Key: series, Owner: owner, Number: mark + 1, After: mark, TTL: time.Minute, Deadline: time.Hour, Attempts: 1, Latest: lock.MaxNumber}
}

// Who asks for the replica is not granted what it cannot have: no lease, and no
// number, is granted twice.
func TestNothingIsLostWithReplicas(t *testing.T) {
	each(t, func(t *testing.T, at *topology) {
		before := driver(t, at.before)
		at.warm(t, before)
		mark := opened(t, before)
		at.copied(t, before)
		at.master.CutReplicas()
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		_, err := lock.New(before, "a").TryAcquire(ctx, at.lock, lock.Options{TTL: time.Minute, Replicas: 1})
		if short, ok := errors.AsType[*lock.ReplicasError](err); !ok || short.Acked != 0 {
			t.Errorf("the lease: %v, want a *lock.ReplicasError", err)
		}
		c := claim("a/1", mark)
		c.Replicas = 1
		a := before.Claim(t.Context(), []lock.Claim{c})[0]
		if _, ok := errors.AsType[*lock.ReplicasError](a.Err); !ok || a.Kind != lock.Unknown {
			t.Errorf("the claim is answered with %+v", a)
		}
		at.promote()
		must(t, at.granted(t, lock.New(driver(t, at.after), "b")).Release(t.Context()))
	})
}
