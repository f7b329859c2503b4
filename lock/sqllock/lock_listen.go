package sqllock

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cronce/cronce/internal/wait"
)

// A Listener listens on a channel of PostgreSQL, as LISTEN does, on its own connection, until ctx
// ends or the connection breaks. It calls received with an empty payload once it listens, and then
// with the payload of each notification. The channel needs no quotes. A Driver calls the Listener
// while owners wait, calls it again after a pause when it has returned, and never has two calls at
// once.
type Listener func(ctx context.Context, channel string, received func(payload string)) error

const (
	linger    = 5 * time.Second // a busy key soon has another waiter
	reconnect = time.Second     // the average pause after a Listener has returned
)

// channel returns the name of the channel on which a process is notified that a key is kept for one
// of its owners.
func channel(party string) string { return "cronce_" + party }

// A listening is the goroutine that calls the Listener while owners wait.
type listening struct {
	mu    sync.Mutex
	stop  context.CancelFunc // nil: the goroutine does not run
	done  chan struct{}      // closed once the last goroutine has ended; nil: none was started
	idle  *time.Timer        // ends the goroutine when no owner waits
	ready atomic.Bool        // notifications arrive
}

// startListening starts the goroutine, unless it runs.
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

// keepListening calls the Listener until ctx ends. Notifications may have been lost before it
// listens, so it wakes all waiters once it does.
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

// stopListening ends the goroutine some time after the last waiter has left, unless another waiter
// has come. That waiter may have come, and found the goroutine running, before this call.
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
