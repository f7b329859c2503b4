package lock

import (
	"container/list"
	"context"
	"sync"
	"sync/atomic"
)

// localQueues are the queues of this process, one per key: the caller at the head has the
// turn to ask the store. Readers next to each other at the head have it together.
//
// The mutex guards the map alone, and is never held while a queue's mutex is waited for:
// many callers that leave one queue together delay no other key.
type localQueues struct {
	mu    sync.Mutex
	lines map[string]*localQueue
}

// abreast is how many readers of one local queue ask the store at the same time: each
// may take a place in the store's queue.
const abreast = 16

// A localQueue exists while callers are in it. Callers without the turn are woken in order.
type localQueue struct {
	members atomic.Int64 // callers that have the turn or stand behind; raised under the mutex of localQueues
	waits   atomic.Bool  // the store refused a caller, and has granted none at once since

	mu      sync.Mutex
	asking  int       // how many have the turn
	readers bool      // those that have the turn are readers
	behind  list.List // of *turn: a list, so that leaving costs the same at every place
}

// A turn is one caller's in a local queue.
type turn struct {
	come   chan struct{} // closed when it has come
	reader bool
	place  *list.Element // nil once it has come
}

// take returns when it is the caller's turn in the returned queue. The caller must
// then pass it on. A caller whose context has ended gets no turn: it must not send a
// request to the store.
func (t *localQueues) take(ctx context.Context, key string, reader bool, w *wanting) (*localQueue, error) {
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
	} else { // it was our turn meanwhile
		t.pass(key, l, true)
	}
	return nil, context.Cause(ctx)
}

// pass gives a turn to the next in the queue. Waited is false if the store granted the
// key at once: then nothing is known to keep others from it.
func (t *localQueues) pass(key string, l *localQueue, waited bool) {
	if !waited {
		l.waits.Store(false)
	}
	l.pass()
	t.exit(key, l)
}

// waited reports whether callers in a local queue wait because the store refused
// the key, rather than only for the answers to the callers before them.
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

// begin makes the queue of a key. The mutex is held.
func (t *localQueues) begin(key string) *localQueue {
	if t.lines == nil {
		t.lines = make(map[string]*localQueue)
	}
	l := new(localQueue)
	t.lines[key] = l
	return l
}

// exit ends a membership, and with the last one the queue. Before the mutex is held,
// another caller may enter, so that the queue goes on, or enter and leave, so that it has
// ended already.
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

// join returns no turn if it is the caller's at once.
func (l *localQueue) join(reader bool) *turn {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.behind.Len() == 0 && l.let(reader) {
		return nil
	}
	next := &turn{come: make(chan struct{}), reader: reader}
	next.place = l.behind.PushBack(next)
	return next
}

// leave reports whether the turn had not come yet. The callers behind may have it then.
func (l *localQueue) leave(left *turn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if left.place == nil {
		return false
	}
	l.behind.Remove(left.place)
	l.advance()
	return true
}

func (l *localQueue) pass() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.asking--
	l.advance()
}

// advance gives the turn to all at the head of the queue that may have it now.
func (l *localQueue) advance() {
	for head := l.behind.Front(); head != nil; head = l.behind.Front() {
		next := head.Value.(*turn)
		if !l.let(next.reader) {
			return
		}
		l.behind.Remove(head)
		next.place = nil
		close(next.come)
	}
}

// let gives the turn to one more caller, if that may have it beside those that have it.
func (l *localQueue) let(reader bool) bool {
	if l.asking > 0 && (!l.readers || !reader || l.asking >= abreast) {
		return false
	}
	l.asking++
	l.readers = reader
	return true
}
