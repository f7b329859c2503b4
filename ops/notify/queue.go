package notify

import (
	"slices"
	"time"
)

const (
	maxQueue   = 1000            // waiting events
	maxAge     = 24 * time.Hour  // of an event, after which it is given up
	standbyFor = time.Minute     // in which a replica that does not send keeps an event: longer than the lock of a dead one lasts
	soonest    = 2 * time.Second // pauses between two tries
	latest     = 5 * time.Minute
)

// A queue has the events that no receiver has accepted. It is not safe for concurrent use.
type queue struct {
	items []*item // in the order of their events
	wake  chan struct{}
}

type item struct {
	event
	born, due time.Time
	tries     int
}

// add appends events, except those that wait already. It returns the events that have no room.
func (q *queue) add(now time.Time, events ...event) (lost []event) {
	for _, e := range events {
		last := -1
		for i, it := range q.items {
			if it.Key == e.Key {
				last = i
			}
		}
		switch {
		case last >= 0 && q.items[last].Action == e.Action:
		case len(q.items) >= maxQueue:
			lost = append(lost, e)
		default:
			q.items = append(q.items, &item{event: e, born: now, due: now})
		}
	}
	q.notify()
	return lost
}

func (q *queue) notify() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// expire removes and returns the events that are older than most.
func (q *queue) expire(now time.Time, most time.Duration) (old []event) {
	q.items = slices.DeleteFunc(q.items, func(it *item) bool {
		if now.Sub(it.born) < most {
			return false
		}
		old = append(old, it.event)
		return true
	})
	return old
}

// next returns the event that is due first, and when. An event waits until the ones before it with
// the same key are accepted. Nil: none waits.
func (q *queue) next() (next *item) {
	seen := map[string]bool{}
	for _, it := range q.items {
		if !seen[it.Key] && (next == nil || it.due.Before(next.due)) {
			next = it
		}
		seen[it.Key] = true
	}
	return next
}

func (q *queue) remove(it *item) {
	q.items = slices.DeleteFunc(q.items, func(other *item) bool { return other == it })
}
