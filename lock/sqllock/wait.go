package sqllock

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/cronce/cronce/lock"
)

const (
	rarest    = time.Second             // how often a waiter looks at least
	refreshed = 2500 * time.Millisecond // after so long a place is seen again
	soon      = 5 * time.Millisecond    // after the deadline of a holder
	afterward = 100 * time.Millisecond  // after doubt
	leaving   = time.Second             // for giving a place up
)

// Wait takes a place in the queue of the key and returns when the key was
// granted. After doubt it asks again. When ctx ends it gives the place up, for
// which it may take two seconds; a place that it cannot give up is passed over.
func (d *Driver) Wait(ctx context.Context, a lock.Acquisition) (lock.Grant, error) {
	if err := check(lock.CheckAcquisition(&a), a.Replicas); err != nil {
		return lock.Grant{}, err
	}
	a.Barge = false
	if err := ctx.Err(); err != nil {
		return lock.Grant{}, fmt.Errorf("sqllock: wait: %w", err)
	}
	asking, stop := lingering(ctx)
	defer stop()
	asked := time.Now()
	g, err := d.acquire(asking, &a) // most keys are free
	if err == nil {
		g.Asked = asked
		return g, nil
	}
	w := waiter{asking: asking, driver: d, a: &a, woken: d.waiters.join(a.Owner)}
	defer d.waiters.leave(a.Owner)
	if g, err = w.wait(ctx, err); err != nil {
		return lock.Grant{}, fmt.Errorf("sqllock: wait: %w", ended(ctx, err))
	}
	return g, nil
}

// lingering is a context that ends some time after ctx. A request that is cut off
// may still be carried out, by then after its owner has given up; so the last one
// is given the time to end by itself.
func lingering(ctx context.Context) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		pause(longer, grace, nil)
		cancel()
	})
	return longer, func() { stop(); cancel() }
}

// A waiter is an owner that waits.
type waiter struct {
	asking context.Context // of its requests
	driver *Driver
	a      *lock.Acquisition
	woken  <-chan struct{}
	placed bool // it has a place, as far as it knows
	pace   time.Duration
}

// wait asks until it is granted. Last is the answer so far.
func (w *waiter) wait(ctx context.Context, last error) (lock.Grant, error) {
	for ctx.Err() == nil {
		asked := time.Now()
		g, next, err := w.ask(w.asking)
		if err == nil {
			g.Asked = asked
			return g, nil
		}
		w.a.NoteRefusal(err)
		if ctx.Err() == nil { // else it is the answer before that counts
			last = err
		}
		pause(ctx, next, w.woken)
	}
	w.giveUp(ctx)
	return lock.Grant{}, last
}

// ask asks once, and returns when to ask again.
func (w *waiter) ask(ctx context.Context) (lock.Grant, time.Duration, error) {
	if !w.placed {
		return w.enter(ctx)
	}
	l, place, err := w.look(ctx)
	if err != nil {
		return lock.Grant{}, jitter(afterward), err
	}
	h := l.find(w.a.Owner)
	switch {
	case h != nil && h.Place == 0: // the reply was lost
		return l.grant(h), 0, nil
	case h != nil && w.a.Limit <= 1:
		if g, err := w.driver.grant(ctx, w.a); g.Fence != 0 || err != nil {
			return g, jitter(afterward), err
		}
		return w.enter(ctx)
	case h != nil, place.number == 0, place.before == 0 && fits(l.held, w.a.Limit), l.now-place.seen > micros(refreshed):
		return w.enter(ctx)
	}
	return lock.Grant{}, w.next(&l, place.before), l.refusal(w.a.Key)
}

// A place is one in the queue.
type place struct{ number, seen, before int64 }

// look reads the key and the waiter's place. The zero lease is free.
func (w *waiter) look(ctx context.Context) (l lease, p place, err error) {
	d := w.driver
	_, err = ask(ctx, d, func(s session) (bool, error) {
		l, p = lease{}, place{}
		fields := append(l.fields(), &p.number, &p.seen, &p.before)
		return row(s.QueryRowContext(ctx, d.texts.watch, w.a.Owner, d.ns, w.a.Key), fields...)
	})
	if err == nil {
		err = l.read(w.a.Key)
	}
	return l, p, err
}

// enter asks with the row locked, and takes a place if the answer is no and it
// has none. One that it has is seen by that.
func (w *waiter) enter(ctx context.Context) (g lock.Grant, next time.Duration, err error) {
	var found lease
	err = w.driver.turn(ctx, w.a.Key, func(t *turn) error {
		if _, err := t.exec(w.driver.texts.refresh, w.a.Owner); err != nil {
			return err
		}
		granted, err := t.ask(w.a)
		if err == nil && !granted {
			err = t.queue(w.a)
		}
		found = t.lease
		return err
	})
	if err != nil {
		return lock.Grant{}, jitter(afterward), err
	}
	if h := found.grantedTo(w.a.Owner); h != nil {
		return found.grant(h), 0, nil
	}
	w.placed = true
	return lock.Grant{}, w.next(&found, found.waiting-1), found.refusal(w.a.Key)
}

// next is when to look again: often if it is the owner's turn next, the more
// rarely the more are before it, and soon after the holder's deadline.
func (w *waiter) next(l *lease, before int64) time.Duration {
	if before == 0 {
		w.pace = min(max(2*w.pace, w.driver.poll/8), w.driver.poll)
	} else {
		w.pace = 0
	}
	wait := w.pace
	if before > 0 {
		wait = min(time.Duration(before)*w.driver.poll, rarest)
	}
	return min(jitter(wait), l.untilFirst()+soon)
}

func jitter(d time.Duration) time.Duration { return d*3/4 + rand.N(d/2+1) }

// giveUp takes the place, and what was granted, out of the store.
func (w *waiter) giveUp(ctx context.Context) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), leaving)
	defer stop()
	for ctx.Err() == nil {
		if w.leave(ctx) == nil {
			return
		}
		pause(ctx, leaving/10, nil)
	} // else the place is passed over, and the lease expires
}

func (w *waiter) leave(ctx context.Context) error {
	return w.driver.turn(ctx, w.a.Key, func(t *turn) error {
		left, err := t.exec(t.driver.texts.leave, w.a.Owner)
		if err != nil {
			return err
		}
		t.waiting -= left
		return t.free(w.a.Owner)
	})
}
