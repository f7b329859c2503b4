package redlock_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/redlock"
)

// Eight lockers, each with its own driver and connections, take one key 12 times each on five
// servers. No two lockers hold it at once, and the fences grow in the order of the grants.
func TestEightLockers(t *testing.T) {
	t.Parallel()
	all, _ := servers(t, 5)
	addrs := make([]string, len(all))
	for i, s := range all {
		addrs[i] = s.Addr()
	}
	var section section
	var wg sync.WaitGroup
	for range 8 {
		l := lock.New(newDriver(t, clients(t, addrs...), redlock.Options{NodeTimeout: slow}), "")
		wg.Go(func() { section.work(t, l, 12) })
	}
	wg.Wait()
	if section.done != 8*12 {
		t.Errorf("%d sections were done, want %d", section.done, 8*12)
	}
}

// A section reports two goroutines in it at once, and fences that do not grow.
type section struct {
	inside atomic.Int32
	last   int64 // written only inside, so that the race detector checks it, too
	done   int
}

func (s *section) work(t *testing.T, l *lock.Locker, times int) {
	give := time.Now().Add(2 * time.Minute)
	for times > 0 {
		err := l.Do(context.Background(), "key", lock.Options{TTL: 20 * time.Second}, func(_ context.Context, lease *lock.Lease) error {
			s.enter(t, lease.Fence())
			return nil
		})
		if _, held := errors.AsType[*lock.HeldError](err); held && time.Now().Before(give) {
			<-time.After(2 * time.Millisecond)
			continue
		}
		if err != nil {
			t.Errorf("do: %v", err)
			return
		}
		times--
	}
}

func (s *section) enter(t *testing.T, fence int64) {
	if s.inside.Add(1) != 1 {
		t.Error("two are inside at once")
	}
	if fence <= s.last {
		t.Errorf("the fence %d comes after %d", fence, s.last)
	}
	s.last = fence
	s.done++
	s.inside.Add(-1)
}

// Every reply of three servers is lost: the acquisition is doubt and is undone, and when it is
// repeated, with the same owner, it gets the key.
func TestLostReplies(t *testing.T) {
	t.Parallel()
	_, cs := servers(t, 5)
	gates := gated(cs)
	d := newDriver(t, cs, redlock.Options{Namespace: "lost", NodeTimeout: slow})
	a := asking("key", time.Minute)
	lose := func(loses bool) {
		for _, g := range gates[:3] {
			g.loses.Store(loses)
		}
	}
	lose(true)
	_, err := d.Acquire(t.Context(), a)
	inDoubt(t, err)
	lose(false)
	g, h := acquire(t, d, a)
	if again, err := d.Acquire(t.Context(), a); err != nil || again.Fence != g.Fence {
		t.Errorf("asked again: %+v, %v, want the fence %d", again, err, g.Fence)
	}
	until(t, "the undoing of the first attempt is over", func() bool { return d.Goroutines() == 0 })
	if _, err := d.Renew(t.Context(), h); err != nil || votes(cs, "lost", "key") != 5 {
		t.Errorf("%v: %d votes, want all 5: an old undoing took a new vote", err, votes(cs, "lost", "key"))
	}
	lose(true)
	inDoubt(t, d.Release(t.Context(), h))
	lose(false)
	must(t, d.Release(t.Context(), h))
	d.Settle()
	if n := votes(cs, "lost", "key"); n != 0 {
		t.Errorf("%d votes are left", n)
	}
}

// A server lost the key of a lease; the next renewal gives it back, with its fence, so that the
// lease no longer depends on a bare majority.
func TestRenewalTopsUp(t *testing.T) {
	t.Parallel()
	_, cs := servers(t, 5)
	d := newDriver(t, cs, redlock.Options{Namespace: "top", NodeTimeout: slow})
	_, h := acquire(t, d, asking("key", time.Minute))
	_, err := d.Renew(t.Context(), h) // all servers have one fence now, including those that voted late
	must(t, err)
	for _, c := range cs[:2] {
		must(t, c.Del(t.Context(), redlock.Key("top", "key")).Err())
	}
	for want := range 2 {
		_, err := d.Renew(t.Context(), h)
		must(t, err)
		if n := votes(cs, "top", "key"); n != 5 {
			t.Errorf("after renewal %d: %d votes, want 5", want+1, n)
		}
	}
	must(t, d.Release(t.Context(), h))
	d.Settle() // otherwise the renewal may overtake the release on a server that was not awaited
	if _, err := d.Renew(t.Context(), h); !errors.Is(err, lock.ErrLost) {
		t.Errorf("a renewal after the release: %v, want lock.ErrLost", err)
	}
	d.Settle()
	if n := votes(cs, "top", "key"); n != 0 {
		t.Errorf("%d votes are left", n)
	}
}

// An uncertain result is doubt: two servers have voted for an owner and three are silent, or three
// owners that died have the votes between them.
func TestHeldNeedsMajority(t *testing.T) {
	t.Parallel()
	_, cs := servers(t, 5)
	gates := gated(cs)
	d := newDriver(t, cs, redlock.Options{Namespace: "held", NodeTimeout: slow})
	acquire(t, d, asking("key", time.Minute))
	gates.open(0, 1)
	_, err := d.Acquire(t.Context(), asking("key", time.Minute))
	inDoubt(t, err)
	gates.open(0, 1, 2)
	_, err = d.Acquire(t.Context(), asking("key", time.Minute))
	if held, ok := errors.AsType[*lock.HeldError](err); !ok || held.Left < 50*time.Second {
		t.Errorf("three hold: the error is %v", err)
	}
	gates.open(0, 1, 2, 3, 4)
	for i, c := range cs {
		must(t, c.Set(t.Context(), redlock.Key("held", "split"), redlock.State(1, 1, 0, "dead/"+string(rune('a'+i/2))), time.Minute).Err())
	}
	_, err = d.Acquire(t.Context(), asking("split", time.Minute))
	inDoubt(t, err)
}

// A state of another format is doubt, and neither a free key nor a refusal.
func TestOtherFormatIsDoubt(t *testing.T) {
	_, cs := simulated(t, 3, 0)
	d := newDriver(t, cs, redlock.Options{Namespace: "new"})
	for _, c := range cs {
		must(t, c.Set(t.Context(), redlock.Key("new", "key"), "v2;whatever", time.Minute).Err())
	}
	_, err := d.Acquire(t.Context(), asking("key", time.Minute))
	inDoubt(t, err)
	inDoubt(t, d.Release(t.Context(), driver.LeaseRef{Key: "key", Owner: "a/1"}))
}

// A request that was sent before its undoing and arrives after it gets nothing, and takes nothing
// from a later request of its owner.
func TestLateRequest(t *testing.T) {
	t.Parallel()
	_, cs := servers(t, 3)
	d := newDriver(t, cs, redlock.Options{Namespace: "late", NodeTimeout: slow})
	d.Warm(t.Context())
	a := asking("key", time.Minute)
	late, undo := d.Hold(a)
	_, h := acquire(t, d, a)
	must(t, d.Release(t.Context(), h))
	late()
	d.Settle()
	if n := votes(cs, "late", "key"); n != 0 {
		t.Errorf("%d votes for a request that was undone", n)
	}
	_, h = acquire(t, d, a)
	late()
	undo()
	if _, err := d.Renew(t.Context(), h); err != nil || votes(cs, "late", "key") != 3 {
		t.Errorf("the later request: %v, %d votes", err, votes(cs, "late", "key"))
	}
}

// A server that does not know of a lease gets its release, and then the request for it. It does not
// vote for the request, even if the fence is far above the clock.
func TestLateRequestFarFence(t *testing.T) {
	t.Parallel()
	_, cs := servers(t, 3)
	gates := gated(cs)
	d := newDriver(t, cs, redlock.Options{Namespace: "far", NodeTimeout: slow})
	d.Warm(t.Context())
	a := asking("key", time.Minute)
	a.Fence = anHourAhead()
	late, _ := d.Hold(a)
	gates.open(0, 1)
	_, h := acquire(t, d, a)
	gates.open(0, 1, 2)
	must(t, d.Release(t.Context(), h))
	d.Settle()
	late()
	if n := votes(cs, "far", "key"); n != 0 {
		t.Errorf("%d votes for a lease that was released", n)
	}
}

// The second half of a renewal, which gives a lease again to servers that lost it, arrives late:
// after the release, and after a later owner's lease. It revives nothing.
func TestLatePut(t *testing.T) {
	t.Parallel()
	_, cs := servers(t, 3)
	d := newDriver(t, cs, redlock.Options{Namespace: "put", NodeTimeout: slow})
	_, h := acquire(t, d, asking("key", time.Minute))
	late := d.HoldPut(h)
	must(t, d.Release(t.Context(), h))
	late()
	d.Settle()
	if n := votes(cs, "put", "key"); n != 0 {
		t.Errorf("%d votes for a lease that was released", n)
	}
	late = d.HoldPut(h)
	_, h = acquire(t, d, asking("key", time.Minute))
	must(t, d.Release(t.Context(), h))
	late()
	d.Settle()
	if n := votes(cs, "put", "key"); n != 0 {
		t.Errorf("%d votes for a lease before the last one", n)
	}
}
