package lock

import (
	"container/list"
	"context"
	"sync"
	"sync/atomic"
)

// localQueues are the queues of this process, one per key. The caller at the head of a queue has
// the turn to send requests to the store. Adjacent readers at the head have the turn together.
//
// The mutex guards the map alone, and is never held while a goroutine waits for the mutex of a
// queue: many callers that leave one queue together delay no other key.
type localQueues struct {
	mu    sync.Mutex
	lines map[string]*localQueue
}

// abreast is how many readers of one local queue have the turn at the same time: each may take a
// place in the store's queue.
const abreast = 16

// A localQueue exists while callers are in it. Callers without the turn are woken in order.
type localQueue struct {
	members atomic.Int64 // callers that have the turn or wait for it; raised under the mutex of localQueues
	waits   atomic.Bool  // the store refused a caller, and has granted no caller at once since

	mu         sync.Mutex
	asking     int       // how many have the turn
	readers    bool      // the callers that have the turn are readers
	background list.List // of *turn: a list, so that leaving costs the same at every place
}

// A turn is the turn of one caller in a local queue.
type turn struct {
	come   chan struct{} // closed when the caller has the turn
	reader bool
	place  *list.Element // nil once the caller has the turn
}

// waitTurn waits for the caller's turn and returns its queue. The caller must then pass the turn on. A
// caller whose context has ended gets no turn: it must not send a request to the store.
func (t *localQueues) waitTurn(ctx context.Context, key string, reader bool, w *wanting) (*localQueue, error) {
	l := t.enter(key)
	next := l.join(reader)
	if next == nil {
		return l, nil
	}
	w.mustWait(0)
	select {
	case <-next.come:
		if ctx.Err() == nil {
			return l, nil
		}
	case <-ctx.Done():
	}
	if l.leave(next) {
		t.exit(key, l)
	} else { // the caller got the turn meanwhile
		t.pass(key, l, true)
	}
	return nil, context.Cause(ctx)
}

// pass gives a turn to the next caller in the queue. Waited is false if the store granted the key
// at once: then the local queue is not known to wait for another owner.
func (t *localQueues) pass(key string, l *localQueue, waited bool) {
	if !waited {
		l.waits.Store(false)
	}
	l.pass()
	t.exit(key, l)
}

// waited reports whether callers in a local queue wait because the store refused the key, rather
// than only for the answers to the callers before them.
func (t *localQueues) waited(key string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.lines[key]
	return l != nil && l.waits.Load()
}

// enter makes the caller a member of the queue of a key.
func (t *localQueues) enter(key string) *localQueue {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.lines[key]
	if l == nil {
		l = t.begin(key)
	}
	l.members.Add(1)
	return l
}

// begin makes the queue of a key. The mutex of localQueues is held.
func (t *localQueues) begin(key string) *localQueue {
	if t.lines == nil {
		t.lines = make(map[string]*localQueue)
	}
	l := new(localQueue)
	t.lines[key] = l
	return l
}

// exit ends a membership, and with the last one the queue. Before exit has the mutex, another
// caller may enter, and the queue continues; or it may enter and leave, and the queue has ended
// already.
func (t *localQueues) exit(key string, l *localQueue) {
	if l.members.Add(-1) > 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.lines[key] == l && l.members.Load() == 0 {
		delete(t.lines, key)
	}
}

// join returns nil if the caller has the turn at once.
func (l *localQueue) join(reader bool) *turn {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.background.Len() == 0 && l.let(reader) {
		return nil
	}
	next := &turn{come: make(chan struct{}), reader: reader}
	next.place = l.background.PushBack(next)
	return next
}

// leave reports whether the caller had no turn yet. The callers behind it may have the turn then.
func (l *localQueue) leave(left *turn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if left.place == nil {
		return false
	}
	l.background.Remove(left.place)
	l.advance()
	return true
}

func (l *localQueue) pass() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asking--
	l.advance()
}

// advance gives the turn to all callers at the head of the queue that may have it now.
func (l *localQueue) advance() {
	for head := l.background.Front(); head != nil; head = l.background.Front() {
		next := head.Value.(*turn)
		if !l.let(next.reader) {
			return
		}
		l.background.Remove(head)
		next.place = nil
		close(next.come)
	}
}

// let gives the turn to one more caller, if that caller may have it beside those that have it.
func (l *localQueue) let(reader bool) bool {
	if l.asking > 0 && (!l.readers || !reader || l.asking >= abreast) {
		return false
	}
	l.asking++
	l.readers = reader
	return true
}
