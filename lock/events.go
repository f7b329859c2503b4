package lock

import (
	"fmt"
	"sync/atomic"
	"time"
)

// An Event is a step in the life of a lease, or of the wait for one.
type Event struct {
	Kind EventKind
	Key  string
	At   time.Time
	// Fence is the fence of the lease; 0 before there is one.
	Fence int64
	// Left, of EventWaits, is how long the holder keeps the key unless it renews or releases it; 0
	// if that is not known, as behind other callers of this process. [Locker.Holders] returns the
	// owner.
	Left time.Duration
	// Took, of EventAcquired and EventGaveUp, is how long the caller waited for the key; of
	// EventExtended, EventReleased and EventLost, how long the lease was held.
	Took time.Duration
	// Err is why the caller gave up, why the lease was lost, or the error of the release; nil if
	// all is well.
	Err error
	// Dropped is how many events before this one the function missed: it was too slow for them, or
	// it panicked or ended its goroutine.
	Dropped int
}

// EventKind is the kind of an [Event].
type EventKind uint8

// The kinds of events. A wait begins when the store refuses the key, or when other callers of this
// process wait for it; EventAcquired or EventGaveUp ends the wait. A try has no wait.
const (
	EventWaits    EventKind = iota // Acquire waits for the key
	EventAcquired                  // the lease begins
	EventGaveUp                    // Acquire, or a try, returned an error
	EventExtended                  // a fixed lease was extended
	EventReleased                  // the lease was released
	EventLost                      // the lease was lost, or abandoned; a release of it has no event
)

var eventKinds = [...]string{"waits", "acquired", "gave up", "extended", "released", "lost"}

func (k EventKind) String() string {
	if int(k) < len(eventKinds) {
		return eventKinds[k]
	}
	return fmt.Sprintf("EventKind(%d)", uint8(k))
}

// OnEvent sets a function that is called with each later event of leases; nil removes it. One
// goroutine of the Locker calls f for one event after the other, and no request waits for it: a
// slow function gets its events late. While 1,024 events wait, a new one replaces the newest, so
// the last event is always reported, with the number of events that were dropped before it. A panic
// in f is recovered, and f misses that event. [Locker.Wait] also waits for f. Leases inside another
// lease, and renewals, have no events.
func (l *Locker) OnEvent(f func(Event)) { l.events.function.Store(&f) }

func (e Event) afterDropped(n int) Event {
	e.Dropped = n
	return e
}

// note queues an event that happens now.
func (l *Locker) note(e Event) {
	e.At = time.Now()
	l.events.add(&l.background, e)
}

// A wanting is the events of one call that wants a key.
type wanting struct {
	locker *Locker
	key    string
	began  time.Time
	waits  atomic.Bool // EventWaits was reported
}

func (l *Locker) wants(key string) *wanting {
	if !l.events.observed() {
		return nil
	}
	return &wanting{locker: l, key: key, began: time.Now()}
}

// mustWait reports EventWaits, once.
func (w *wanting) mustWait(left time.Duration) {
	if w != nil && !w.waits.Swap(true) {
		w.locker.note(Event{Kind: EventWaits, Key: w.key, Left: left})
	}
}

// has reports how the call ended, and returns its arguments.
func (w *wanting) has(lease *Lease, err error) (*Lease, error) {
	switch {
	case w == nil:
	case err != nil:
		w.locker.note(Event{Kind: EventGaveUp, Key: w.key, Took: time.Since(w.began), Err: err})
	default:
		w.locker.acquired(lease, w.began)
	}
	return lease, err
}

// acquired reports a lease that its caller gets now.
func (l *Locker) acquired(s *Lease, began time.Time) {
	if !l.events.observed() {
		return
	}
	s.since.Store(l.keeper.Now() + 1)
	l.note(Event{Kind: EventAcquired, Key: s.ref.Key, Fence: s.ref.Fence, Took: time.Since(began)})
}

// report reports an extension or the end of a lease, if its begin was reported. The end is reported
// once.
func (s *Lease) report(kind EventKind, err error) {
	since := s.since.Load()
	if since == 0 || kind != EventExtended && !s.since.CompareAndSwap(since, 0) {
		return
	}
	s.locker.note(Event{Kind: kind, Key: s.ref.Key, Fence: s.ref.Fence,
		Took: time.Duration(s.locker.keeper.Now() + 1 - since), Err: err})
}
