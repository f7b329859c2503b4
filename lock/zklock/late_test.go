package zklock_test

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/rig"
	"github.com/cronce/cronce/internal/zkserver"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/lock/zklock"
)

// A late connection delivers the server's messages some time after they came, in order, and however
// many are on their way.
type late struct {
	net.Conn
	said chan chunk
	rest chunk
}

type chunk struct {
	b   []byte
	err error
	due time.Time
}

func dialLate(by time.Duration) func(network, addr string, timeout time.Duration) (net.Conn, error) {
	return func(network, addr string, timeout time.Duration) (net.Conn, error) {
		c, err := net.DialTimeout(network, addr, timeout)
		if err != nil {
			return nil, err
		}
		l := &late{Conn: c, said: make(chan chunk, 10_000)}
		go func() {
			defer close(l.said)
			for {
				b := make([]byte, 64<<10)
				n, err := c.Read(b)
				l.said <- chunk{b[:n], err, time.Now().Add(by)}
				if err != nil {
					return
				}
			}
		}()
		return l, nil
	}
}

func (l *late) Read(b []byte) (int, error) {
	for len(l.rest.b) == 0 && l.rest.err == nil {
		next, ok := <-l.said
		if !ok {
			return 0, net.ErrClosed
		}
		<-time.After(time.Until(next.due))
		l.rest = next
	}
	n := copy(b, l.rest.b)
	if l.rest.b = l.rest.b[n:]; n > 0 {
		return n, nil
	}
	return 0, l.rest.err
}

// SetReadDeadline does nothing: the reads of a late connection end only by Close.
func (l *late) SetReadDeadline(time.Time) error { return nil }

// Two owners of one process request the same key, and the TTL of both has passed when the replies
// to their creations arrive. Each finds the place of the other in the queue, expired and still
// there. Neither waits for the other, no place is left behind, and Close returns.
func TestRepliesLaterThanTheTTL(t *testing.T) {
	t.Parallel()
	addr := zkserver.Shared(t)
	warm := newDriver(t, addr, zklock.Options{Session: time.Minute})
	d, err := zklock.New([]string{addr}, zklock.Options{Namespace: space(t), Session: time.Minute, Dial: dialLate(600 * time.Millisecond)})
	must(t, err)
	const keys = 40
	for k := range keys { // creates the parents
		must(t, hold(t, lock.New(warm, "warm"), fmt.Sprint("k", k)).Release(t.Context()))
	}
	_, err = d.Now(t.Context()) // connects
	must(t, err)
	ctx, stop := context.WithTimeout(t.Context(), 40*time.Second) // a place that one waits for lasts for a minute
	defer stop()
	var wg sync.WaitGroup
	for i := range 3 * keys {
		wg.Go(func() {
			a := driver.Acquisition{Key: fmt.Sprint("k", i%keys), Owner: fmt.Sprint("a/", i), TTL: driver.MinTTL}
			g, err := d.Acquire(ctx, a)
			if ctx.Err() != nil {
				t.Errorf("%s of %s is not answered: %v", a.Owner, a.Key, err)
			}
			if err == nil {
				_ = d.Release(ctx, holding(a, g))
			}
		})
	}
	wg.Wait()
	rig.Eventually(t, "no place is left", func() bool { return d.Places() == 0 })
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_ = d.Close()
	}()
	select {
	case <-closed:
	case <-time.After(2 * time.Minute):
		t.Fatal("Close hangs")
	}
	for k := range keys {
		must(t, hold(t, lock.New(warm, "next"), fmt.Sprint("k", k)).Release(t.Context()))
	}
}

// A reading of the clock was requested before the request was sent, however long the reply takes.
func TestReadingsBeginBeforeTheirRequests(t *testing.T) {
	t.Parallel()
	const by = 100 * time.Millisecond
	d := newDriver(t, zkserver.Shared(t), zklock.Options{Session: time.Minute, Dial: dialLate(by)})
	rs, err := d.Now(t.Context())
	must(t, err)
	b, err := d.Beat(t.Context(), series.Beat{Node: "n", TTL: time.Minute})
	must(t, err)
	for _, r := range append(rs, b.Readings...) {
		if took := r.Received.Sub(r.Sent); took < by {
			t.Errorf("a reading took %v, and its reply %v", took, by)
		}
	}
}

// A waiter has left when its requests reach the server, and is granted the key. The grant that nobody received is given up, whichever of
// the replies is lost: no place is left, and another owner gets the key at once.
func TestGrantToAWaiterThatLeft(t *testing.T) {
	t.Parallel()
	addr := zkserver.Shared(t)
	for lost := range int32(5) {
		t.Run(fmt.Sprint("reply ", lost, " is lost"), func(t *testing.T) { // 0: none
			t.Parallel()
			p, other := newProxy(t, addr), newDriver(t, addr, zklock.Options{Session: time.Minute})
			d := newDriver(t, p.addr(), zklock.Options{Session: time.Minute})
			a := driver.Acquisition{Key: fmt.Sprint("k", lost), Owner: "a/1", TTL: time.Minute}
			must(t, d.Release(t.Context(), holding(a, settled(t, func() (driver.Grant, error) { return d.Acquire(t.Context(), a) })))) // creates the parent
			p.slow.Store(true)
			ctx, stop := context.WithCancel(t.Context())
			left := make(chan error, 1)
			go func() {
				_, err := d.Wait(ctx, a)
				left <- err
			}()
			rig.Eventually(t, "a request of the waiter", func() bool { return p.held.Load() > 0 })
			stop()
			if err := <-left; err == nil {
				t.Error("a waiter that has left is granted the key")
			}
			p.cut.Store(lost)
			p.slow.Store(false)
			rig.Eventually(t, "the end of the place", func() bool { return d.Places() == 0 })
			must(t, hold(t, lock.New(other, "b"), a.Key).Release(t.Context()))
		})
	}
}
