package zklock_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/cronce/cronce/internal/rig"
	"github.com/cronce/cronce/internal/zkserver"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/zklock"
)

// A thief is a connection that extracts the password of its session.
type thief struct {
	net.Conn
	mu   sync.Mutex
	read []byte
}

func (c *thief) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.read) < 100 {
		c.read = append(c.read, b[:n]...)
	}
	return n, err
}

// kill ends the session from another connection, as its owner would. It may have no effect: the
// server closes the older of two connections of one session, and the owner of the first connects
// again.
func (c *thief) kill(t *testing.T, addr string) {
	t.Helper()
	c.mu.Lock()
	id, password := c.read[12:20], c.read[24:40] // after length, version, timeout; id, length of the password
	c.mu.Unlock()
	conn, err := net.Dial("tcp", addr)
	must(t, err)
	defer conn.Close()
	must(t, conn.SetDeadline(time.Now().Add(10*time.Second)))
	hello := make([]byte, 20) // length, version, last zxid, timeout
	hello[3] = 44
	binary.BigEndian.PutUint32(hello[16:], 10_000)
	hello = append(hello, id...)
	hello = append(hello, 0, 0, 0, 16)
	hello = append(hello, password...)
	_, err = conn.Write(append(hello, 0, 0, 0, 8, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xf5)) // request 1: close the session
	must(t, err)
	_, _ = io.Copy(io.Discard, conn) // until the server has closed the connection
}

// Another client ends the session of a holder: the holder learns of it with its next renewal, and
// until then it trusts a lease with the lower fence. A node of the session that has ended is never
// mistaken for a node of the next session.
func TestKilledSession(t *testing.T) {
	t.Parallel()
	addr, meter := zkserver.Shared(t), rig.NewMeter(t)
	var carried atomic.Pointer[thief]
	d := newDriver(t, addr, zklock.Options{Session: 12 * time.Second, Dial: func(network, addr string, timeout time.Duration) (net.Conn, error) {
		c, err := net.DialTimeout(network, addr, timeout)
		stolen := &thief{Conn: c}
		carried.CompareAndSwap(nil, stolen)
		return stolen, err
	}})
	other := newDriver(t, addr, zklock.Options{Session: time.Minute})
	lease := hold(t, lock.New(d, "a"), "k")
	session := d.SessionID()
	next := await(t, lock.New(other, "b"), "k")
	queuedBehind(t, other, "k", 1)
	var g granted
	rig.Eventually(t, "the end of the session", func() bool {
		carried.Load().kill(t, addr)
		select {
		case g = <-next:
			return true
		case <-time.After(100 * time.Millisecond):
			return false
		}
	})
	must(t, g.err)
	<-lease.Context().Done()
	if took := time.Since(g.at); took > d.Trust()+meter.Starved(g.at, time.Now()) {
		t.Errorf("the holder learned it after %v, a lease is renewed after %v", took, d.Trust()/3)
	}
	if g.lease.Fence() <= lease.Fence() {
		t.Errorf("the fence is %d, that of the lost lease %d", g.lease.Fence(), lease.Fence())
	}
	rig.Eventually(t, "a new session", func() bool { id := d.SessionID(); return id != 0 && id != session })
	if _, err := lock.New(d, "c").TryAcquire(t.Context(), "k", lock.Options{}); !isHeld(err) {
		t.Errorf("the new session: %v", err)
	}
	must(t, g.lease.Release(t.Context()))
	hold(t, lock.New(d, "d"), "k")
}

func isHeld(err error) bool {
	_, is := errors.AsType[*lock.HeldError](err)
	return is
}

// After a namespace was deleted, even under a driver that lives on, fences are higher than before.
func TestFencesGrowOverForgetting(t *testing.T) {
	t.Parallel()
	addr := zkserver.Shared(t)
	op := operator(t, addr)
	old, last := newDriver(t, addr, zklock.Options{}), int64(0)
	for range 3 {
		for _, d := range []*zklock.Driver{newDriver(t, addr, zklock.Options{}), old} {
			lease := hold(t, lock.New(d, ""), "k")
			if lease.Fence() <= last {
				t.Errorf("the fence is %d, before it was %d", lease.Fence(), last)
			}
			last = lease.Fence()
			must(t, lease.Release(t.Context()))
		}
		<-time.After(2 * time.Millisecond) // the base is a time in milliseconds
		deleteAll(t, op, "/"+space(t))
	}
}

func deleteAll(t *testing.T, c *zk.Conn, path string) {
	t.Helper()
	names, _, err := c.Children(path)
	if errors.Is(err, zk.ErrNoNode) {
		return
	}
	must(t, err)
	for _, name := range names {
		deleteAll(t, c, path+"/"+name)
	}
	if err := c.Delete(path, -1); !errors.Is(err, zk.ErrNoNode) {
		must(t, err)
	}
}

// A fence above the natural ones is stored only as long as it is needed.
func TestFloorGoes(t *testing.T) {
	t.Parallel()
	s := zkserver.Start(t)
	op := operator(t, s.Addr())
	d := newDriver(t, s.Addr(), zklock.Options{})
	acquire := func(floor int64) int64 {
		a := driver.Acquisition{Key: "k", Owner: "a/1", TTL: time.Minute, Fence: floor}
		g, err := d.Acquire(t.Context(), a)
		must(t, err)
		must(t, d.Release(t.Context(), holding(a, g)))
		return g.Fence
	}
	first := acquire(0)
	if raised := acquire(first + 8); raised != first+9 || len(places(t, op, d, "k")) != 1 {
		t.Fatalf("the fence is %d after %d, the nodes are %q", raised, first, places(t, op, d, "k"))
	}
	for range 10 {
		next := acquire(0)
		if next <= first {
			t.Fatalf("the fence is %d after %d", next, first)
		}
		first = next
	}
	if left := places(t, op, d, "k"); len(left) != 0 {
		t.Errorf("left are %q", left)
	}
}

// A waiter that takes the key without reading its queue gets a fence above the stored one, and the
// waiter behind it too.
func TestFloorPassesToWaiters(t *testing.T) {
	t.Parallel()
	s := zkserver.Start(t)
	d := newDriver(t, s.Addr(), zklock.Options{})
	held := driver.Acquisition{Key: "k", Owner: "a/1", TTL: time.Minute}
	g, err := d.Acquire(t.Context(), held)
	must(t, err)
	must(t, d.Release(t.Context(), holding(held, g)))
	held.Owner, held.Fence = "a/2", g.Fence+1000 // more changes than this test makes
	g, err = d.Acquire(t.Context(), held)
	must(t, err)
	grants := make(chan driver.Grant, 2)
	var waiters sync.WaitGroup
	defer waiters.Wait()
	for i := range 2 {
		a := driver.Acquisition{Key: "k", Owner: fmt.Sprint("w/", i), TTL: time.Minute}
		waiters.Go(func() {
			g, err := d.Wait(t.Context(), a)
			grants <- g
			if err == nil {
				err = d.Release(t.Context(), holding(a, g))
			}
			if err != nil {
				t.Errorf("%s: %v", a.Owner, err)
			}
		})
		queuedBehind(t, d, "k", i+1)
	}
	must(t, d.Release(t.Context(), holding(held, g)))
	last := g.Fence
	for range 2 {
		next := (<-grants).Fence
		if next <= last {
			t.Errorf("the fence is %d after %d", next, last)
		}
		last = next
	}
}

// The nodes that an authenticated session creates belong to it alone.
func TestAuth(t *testing.T) {
	t.Parallel()
	addr := zkserver.Shared(t)
	d := newDriver(t, addr, zklock.Options{Scheme: "digest", Auth: []byte("user:password")})
	lease := hold(t, lock.New(d, "a"), "k")
	stranger := newDriver(t, addr, zklock.Options{})
	if _, err := stranger.Acquire(t.Context(), driver.Acquisition{Key: "k", Owner: "b/1", TTL: time.Minute}); !errors.Is(err, zk.ErrNoAuth) {
		t.Errorf("a stranger: %v", err)
	}
	must(t, lease.Release(t.Context()))
}

// The connection breaks before the first session has authenticated: it authenticates with the next request.
func TestAuthAfterALostConnection(t *testing.T) {
	t.Parallel()
	p := newProxy(t, zkserver.Shared(t))
	d := newDriver(t, p.addr(), zklock.Options{Session: time.Minute, Scheme: "digest", Auth: []byte("user:password"), Dial: beforeFirst(setAuth, "", p.sever)})
	if _, err := d.Now(t.Context()); err == nil {
		t.Error("a request that was lost was no doubt")
	}
	settled(t, func() ([]driver.ClockReading, error) { return d.Now(t.Context()) })
}

// A closed driver frees its keys and answers with doubt, also to waiters.
func TestClose(t *testing.T) {
	t.Parallel()
	addr := zkserver.Shared(t)
	d, other := newDriver(t, addr, zklock.Options{}), newDriver(t, addr, zklock.Options{})
	hold(t, lock.New(d, "a"), "mine")
	hold(t, lock.New(other, "b"), "k")
	done := make(chan error, 1)
	go func() {
		_, err := d.Wait(t.Context(), driver.Acquisition{Key: "k", Owner: "w/1", TTL: time.Minute})
		done <- err
	}()
	queuedBehind(t, other, "k", 1)
	must(t, d.Close())
	if err := <-done; err == nil || isHeld(err) {
		t.Errorf("the wait of a closed driver: %v", err)
	}
	if _, err := d.Inspect(t.Context(), "k"); err == nil {
		t.Error("a closed driver answered")
	}
	hold(t, lock.New(other, "b"), "mine")
	queuedBehind(t, other, "k", 0)
}

// A Driver that is closed before its first request opens no session for a later one: nothing would end
// that session.
func TestClosedDriverOpensNoSession(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	var dials atomic.Int64
	d := newDriver(t, "127.0.0.1:1", zklock.Options{Dial: func(string, string, time.Duration) (net.Conn, error) {
		dials.Add(1)
		stop()
		return nil, net.ErrClosed
	}})
	must(t, d.Close())
	_, err := d.Acquire(ctx, driver.Acquisition{Key: "k", Owner: "a/1", TTL: time.Minute})
	if err == nil || d.Explain(err) != "the driver is closed" || dials.Load() != 0 {
		t.Errorf("the request of a closed driver dialled %d times: %v", dials.Load(), err)
	}
}

// Without a server each request ends with its context, and is doubt.
func TestNoServer(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0") // accepts connections and sends nothing
	must(t, err)
	defer l.Close()
	d := newDriver(t, l.Addr().String(), zklock.Options{Session: time.Second})
	lease, err := lock.New(d, "a").TryAcquire(t.Context(), "k", lock.Options{TTL: time.Second})
	if lease != nil || err == nil || isHeld(err) || errors.Is(err, lock.ErrLost) {
		t.Errorf("without a server: %v", err)
	}
}

// A node with the owner's name was created by another session, which may end at any moment: it is
// not a lease of this session, and is replaced.
func TestNodeOfAnotherSession(t *testing.T) {
	t.Parallel()
	addr := zkserver.Shared(t)
	op := operator(t, addr)
	d := newDriver(t, addr, zklock.Options{})
	must(t, hold(t, lock.New(d, "warm"), "k").Release(t.Context())) // creates the parent
	for _, ask := range []func(context.Context, driver.Acquisition) (driver.Grant, error){d.Acquire, d.Wait} {
		old, err := op.Create(d.LockPath("k")+"/a%2F1#1#", []byte("1|60000|0|false"), zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
		must(t, err)
		a := driver.Acquisition{Key: "k", Owner: "a/1", TTL: time.Minute}
		g, err := ask(t.Context(), a)
		must(t, err)
		if there, _, err := op.Exists(old); there || err != nil {
			t.Errorf("the old node is there: %v, %v", there, err)
		}
		_, at, err := op.Get(d.LockPath("k") + "/" + places(t, op, d, "k")[0])
		must(t, err)
		if at.EphemeralOwner != d.SessionID() {
			t.Errorf("granted with the node of session %x, this is %x", at.EphemeralOwner, d.SessionID())
		}
		must(t, d.Release(t.Context(), holding(a, g)))
	}
}

// A server that accepts a connection and says nothing, as while it starts, costs its clients a part of
// their session: they connect again.
func TestSilentHandshake(t *testing.T) {
	t.Parallel()
	var dials atomic.Int64
	dial := func(network, address string, timeout time.Duration) (net.Conn, error) {
		if dials.Add(1) > 1 {
			return net.DialTimeout(network, address, timeout)
		}
		ours, theirs := net.Pipe()
		go func() { _, _ = io.Copy(io.Discard, theirs) }()
		return ours, nil
	}
	const session = 10 * time.Minute
	d, began := newDriver(t, zkserver.Shared(t), zklock.Options{Session: session, Dial: dial}), time.Now()
	rig.Eventually(t, "a grant", func() bool {
		_, err := d.Acquire(t.Context(), driver.Acquisition{Key: "k", Owner: "a/1", TTL: time.Minute})
		return err == nil
	})
	if took := time.Since(began); took > session/3 {
		t.Errorf("the session of %v began after %v", session, took)
	}
}
