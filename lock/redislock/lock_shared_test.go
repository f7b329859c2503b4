package redislock_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/redislock"
)

// Readers, and holders of permits, need two commands to acquire and release, as an exclusive owner
// does. A caller that meets a lock of the other kind needs one more.
func TestSharedCommands(t *testing.T) {
	addr := redisserver.Start(t).Addr()
	c := client(t, addr)
	l, _ := pod(t, addr, "a")
	read := lock.Options{Limit: lock.NoLimit}
	ctx := patient(t.Context())
	pair := func(o lock.Options) {
		lease, err := l.Acquire(ctx, "key", o)
		must(t, err)
		must(t, lease.Release(t.Context()))
	}
	pair(lock.Options{})
	pair(read) // the server knows the scripts now
	for name, o := range map[string]lock.Options{"reader": read, "permit": {Limit: 3}, "writer": {}} {
		must(t, c.ConfigResetStat(t.Context()).Err())
		for range 10 {
			pair(o)
		}
		if n := calls(t, c, "evalsha"); n != 20 || calls(t, c, "eval") != 0 || calls(t, c, "subscribe") != 0 {
			t.Errorf("%s: 10 pairs took %d scripts", name, n)
		}
	}
	reader, err := l.Acquire(ctx, "key", read)
	must(t, err)
	must(t, c.ConfigResetStat(t.Context()).Err())
	if _, err := l.TryAcquire(ctx, "key", lock.Options{}); err == nil {
		t.Error("a writer beside a reader")
	}
	if n := calls(t, c, "evalsha"); n != 2 {
		t.Errorf("a writer that meets a reader took %d scripts", n)
	}
	must(t, reader.Release(t.Context()))
	if left := leftovers(t, c); len(left) != 0 {
		t.Errorf("left behind: %q", left)
	}
}

// All keys of a shared lock expire with its last lease, also when that one is not
// the last that was renewed.
func TestSharedExpiry(t *testing.T) {
	d, c := realDriver(t, redislock.Options{})
	ask := func(owner string, ttl time.Duration) driver.LeaseRef {
		a := driver.Acquisition{Key: "key", Owner: owner, TTL: ttl, Limit: lock.NoLimit}
		g, err := d.Acquire(t.Context(), a)
		must(t, err)
		return driver.LeaseRef{Key: a.Key, Owner: owner, Fence: g.Fence, TTL: ttl, Limit: a.Limit}
	}
	long, short := ask("a/1", time.Hour), ask("b/1", time.Minute)
	_, err := d.Renew(t.Context(), short)
	must(t, err)
	expires := func(want time.Duration) {
		t.Helper()
		keys := c.Keys(t.Context(), "*").Val()
		if len(keys) != 4 {
			t.Errorf("the keys are %q", keys)
		}
		for _, key := range keys {
			if left := c.PTTL(t.Context(), key).Val(); left > want || left < want-20*time.Second {
				t.Errorf("%s expires in %v, want %v", key, left, want)
			}
		}
	}
	expires(time.Hour)
	must(t, d.Release(t.Context(), long))
	expires(time.Minute)
	must(t, d.Release(t.Context(), short))
	if left := leftovers(t, c); len(left) != 0 {
		t.Errorf("left behind: %q", left)
	}
}

// The time of a holder is over at its deadline, to the millisecond, also beside a holder with a later deadline.
func TestSharedUntilTheDeadline(t *testing.T) {
	s := simulated(t)
	d := newDriver(t, client(t, s.Addr()), redislock.Options{})
	ask := func(owner string, ttl time.Duration) error {
		_, err := d.Acquire(t.Context(), driver.Acquisition{Key: "key", Owner: owner, TTL: ttl, Limit: 2})
		return err
	}
	must(t, ask("a/1", time.Second))
	must(t, ask("b/1", time.Minute))
	s.wait(time.Second - time.Millisecond)
	if err := ask("c/1", time.Minute); !isHeld(err) {
		t.Errorf("a millisecond before: %v, want a refusal", err)
	}
	s.wait(time.Millisecond)
	if err := ask("c/1", time.Minute); err != nil {
		t.Errorf("at the deadline: %v", err)
	}
}

// Owners of the queue that fit beside one that barges are served in the same step.
func TestServedBesideOneThatBarges(t *testing.T) {
	c := client(t, simulated(t).Addr())
	d := newDriver(t, c, redislock.Options{})
	must(t, c.RPush(t.Context(), "cronce:v1:q:{key}", "inbox|n/1|2").Err())
	_, err := d.Acquire(t.Context(), driver.Acquisition{Key: "key", Owner: "n/2", TTL: time.Minute, Limit: 2, Barge: true})
	must(t, err)
	if all, err := d.Holders(t.Context(), "key"); err != nil || len(all) != 2 || all[1].Owner != "n/1" {
		t.Errorf("the holders are %+v, %v", all, err)
	}
}

// A server at maxmemory renews and releases shared locks, hands them on, and
// grants none.
func TestSharedWhenFull(t *testing.T) {
	d, c := realDriver(t, redislock.Options{}, "--maxmemory", "8mb", "--maxmemory-policy", "noeviction")
	ask := func(owner string) (driver.LeaseRef, error) {
		g, err := d.Acquire(t.Context(), driver.Acquisition{Key: "key", Owner: owner, TTL: time.Minute, Limit: 2})
		return driver.LeaseRef{Key: "key", Owner: owner, Fence: g.Fence, TTL: time.Minute, Limit: 2}, err
	}
	one, err := ask("a/1")
	must(t, err)
	two, err := ask("b/1")
	must(t, err)
	if err := d.Abandon(t.Context(), driver.Acquisition{Key: "key", Owner: "c/1", TTL: time.Minute, Limit: 2}); err == nil {
		t.Fatal("granted three times")
	}
	fill(t, c)
	_, err = ask("d/1")
	if _, refused := errors.AsType[*lock.HeldError](err); err == nil || refused || !strings.Contains(err.Error(), "OOM") {
		t.Errorf("an acquisition ends with %v, want the doubt OOM", err)
	}
	_, err = d.Renew(t.Context(), one)
	must(t, err)
	must(t, d.Release(t.Context(), one))
	all, err := d.Holders(t.Context(), "key")
	must(t, err)
	if len(all) != 2 || all[1].Owner != "c/1" {
		t.Errorf("the holders are %+v", all)
	}
	must(t, d.Release(t.Context(), two))
	_, err = d.Replicas(t.Context(), "key") // the touch is accepted
	must(t, err)
}

// A step that finds a lock free, and grants it to nobody, does not leave it free before its queue: the
// next caller does not overtake it.
func TestQueueIsNotOvertaken(t *testing.T) {
	ctx := t.Context()
	holder := driver.Acquisition{Key: "key", Owner: "n/1", TTL: time.Second, Limit: 2}
	for name, step := range map[string]func(d *redislock.Driver, fence int64) error{
		"late renewal": func(d *redislock.Driver, fence int64) error {
			_, err := d.Renew(ctx, driver.LeaseRef{Key: "key", Owner: holder.Owner, Fence: fence, TTL: time.Second, Limit: 2})
			return err
		},
		"force": func(d *redislock.Driver, _ int64) error {
			_, err := d.Force(ctx, driver.ForceRequest{Key: "key", ID: "id", By: "by", Reason: "reason"})
			return err
		},
	} {
		s := simulated(t)
		c := client(t, s.Addr())
		d := newDriver(t, c, redislock.Options{})
		g, err := d.Acquire(ctx, holder)
		must(t, err)
		if err := d.Abandon(ctx, driver.Acquisition{Key: "key", Owner: "n/2", TTL: time.Minute, Limit: 1}); !isHeld(err) {
			t.Fatal(err)
		}
		for _, kind := range []string{"l", "h", "e", "m"} { // in its last millisecond all of them are still there
			must(t, c.PExpire(ctx, "cronce:v1:"+kind+":{key}", time.Minute).Err())
		}
		s.wait(holder.TTL)
		if err := step(d, g.Fence); !errors.Is(err, driver.ErrLost) && !errors.Is(err, driver.ErrFree) {
			t.Errorf("%s: %v", name, err)
		}
		s.wait(time.Millisecond)
		if _, err := d.Acquire(ctx, driver.Acquisition{Key: "key", Owner: "n/3", TTL: time.Minute}); !isHeld(err) {
			t.Errorf("after a %s a caller that came later gets %v", name, err)
		}
	}
	s := simulated(t)
	c := client(t, s.Addr())
	must(t, c.RPush(ctx, "queue", "inbox|n/1|2").Err())
	for range 2 { // another caller comes before shared_acquire handles the first one
		s.wait(time.Millisecond)
		got, err := redislock.AcquireReplies(ctx, c, []string{"lock", "queue"}, "n/2", 1000, 0, 0)
		if want := []any{[]any{int64(2), "0", int64(0)}}; err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("before a queue the answer is %v, %v, want %v", got, err, want)
		}
	}
}

// Four processes read and write a lock: a writer is alone, and all get through.
func TestSharedContended(t *testing.T) {
	addr := redisserver.Start(t).Addr()
	var mu sync.Mutex
	readers, writers, most, last := 0, 0, 0, int64(0)
	use := func(lease *lock.Lease, reads bool, by int) {
		mu.Lock()
		defer mu.Unlock()
		if reads {
			readers += by
		} else {
			writers += by
		}
		most = max(most, readers)
		if writers > 1 || writers > 0 && readers > 0 {
			t.Errorf("%d write while %d read", writers, readers)
		}
		if by > 0 && !reads {
			if lease.Fence() <= last {
				t.Errorf("the fence %d of a writer follows %d", lease.Fence(), last)
			}
			last = lease.Fence()
		}
	}
	var wg sync.WaitGroup
	for i := range 4 {
		l, _ := pod(t, addr, fmt.Sprint("pod-", i))
		for n := range 4 {
			wg.Go(func() {
				for range 15 {
					o := lock.Options{}
					if n > 0 {
						o.Limit = lock.NoLimit
					}
					lease, err := l.Acquire(t.Context(), "key", o)
					if err != nil {
						t.Error(err)
						return
					}
					use(lease, n > 0, 1)
					<-time.After(time.Millisecond)
					use(lease, n > 0, -1)
					if err := lease.Release(t.Context()); err != nil {
						t.Error(err)
					}
				}
			})
		}
	}
	wg.Wait()
	if most < 2 {
		t.Error("no two readers shared the lock")
	}
	if left := leftovers(t, client(t, addr)); len(left) != 0 {
		t.Errorf("left behind: %q", left)
	}
}

// A reply that the script cannot return is doubt, never a grant.
func TestReadGrants(t *testing.T) {
	as := []driver.Acquisition{{Key: "a"}, {Key: "b"}}
	for _, reply := range []any{
		nil, "OK", []any{}, []any{int64(1)}, []any{int64(1), "7", int64(5)},
		[]any{int64(1), "7", int64(5), "8"}, []any{int64(1), "7", int64(5), "8", int64(0)}, []any{int64(1), "7", int64(5), "0", int64(5)},
		[]any{int64(0), "0", int64(5), int64(3)}, []any{int64(0), "0", int64(5), int64(0)}, []any{int64(0), "0", int64(-1), int64(1)},
		[]any{int64(2), "0", int64(0), int64(1)}, []any{int64(0), "7", int64(5), "8", int64(5)},
	} {
		gs, _, err := redislock.ReadGrants(reply, as)
		if _, held := errors.AsType[*lock.HeldError](err); err == nil || held || gs != nil {
			t.Errorf("%v is read as %+v, %v", reply, gs, err)
		}
	}
	gs, _, err := redislock.ReadGrants([]any{int64(1), "7", int64(5), "8", int64(6)}, as)
	if err != nil || len(gs) != 2 || gs[1] != (driver.Grant{Fence: 8, Left: 6 * time.Millisecond}) {
		t.Errorf("a grant is read as %+v, %v", gs, err)
	}
	_, _, err = redislock.ReadGrants([]any{int64(0), "0", int64(5), int64(2)}, as)
	if held, ok := errors.AsType[*lock.HeldError](err); !ok || held.Key != "b" || held.Left != 5*time.Millisecond {
		t.Errorf("a refusal is read as %v", err)
	}
}

// A fence that is not above the one that the caller has seen is doubt, never a grant.
func TestReadAcquired(t *testing.T) {
	a := driver.Acquisition{Key: "a", TTL: time.Minute, Fence: 7}
	for fence, granted := range map[int64]bool{6: false, 7: false, 8: true} {
		g, err := redislock.ReadAcquired(fence, &a)
		if granted != (err == nil) || granted != (g == driver.Grant{Fence: fence, Left: time.Minute}) {
			t.Errorf("the fence %d is read as %+v, %v", fence, g, err)
		}
	}
}

// However the stored text of a holder is broken, it names no holder with a time
// that is over, or lies further ahead than the end of any lease, or a negative limit.
func FuzzReadHolders(f *testing.F) {
	f.Add("a/1", "1795207852937400|1795207852947|2147483647|")
	f.Add("a/1", "3|1795207852947|2|cronce:v1:i:x")
	f.Add("a/1", fmt.Sprintf("3|%d|2|", testNow+2*driver.MaxTTL.Milliseconds()+1))
	f.Add("", "1795207852937|cronce:v1:i:x|a/1|2")
	f.Fuzz(func(t *testing.T, owner, text string) {
		all, ok := redislock.ReadHolders([]any{owner, text}, testNow)
		for _, h := range all {
			if !ok || h.Owner != owner || h.Owner == "" || h.Left <= 0 || h.Left > 2*driver.MaxTTL || h.Fence < 0 || h.Limit < 0 {
				t.Errorf("%q is read as %+v", text, h)
			}
		}
	})
}
