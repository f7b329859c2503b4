// Package delivery calls code that may hang, such as loggers and observers, on its own goroutine,
// so that no other goroutine waits for that code.
package delivery

import (
	"context"
	"sync"
)

// A Queue calls a function with each item that was added, one after the other and in order. It has
// a goroutine while an item waits. A call that panics or ends its goroutine loses only its own
// item.
//
// The number of waiting items is limited, and so is the number of their bytes if Add is called with
// sizes. When the queue is full, a new item replaces the newest waiting one, so the oldest items
// and the last one are always kept. Lost items are counted. Create a Queue with New. It is safe for
// concurrent use.
type Queue[T any] struct {
	most, mostSize int
	call           func(item T, lost int64) (taken bool)
	panicked       func(v any)

	mu      sync.Mutex // not held during calls
	items   []entry[T] // the items before head were taken
	head    int
	size    int   // of the waiting items
	lost    int64 // of all items
	before  int64 // of the items before the next one that is taken
	running bool  // the goroutine runs, until no item waits
	calling bool  // a call runs whose item is not counted as lost
	closed  bool
	idle    chan struct{} // closed when no item waits any more; nil: Wait was not called
}

type entry[T any] struct {
	item T
	size int
	lost int64 // lost items between the one before and this one
}

// New returns a Queue for at most most items with mostSize bytes together. The Queue calls call
// with an item and the number of items that were lost before it since New, and counts the item as
// lost unless call returns true. It calls panicked, on the same goroutine, with the value of a
// panic in call, or with nil if call ended its goroutine. New starts nothing.
func New[T any](most, mostSize int, call func(item T, lost int64) (taken bool), panicked func(v any)) *Queue[T] {
	return &Queue[T]{most: most, mostSize: mostSize, call: call, panicked: panicked}
}

// Add queues an item of size bytes. It does not wait for a call.
func (q *Queue[T]) Add(item T, size int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.add(item, size)
}

// add is Add with the mutex held.
func (q *Queue[T]) add(item T, size int) {
	waiting := len(q.items) - q.head
	switch {
	case q.closed:
		q.lost++
		return
	case waiting > 0 && (waiting >= q.most || q.size+size > q.mostSize):
		last := &q.items[len(q.items)-1]
		q.size += size - last.size
		*last = entry[T]{item, size, last.lost + 1}
		q.lost++
		return
	}
	if q.head > 0 && q.head >= waiting && len(q.items) == cap(q.items) {
		n := copy(q.items, q.items[q.head:])
		clear(q.items[n:])
		q.items, q.head = q.items[:n], 0
	}
	q.items = append(q.items, entry[T]{item, size, 0})
	q.size += size
	q.start()
}

// AddIdle adds an item if no item waits and no call runs; otherwise it does nothing.
func (q *Queue[T]) AddIdle(item T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.running && !q.closed {
		q.items = append(q.items, entry[T]{item: item})
		q.start()
	}
}

// start starts the goroutine if it does not run. The mutex is held.
func (q *Queue[T]) start() {
	if !q.running {
		q.running = true
		go q.run()
	}
}

// run calls the function until no item waits. After a call that ends its goroutine, it continues on
// another one.
func (q *Queue[T]) run() {
	empty := false
	defer func() {
		if !empty {
			q.took(false)
			go q.run()
		}
	}()
	for {
		item, lost, some := q.next()
		if !some {
			break
		}
		q.took(q.try(item, lost))
	}
	empty = true
}

// try calls the function, and returns false after a panic.
func (q *Queue[T]) try(item T, lost int64) (taken bool) {
	returned := false
	defer func() {
		if !returned {
			q.panicked(recover())
		}
	}()
	taken = q.call(item, lost)
	returned = true
	return taken
}

// keptItems is the capacity for items that is kept while none waits.
const keptItems = 64

func (q *Queue[T]) next() (item T, lost int64, some bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.head == len(q.items) {
		if q.items, q.head = q.items[:0], 0; cap(q.items) > keptItems {
			q.items = nil
		}
		q.running = false
		if q.idle != nil {
			close(q.idle)
			q.idle = nil
		}
		return item, 0, false
	}
	e := q.items[q.head]
	q.items[q.head] = entry[T]{}
	q.head++
	q.size -= e.size
	q.before += e.lost
	q.calling = true
	return e.item, q.before, true
}

// took ends a call.
func (q *Queue[T]) took(taken bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.calling && !taken {
		q.lost++
		q.before++
	}
	q.calling = false
}

// Close makes an item the last one: items that are added later are lost.
func (q *Queue[T]) Close(last T) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.add(last, 0)
	q.closed = true
}

// Wait waits until no item waits and no call runs. If ctx ends first, it discards the waiting
// items, counts them and the item of the running call as lost, and returns their number.
func (q *Queue[T]) Wait(ctx context.Context) (lost int) {
	q.mu.Lock()
	if !q.running {
		q.mu.Unlock()
		return 0
	}
	if q.idle == nil {
		q.idle = make(chan struct{})
	}
	idle := q.idle
	q.mu.Unlock()
	select {
	case <-idle:
		return 0
	case <-ctx.Done():
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.calling {
		lost++
	}
	for _, e := range q.items[q.head:] {
		q.before += e.lost
		lost++
	}
	q.before += int64(lost)
	q.lost += int64(lost)
	q.items, q.head, q.size, q.calling = nil, 0, 0, false
	return lost
}

// Lost returns how many items were lost.
func (q *Queue[T]) Lost() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.lost
}
