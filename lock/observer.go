package lock

import (
	"sync"
	"sync/atomic"
)

// maxEvents bounds how many events wait for an observer.
const maxEvents = 1024

// An observer is a function of the caller, with a queue of events for it. No request, and no end of
// a lease, waits for the function. The zero value has no function, and is ready to use.
type observer[E countable[E]] struct {
	function atomic.Pointer[func(E)]

	mu      sync.Mutex // free while the function is called
	waiting []waitingEvent[E]
	dropped int  // by a panic or a Goexit of the function, since it last returned
	calling bool // a goroutine calls the function until no event waits
}

// A countable event can store how many events before it were dropped.
type countable[E any] interface{ afterDropped(n int) E }

type waitingEvent[E any] struct {
	event   E
	dropped int // events before it
}

// observed reports whether events are wanted.
func (o *observer[E]) observed() bool {
	f := o.function.Load()
	return f != nil && *f != nil
}

// add queues an event, and starts the goroutine that calls the function. If the queue is full, the
// event replaces the newest one.
func (o *observer[E]) add(b *background, event E) {
	if !o.observed() {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.waiting) >= maxEvents {
		newest := &o.waiting[len(o.waiting)-1]
		*newest = waitingEvent[E]{event, newest.dropped + 1}
		return
	}
	o.waiting = append(o.waiting, waitingEvent[E]{event: event})
	if !o.calling {
		o.calling = true
		b.begin()
		go o.call(b)
	}
}

// call calls the function until no event waits. After a function that ended its goroutine, call
// goes on in a new one.
func (o *observer[E]) call(b *background) {
	defer func() {
		if o.more() {
			go o.call(b)
		} else {
			b.end()
		}
	}()
	for event, some := o.next(); some; event, some = o.next() {
		contained(func() {
			if f := *o.function.Load(); f != nil {
				f(event)
			}
			o.took()
		})
	}
}

// took notes that the function has returned, and so received the number of dropped events.
func (o *observer[E]) took() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.dropped = 0
}

func (o *observer[E]) more() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.calling
}

func (o *observer[E]) next() (event E, some bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.waiting) == 0 {
		o.waiting, o.calling = nil, false
		return event, false
	}
	first := o.waiting[0]
	o.waiting = o.waiting[1:]
	dropped := first.dropped + o.dropped
	o.dropped = dropped + 1 // until the function has returned
	return first.event.afterDropped(dropped), true
}

// contained calls a function of the caller and recovers its panic, which must not end the process,
// and with it all leases.
func contained(f func()) {
	defer func() { _ = recover() }()
	f()
}
