package redislock

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
)

// An inbox is the channel on which a process is notified that a lock is reserved for one of its
// owners. It is open while owners wait.
type inbox struct {
	client  redis.UniversalClient
	channel string

	sub atomic.Pointer[redis.PubSub] // nil: closed; written under the mutex

	mu     sync.Mutex
	owners map[string]*notices
	ready  chan struct{} // closed once the server knows of sub
	idle   *time.Timer   // ends sub when no call waits
}

// notices are the notifications of one owner.
type notices struct {
	woken chan struct{} // holds one wake-up: try now
	next  chan struct{} // holds one wake-up: the lock is reserved for the owner before, try when its time is over
}

const linger = 5 * time.Second // a busy lock always has another waiter soon

func newInbox(client redis.UniversalClient, namespace string) *inbox {
	return &inbox{
		client:  client,
		channel: namespace + ":v1:i:" + uuid.NewString(),
		owners:  make(map[string]*notices),
	}
}

// open reports whether the inbox is open already.
func (b *inbox) open() bool { return b.sub.Load() != nil }

// join opens the inbox if it is closed. It returns the notices of the owner, and a channel that is
// closed once messages arrive.
func (b *inbox) join(owner string) (n *notices, ready chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.idle != nil {
		b.idle.Stop()
		b.idle = nil
	}
	if !b.open() {
		b.ready = make(chan struct{})
		b.sub.Store(b.client.Subscribe(context.Background()))
		go b.receive(b.sub.Load(), b.ready)
	}
	n = &notices{make(chan struct{}, 1), make(chan struct{}, 1)}
	b.owners[owner] = n
	return n, b.ready
}

func (b *inbox) leave(owner string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.owners, owner)
	if len(b.owners) == 0 && b.open() {
		b.idle = time.AfterFunc(linger, b.closeIdle)
	}
}

func (b *inbox) closeIdle() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.owners) == 0 {
		b.close()
	}
}

// close ends the subscription. The mutex is held.
func (b *inbox) close() {
	if b.idle != nil {
		b.idle.Stop()
		b.idle = nil
	}
	if sub := b.sub.Swap(nil); sub != nil {
		_ = sub.Close() // it is no longer used, even if closing fails
	}
}

// receive wakes owners until sub is closed. After each reconnection it wakes all owners, since
// messages may have been lost.
func (b *inbox) receive(sub *redis.PubSub, ready chan struct{}) {
	_ = sub.Subscribe(context.Background(), b.channel) // the loop below tries again
	subscribed := false
	for message := range sub.ChannelWithSubscriptions() {
		switch m := message.(type) {
		case *redis.Message:
			b.notify(m.Payload)
		case *redis.Subscription:
			if !subscribed {
				close(ready)
				subscribed = true
			}
			b.wakeAll()
		}
	}
}

// notify passes a message on to the owner in it: the owner that must try now, or with a | before it
// the owner that comes after that one.
func (b *inbox) notify(message string) {
	owner, next := strings.CutPrefix(message, "|")
	b.mu.Lock()
	defer b.mu.Unlock()
	switch n := b.owners[owner]; {
	case n == nil:
	case next:
		signal(n.next)
	default:
		signal(n.woken)
	}
}

func (b *inbox) wakeAll() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, n := range b.owners {
		signal(n.woken)
	}
}

func signal(woken chan struct{}) {
	select {
	case woken <- struct{}{}:
	default: // it is awake
	}
}

// Close ends the subscription that waiting needs; waiters go on by probing. The driver can still be
// used, and opens the subscription again with the next waiter. Close does not close the client. The
// error is always nil.
func (d *Driver) Close() error {
	d.inbox.mu.Lock()
	defer d.inbox.mu.Unlock()
	d.inbox.close()
	return nil
}
