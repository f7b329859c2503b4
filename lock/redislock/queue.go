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

// An inbox is the channel on which a process is told that a lock is kept for one
// of its owners. It is open while owners wait.
type inbox struct {
	client  redis.UniversalClient
	channel string

	sub atomic.Pointer[redis.PubSub] // nil: closed; written under the mutex

	mu     sync.Mutex
	owners map[string]*calls
	ready  chan struct{} // closed once the server knows of sub
	idle   *time.Timer   // ends sub when no call waits
}

// calls are the notices for one owner.
type calls struct {
	woken chan struct{} // holds one wake-up: look now
	next  chan struct{} // the same: the lock is kept for another, look when its time is over
}

const linger = 5 * time.Second // a busy lock always has another waiter soon

func newInbox(client redis.UniversalClient, namespace string) *inbox {
	return &inbox{
		client:  client,
		channel: namespace + ":v1:i:" + uuid.NewString(),
		owners:  make(map[string]*calls),
	}
}

// open reports whether the inbox is open already.
func (b *inbox) open() bool { return b.sub.Load() != nil }

// join opens the inbox if it is closed. It returns what the owner is told, and what
// is closed once messages arrive.
func (b *inbox) join(owner string) (told *calls, ready chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.idle != nil {
		b.idle.Stop()
		b.idle = nil
	}
	if !b.open() {
		b.ready = make(chan struct{})
		b.sub.Store(b.client.Subscribe(context.Background()))
		go b.listen(b.sub.Load(), b.ready)
	}
	told = &calls{make(chan struct{}, 1), make(chan struct{}, 1)}
	b.owners[owner] = told
	return told, b.ready
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
		_ = sub.Close() // it is gone in any case
	}
}

// listen wakes owners until sub is closed. After each reconnection all are
// woken, since messages may have been lost.
func (b *inbox) listen(sub *redis.PubSub, ready chan struct{}) {
	_ = sub.Subscribe(context.Background(), b.channel) // what follows tries again
	told := false
	for message := range sub.ChannelWithSubscriptions() {
		switch m := message.(type) {
		case *redis.Message:
			b.tell(m.Payload)
		case *redis.Subscription:
			if !told {
				close(ready)
				told = true
			}
			b.wakeAll()
		}
	}
}

// tell passes a message on: the owner that is to look now, or with a | before it the
// one that comes after that.
func (b *inbox) tell(message string) {
	owner, next := strings.CutPrefix(message, "|")
	b.mu.Lock()
	defer b.mu.Unlock()
	switch told := b.owners[owner]; {
	case told == nil:
	case next:
		signal(told.next)
	default:
		signal(told.woken)
	}
}

func (b *inbox) wakeAll() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, told := range b.owners {
		signal(told.woken)
	}
}

func signal(woken chan struct{}) {
	select {
	case woken <- struct{}{}:
	default: // it is awake
	}
}

// Close ends the subscription that waiting needs; who waits goes on by looking.
// The driver can be used on, and opens the subscription again with the next
// waiter. The client is left open. The error is always nil.
func (d *Driver) Close() error {
	d.inbox.mu.Lock()
	defer d.inbox.mu.Unlock()
	d.inbox.close()
	return nil
}
