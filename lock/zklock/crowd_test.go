package zklock_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/cronce/cronce/internal/zkserver"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/zklock"
)

// The number of bytes that a waiter reads does not grow with the queue: neither when it enters
// together with others of its process, nor when it takes the key. The names of all waiters, read
// once by each waiter, would be 9,000 bytes on average.
func TestCrowdReads(t *testing.T) {
	t.Parallel()
	addr := zkserver.Shared(t)
	p := newProxy(t, addr)
	d, other := newDriver(t, p.addr(), zklock.Options{}), newDriver(t, addr, zklock.Options{})
	first := hold(t, lock.New(other, "first"), "k")
	_, err := d.Now(t.Context()) // connects
	must(t, err)
	const waiters, most = 320, 7000
	begin := p.read.Load()
	var wg sync.WaitGroup
	last := first.Fence() // the fence of the holder
	for i := range waiters {
		wg.Go(func() {
			a := driver.Acquisition{Key: "k", Owner: fmt.Sprintf("a-process-of-the-crowd/%04d", i), TTL: time.Minute}
			g, err := d.Wait(t.Context(), a)
			if err != nil {
				t.Errorf("%s: %v", a.Owner, err)
				return
			}
			if g.Fence <= last {
				t.Errorf("fence %d after %d", g.Fence, last)
			}
			last = g.Fence
			if err := d.Release(t.Context(), holding(a, g)); err != nil {
				t.Errorf("%s: %v", a.Owner, err)
			}
		})
	}
	queuedBehind(t, other, "k", waiters)
	at := time.Now()
	must(t, first.Release(t.Context()))
	wg.Wait()
	read := (p.read.Load() - begin) / waiters
	t.Logf("%d waiters read %d bytes each, %.0f hand-overs/s", waiters, read, waiters/time.Since(at).Seconds())
	if read > most {
		t.Errorf("each waiter reads %d bytes, want %d at most", read, most)
	}
}
