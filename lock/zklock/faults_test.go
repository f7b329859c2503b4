package zklock_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/cronce/cronce/internal/rig"
	"github.com/cronce/cronce/internal/zkserver"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/zklock"
)

// operator returns a client that is independent of the driver.
func operator(t *testing.T, addr string) *zk.Conn {
	t.Helper()
	c, _, err := zk.Connect([]string{addr}, 10*time.Second, zk.WithLogger(silent{}))
	must(t, err)
	t.Cleanup(c.Close)
	return c
}

type silent struct{}

func (silent) Printf(string, ...any) {}

// places returns the names of the places of a key, in their order.
func places(t *testing.T, c *zk.Conn, d *zklock.Driver, key string) []string {
	t.Helper()
	names, _, err := c.Children(d.LockPath(key))
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		t.Fatal(err)
	}
	slices.SortFunc(names, func(a, b string) int {
		return strings.Compare(a[strings.LastIndexByte(a, '#')+1:], b[strings.LastIndexByte(b, '#')+1:])
	})
	return names
}

// short is a lease whose node is removed soon after the lease ends, even if its session lives on.
var short = lock.Options{TTL: 4 * time.Second}

// hold takes a free key. It does not use Try, which ends after three seconds: a new ensemble on a
// busy machine may take longer to write its first nodes.
func hold(t *testing.T, l *lock.Locker, key string) *lock.Lease {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	lease, err := l.Acquire(ctx, key, lock.Options{})
	must(t, err)
	return lease
}

// A granted is a lease that was waited for, and the time of its grant.
type granted struct {
	lease *lock.Lease
	at    time.Time
	err   error
}

func await(t *testing.T, l *lock.Locker, key string) <-chan granted {
	done := make(chan granted, 1)
	ctx := t.Context()
	go func() {
		lease, err := l.Acquire(ctx, key, lock.Options{})
		done <- granted{lease, time.Now(), err}
	}()
	return done
}

func queuedBehind(t *testing.T, d *zklock.Driver, key string, waiting int) {
	t.Helper()
	rig.Eventually(t, "a place in the queue", func() bool {
		at, err := d.Inspect(t.Context(), key)
		return err == nil && at.Waiting == waiting
	})
}

// The holder's connection goes silent, so that no message reports the end of its session: its
// context has ended before the waiter is granted the key.
func TestSilentCutEndsTheLeaseFirst(t *testing.T) {
	t.Parallel()
	addr := zkserver.Shared(t)
	p, meter := newProxy(t, addr), rig.NewMeter(t)
	holder := newDriver(t, p.addr(), zklock.Options{Session: 6 * time.Second})
	other := newDriver(t, addr, zklock.Options{Session: time.Minute})
	lease := hold(t, lock.New(holder, "a"), "k")
	next := await(t, lock.New(other, "b"), "k")
	queuedBehind(t, other, "k", 1)
	ended := make(chan time.Time, 1)
	context.AfterFunc(lease.Context(), func() { ended <- time.Now() })
	cut := time.Now()
	p.silent.Store(true)
	was := <-ended
	g := <-next
	must(t, g.err)
	if late := was.Sub(g.at); late >= 0 && late > meter.Starved(cut, was) { // both times are from this process
		t.Errorf("the lease ended %v after the next was granted", late)
	}
	if !errors.Is(context.Cause(lease.Context()), lock.ErrLost) || g.lease.Fence() <= lease.Fence() {
		t.Errorf("ended by %v, with the fence %d after %d", context.Cause(lease.Context()), g.lease.Fence(), lease.Fence())
	}
	p.sever() // so that the holder's session, which has ended, can be closed
}

// The server is stopped for longer than the session timeout: the lease ends by itself, and the key
// is granted again with a higher fence. The new grant belongs to a new session, or to the old one
// if the server receives its message before it checks the clock.
func TestFrozenServer(t *testing.T) {
	t.Parallel()
	const session = 6 * time.Second
	s, meter := zkserver.Start(t), rig.NewMeter(t)
	d := newDriver(t, s.Addr(), zklock.Options{Session: session})
	l := lock.New(d, "a")
	lease, err := l.TryAcquire(t.Context(), "k", short)
	must(t, err)
	s.Freeze()
	begin := time.Now()
	<-lease.Context().Done()
	if took := time.Since(begin); took > session+meter.Starved(begin, time.Now()) {
		t.Errorf("the lease was believed in for %v without the server", took)
	}
	<-time.After(time.Until(begin.Add(session * 3 / 2)))
	s.Thaw()
	next := <-await(t, l, "k")
	must(t, next.err)
	if next.lease.Fence() <= lease.Fence() {
		t.Errorf("fence %d after %d", next.lease.Fence(), lease.Fence())
	}
	if err := lease.Release(t.Context()); !errors.Is(err, lock.ErrLost) {
		t.Errorf("the release of what was lost: %v", err)
	}
	must(t, next.lease.Check())
}

// The server is restarted while a key is held: session and lease survive.
func TestRestartWhileHeld(t *testing.T) {
	t.Parallel()
	s := zkserver.Start(t, "maxSessionTimeout=600000")
	d := newDriver(t, s.Addr(), zklock.Options{Session: 10 * time.Minute}) // longer than a server needs for a restart
	a := driver.Acquisition{Key: "k", Owner: "a/1", TTL: time.Hour}
	g, err := d.Acquire(t.Context(), a)
	must(t, err)
	s.Kill()
	if _, err := d.Acquire(t.Context(), a); err == nil {
		t.Error("an answer without a server")
	}
	s.Restart()
	var again driver.Grant
	rig.Eventually(t, "a renewal after the restart", func() bool {
		again, err = d.Renew(t.Context(), driver.LeaseRef{Key: "k", Owner: "a/1", Fence: g.Fence, TTL: time.Hour})
		if errors.Is(err, lock.ErrLost) {
			t.Fatal("the lease was lost over a restart")
		}
		return err == nil
	})
	if again.Fence != g.Fence {
		t.Errorf("the fence went from %d to %d", g.Fence, again.Fence)
	}
}

// An operator deletes the holder's node: the holder learns of it with its renewal.
func TestDeletedHolder(t *testing.T) {
	t.Parallel()
	addr := zkserver.Shared(t)
	op := operator(t, addr)
	d := newDriver(t, addr, zklock.Options{Session: 12 * time.Second})
	lease := hold(t, lock.New(d, "a"), "k")
	must(t, op.Delete(d.LockPath("k")+"/"+places(t, op, d, "k")[0], -1))
	select {
	case <-lease.Context().Done():
	case <-time.After(2 * time.Minute):
		t.Fatal("the holder learned nothing")
	}
	if err := lease.Check(); !errors.Is(err, lock.ErrLost) {
		t.Errorf("check: %v", err)
	}
	hold(t, lock.New(d, "b"), "k")
}

// An operator deletes the node of a waiter: it has lost its place and does not consider itself
// first when the others before it have left.
func TestDeletedWaiter(t *testing.T) {
	t.Parallel()
	addr := zkserver.Shared(t)
	op := operator(t, addr)
	d := newDriver(t, addr, zklock.Options{Session: time.Minute})
	first := hold(t, lock.New(d, "a"), "k")
	b := await(t, lock.New(d, "b"), "k")
	queuedBehind(t, d, "k", 1)
	c := await(t, lock.New(d, "c"), "k")
	queuedBehind(t, d, "k", 2)
	must(t, op.Delete(d.LockPath("k")+"/"+places(t, op, d, "k")[1], -1))
	must(t, first.Release(t.Context()))
	var second granted
	select {
	case second = <-c:
	case g := <-b:
		t.Fatalf("granted to who has no place: %+v", g)
	}
	must(t, second.err)
	queuedBehind(t, d, "k", 1) // it has taken another place
	select {
	case g := <-b:
		t.Fatalf("two hold the key: %+v", g)
	default:
	}
	must(t, second.lease.Release(t.Context()))
	third := <-b
	must(t, third.err)
	if third.lease.Fence() <= second.lease.Fence() {
		t.Errorf("fence %d after %d", third.lease.Fence(), second.lease.Fence())
	}
}

// A waiter dies without a message: it is passed over when its session has ended.
func TestDeadWaiterIsPassedOver(t *testing.T) {
	t.Parallel()
	addr := zkserver.Shared(t)
	p := newProxy(t, addr)
	d := newDriver(t, addr, zklock.Options{Session: time.Minute})
	dead := newDriver(t, p.addr(), zklock.Options{Session: 6 * time.Second})
	first := hold(t, lock.New(d, "a"), "k")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	gone := make(chan error, 1)
	go func() {
		_, err := dead.Wait(ctx, driver.Acquisition{Key: "k", Owner: "dead/1", TTL: time.Minute})
		gone <- err
	}()
	queuedBehind(t, d, "k", 1)
	next := await(t, lock.New(d, "b"), "k")
	queuedBehind(t, d, "k", 2)
	p.silent.Store(true)
	must(t, first.Release(t.Context()))
	g := <-next
	must(t, g.err)
	stop()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("the dead one: %v", err)
	}
	p.sever()
}

// Two readers may share the key. The reader that came first is slow and takes the key last: its
// fence is the higher one.
func TestSlowReaderHasTheHigherFence(t *testing.T) {
	t.Parallel()
	addr := zkserver.Shared(t)
	p := newProxy(t, addr)
	d := newDriver(t, addr, zklock.Options{Session: time.Minute})
	slow := newDriver(t, p.addr(), zklock.Options{Session: time.Minute})
	read := func(d *zklock.Driver, owner string) <-chan driver.Grant {
		got := make(chan driver.Grant, 1)
		go func() {
			g, err := d.Wait(t.Context(), driver.Acquisition{Key: "k", Owner: owner, TTL: time.Minute, Limit: lock.NoLimit})
			if err != nil {
				t.Errorf("%s: %v", owner, err)
			}
			got <- g
		}()
		return got
	}
	writer := hold(t, lock.New(d, "w"), "k")
	first := read(slow, "a/1")
	queuedBehind(t, d, "k", 1)
	second := read(d, "b/1")
	queuedBehind(t, d, "k", 2)
	p.slow.Store(true)
	must(t, writer.Release(t.Context()))
	b := <-second
	hs, err := d.Holders(t.Context(), "k")
	must(t, err)
	if len(hs) != 2 || hs[0].Owner != "b/1" || hs[0].Fence != b.Fence || hs[1].Owner != "a/1" || hs[1].Fence != 0 {
		t.Errorf("the holders are %+v, b has the fence %d", hs, b.Fence)
	}
	p.slow.Store(false)
	if a := <-first; a.Fence <= b.Fence || b.Fence <= writer.Fence() {
		t.Errorf("the fences are %d for the writer, then %d, then %d", writer.Fence(), b.Fence, a.Fence)
	}
}
