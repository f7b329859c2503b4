package sqllock

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cronce/cronce/internal/wait"
)

// A Listener listens on a channel of PostgreSQL, as LISTEN does, on a connection of
// its own, until ctx ends or the connection breaks. It calls notified with an empty
// payload once it listens, and then with the payload of each notification. The
// channel needs no quotes. A Driver calls it while owners wait, again after a pause
// when it has returned, and never twice at once.
type Listener func(ctx context.Context, channel string, heard func(payload string)) error

const (
	linger    = 5 * time.Second // a busy key always has another waiter soon
	reconnect = time.Second     // about how long after a Listener has returned
)

// channel is the one on which a process is notified that a key is kept for one of its
// owners.
func channel(party string) string { return "cronce_" + party }

// A listening is the goroutine that listens while owners wait.
type listening struct {
	mu    sync.Mutex
	stop  context.CancelFunc // nil: they do not
	done  chan struct{}      // closed once the last that was begun has ended; nil: none was
	idle  *time.Timer        // ends it when no owner waits
	ready atomic.Bool        // notifications arrive
}

// open begins to listen, unless it has begun.
func (d *Driver) startListening() {
	if d.listen == nil {
		return
	}
	e := &d.listening
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.idle != nil {
		e.idle.Stop()
		e.idle = nil
	}
	if e.stop != nil {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	before := e.done
	e.stop, e.done = stop, make(chan struct{})
	go func(done chan<- struct{}) {
		defer close(done)
		if before != nil {
			<-before
		}
		d.keepListening(ctx)
	}(e.done)
}

// keepListening listens until ctx ends. Notifications may have been lost before it does, so
// all are woken when it begins.
func (d *Driver) keepListening(ctx context.Context) {
	for ctx.Err() == nil {
		_ = d.listen(ctx, channel(d.party), func(owner string) { // the waiters probe meanwhile
			if owner != "" {
				d.waiters.wake(owner)
				return
			}
			d.listening.ready.Store(true)
			d.waiters.wakeAll()
		})
		d.listening.ready.Store(false)
		_ = wait.Sleep(ctx, reconnect/2+rand.N(reconnect))
	}
}

// stopListening ends the listening some time after the last waiter has left, unless another
// one has come: it may have come, and have found the listening open, before this is called.
func (d *Driver) stopListening() {
	if d.listen == nil {
		return
	}
	e := &d.listening
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.idle != nil {
		e.idle.Stop()
	}
	e.idle = time.AfterFunc(linger, func() {
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.stop == nil || e.idle == nil {
			return
		}
		e.idle = nil
		if d.waiters.none() {
			e.stop()
			e.stop = nil
		}
	})
}
