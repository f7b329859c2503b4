package sqllock

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/cronce/cronce/internal/wait"
	"github.com/cronce/cronce/lock/driver"
)

const (
	rarest    = time.Second            // the shortest interval of probes by the first waiter of a process, once nothing changes
	slowest   = rarest * 4 / 3         // the pace whose jitter begins with rarest
	farthest  = 5 * time.Second        // the pace of the first waiter if many owners are before it
	suspicion = 5 * time.Second        // the shortest interval of its requests for a sign of life from the owners before it
	others    = time.Minute            // the interval of probes by the other waiters of the process
	soon      = 5 * time.Millisecond   // the delay of a probe after the deadline of a holder
	afterward = 100 * time.Millisecond // the pause after doubt
	maxProbes = 4                      // how many waiters of a process probe at the same time
	leaving   = time.Second            // the time to give a place up
)

// Wait takes a place in the queue of the key and returns when the key was granted. After doubt it
// repeats its request. When ctx ends, it gives the place up, which may take two seconds. A place
// that it cannot give up is passed over.
func (d *Driver) Wait(ctx context.Context, a driver.Acquisition) (driver.Grant, error) {
	a.Barge = false
	if err := ctx.Err(); err != nil {
		return driver.Grant{}, fmt.Errorf("sqllock: wait: %w", err)
	}
	asking, stop := lingering(ctx)
	defer stop()
	var held error = &driver.HeldError{Key: a.Key} // another owner of this process waits for the key
	if !d.waiters.line(a.Key) {
		asked := time.Now()
		g, err := d.acquire(asking, &a) // most keys are free
		if err == nil {
			g.Asked = asked
			return g, nil
		}
		held = err
	}
	w := waiter{asking: asking, driver: d, a: &a, woken: d.waiters.join(a.Key, a.Owner)}
	d.startListening()
	defer func() {
		if d.waiters.leave(a.Key, a.Owner) == 0 {
			d.stopListening()
		}
	}()
	g, err := w.wait(ctx, held)
	if err != nil {
		return driver.Grant{}, fmt.Errorf("sqllock: wait: %w", contextError(ctx, err))
	}
	return g, nil
}

// lingering returns a context that ends some time after ctx. A request that is cut off may still be
// carried out, after its owner has given up. So the last request gets time to end by itself.
func lingering(ctx context.Context) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		_ = wait.Sleep(longer, grace)
		cancel()
	})
	return longer, func() { stop(); cancel() }
}

// A waiter is an owner that waits.
type waiter struct {
	asking context.Context // the context of its requests
	driver *Driver
	a      *driver.Acquisition
	woken  *woken
	kept   bool // it was notified that the key is kept for it
	placed bool // it has a place, as far as it knows
	shared bool // several owners share the key, as far as it knows
	pace   time.Duration
	fence  int64 // the last fence of the key at the last probe
	before int64 // how many owners were before it then
	until  int64 // the earliest deadline of the holders then, in µs of the store's clock
	asked  time.Time
}

// wait sends requests until the owner is granted the key. last is the answer so far.
func (w *waiter) wait(ctx context.Context, last error) (driver.Grant, error) {
	for ctx.Err() == nil {
		g, next, err := w.askInTurn(w.asking)
		if err == nil {
			return g, nil
		}
		w.a.NoteRefusal(err)
		if !wait.Ended(ctx) { // otherwise the answer before counts
			last = err
		}
		if g := w.sleep(ctx, next); g.Fence != 0 && ctx.Err() == nil {
			return g, nil
		}
	}
	w.giveUp(ctx)
	return driver.Grant{}, last
}

// sleep returns when it is time for the next request, with the grant that the owner got meanwhile,
// if any. An owner that has only become the first of its process probes after a while: the key may
// be passed to it inside before that.
func (w *waiter) sleep(ctx context.Context, d time.Duration) driver.Grant {
	for wait.Woken(ctx, d, w.woken.call) {
		g, kept := w.driver.waiters.given(w.woken)
		switch {
		case g.Fence != 0:
			return g
		case kept:
			w.kept = true
			return driver.Grant{}
		}
		d = min(d, jitter(w.driver.poll))
	}
	g, _ := w.driver.waiters.given(w.woken)
	return g
}

// askInTurn calls ask once few other owners of this process do: a release must not queue for a
// connection behind many that wait for it. A grant that was handed over meanwhile was requested
// later, so its time counts.
func (w *waiter) askInTurn(ctx context.Context) (driver.Grant, time.Duration, error) {
	select {
	case w.driver.probes <- struct{}{}:
		defer func() { <-w.driver.probes }()
	case <-ctx.Done():
		return driver.Grant{}, 0, ctx.Err()
	}
	asked := time.Now()
	g, next, err := w.request(ctx)
	if err != nil {
		return g, next, err
	}
	g.Asked = asked
	if given, _ := w.driver.waiters.given(w.woken); given.Fence == g.Fence {
		g = given
	}
	return g, next, nil
}

// request sends one request, and returns when to send the next.
func (w *waiter) request(ctx context.Context) (driver.Grant, time.Duration, error) {
	if !w.placed {
		return w.enter(ctx)
	}
	if w.kept && w.a.Limit <= 1 {
		w.kept = false
		if g, err := w.driver.grant(ctx, w.a); g.Fence != 0 || err != nil {
			return g, jitter(afterward), err
		}
	}
	l, at, found, err := w.probe(ctx)
	if err != nil {
		return driver.Grant{}, jitter(afterward), err
	}
	w.shared = l.holders != ""
	w.wakeOthers(&l)
	h := l.find(w.a.Owner)
	switch {
	case h != nil && h.Place == 0: // the reply to the grant was lost
		if at.number != 0 {
			_, _ = w.deletePlace(ctx) // otherwise the place is passed over
		}
		return l.grant(h), 0, nil
	case !found: // the key was never used
		return w.acquire(ctx)
	case h != nil || l.owner == w.a.Owner && l.place != 0: // the key is kept for it, or was until just now
		if w.a.Limit <= 1 {
			if g, err := w.driver.grant(ctx, w.a); g.Fence != 0 || err != nil {
				return g, jitter(afterward), err
			}
		}
		return w.acquire(ctx)
	case l.revived:
		return w.acquire(ctx)
	case at.number == 0:
		return w.enter(ctx)
	case at.asked != 0:
		err = w.answer(ctx)
	case at.owing != 0 && at.owing <= at.silent:
		err = w.remind(ctx, &l, at.number-1, at.silent)
	case fits(l.held, w.a.Limit) && at.before == 0:
		return w.acquire(ctx)
	case fits(l.held, w.a.Limit):
		err = w.suspect(ctx, &l, at.number)
	}
	if err != nil {
		return driver.Grant{}, jitter(afterward), err
	}
	return driver.Grant{}, w.next(&l, at.before), l.refusal(w.a.Key)
}

// wakeOthers wakes the owners of this process that hold the key and may not know it: they do not
// probe themselves.
func (w *waiter) wakeOthers(l *lease) {
	for i := range l.held {
		if owner := l.held[i].Owner; owner != w.a.Owner {
			w.driver.waiters.wake(owner)
		}
	}
}

// A position is the place of a waiter, as a probe found it.
type position struct {
	number int64
	asked  int64 // since when its owner owes a sign of life; 0: it owes none; see waits
	before int64 // how many places before it are not passed over
	owing  int64 // the earliest time at which an owner before it got its first request for a sign of life; 0: none got one
	silent int64 // owners that got the request up to this time were silent for long enough; 0: not known
}

// probe reads the key and the waiter's place. The zero lease is free.
func (w *waiter) probe(ctx context.Context) (l lease, at position, found bool, err error) {
	d := w.driver
	sent := time.Now()
	found, err = withSession(ctx, d, func(s session) (bool, error) {
		l, at = lease{}, position{}
		fields := append(l.fields(), &at.number, &at.asked, &at.before, &at.owing)
		return row(s.QueryRowContext(ctx, d.texts.watch, w.a.Owner, d.ns, w.a.Key), fields...)
	})
	if err != nil {
		d.waiters.missed(w.a.Key)
		return l, at, found, err
	}
	at.silent = d.waiters.observe(w.a.Key, l.now, time.Since(sent))
	err = l.read(w.a.Key) // not in the return: Go may copy l before it evaluates a call there
	return l, at, found, err
}

// enter takes a place, with one statement that locks no other row. If the owner has a place, it
// stays the same. A release at the same moment may not see the place, so a probe follows soon.
func (w *waiter) enter(ctx context.Context) (driver.Grant, time.Duration, error) {
	d := w.driver
	_, err := withSession(ctx, d, func(s session) (int64, error) {
		return exec(ctx, s, d.texts.enter, d.ns, w.a.Key, w.a.Owner, d.party, w.a.Limit, micros(w.a.TTL), w.a.Fence)
	})
	w.placed = true
	if err != nil {
		return driver.Grant{}, jitter(afterward), err
	}
	next := d.poll
	if !d.waiters.first(w.a.Key, w.a.Owner) {
		next = others
	}
	return driver.Grant{}, jitter(next), &driver.HeldError{Key: w.a.Key}
}

// acquire requests the key with its row locked, and thereby also serves the owners before the waiter.
func (w *waiter) acquire(ctx context.Context) (driver.Grant, time.Duration, error) {
	g, err := w.driver.acquireLocked(ctx, w.a)
	if _, held := errors.AsType[*driver.HeldError](err); held {
		return g, jitter(w.driver.poll), err
	}
	return g, jitter(afterward), err
}

// answer gives the sign of life for all owners of this process.
func (w *waiter) answer(ctx context.Context) error {
	d, owner := w.driver, w.a.Owner
	return w.send(ctx, d.texts.here, d.party, owner, micros(w.a.TTL), owner, w.a.Fence, d.ns, w.a.Key, owner, d.party)
}

// suspect requests a sign of life from the owners before the waiter, since they keep it from a key
// that it could have. If the key is free, suspect passes it to the first of them.
func (w *waiter) suspect(ctx context.Context, l *lease, number int64) error {
	bound := suspicion
	if len(l.held) == 0 {
		bound = rarest
	}
	if time.Since(w.asked) < bound {
		return nil
	}
	w.asked = time.Now()
	d := w.driver
	if len(l.held) == 0 {
		return d.inKeyTx(ctx, w.a.Key, (*keyTx).serve)
	}
	return w.send(ctx, d.texts.challenge, l.now, d.ns, w.a.Key, number-1)
}

// next returns when to probe again. The first waiter of a process probes for all: often while the
// key changes hands and few owners are before it, and less often the longer the key does not change
// hands. It also probes soon after the holder's deadline, unless the holder has renewed since the
// probe before this one: so a lease that is shorter than a second costs no more probes than a
// longer one. With a working listener, probes only make up for lost notifications.
func (w *waiter) next(l *lease, before int64) time.Duration {
	d := w.driver
	if !d.waiters.first(w.a.Key, w.a.Owner) {
		return jitter(others)
	}
	if l.fence != w.fence || before != w.before {
		w.pace = 0
	}
	until := l.now + micros(l.untilFirst())
	renewed := l.fence == w.fence && w.until != 0 && until > w.until
	w.fence, w.before, w.until = l.fence, before, until
	w.pace = min(max(w.pace*3/2, d.poll/4), slowest)
	wait := max(w.pace, min(time.Duration(before)*d.poll, farthest))
	if d.listening.ready.Load() {
		wait = max(wait, slowest)
	}
	deadline := l.untilFirst() + soon + time.Duration(min(before, mostProbed))*soon
	if renewed {
		deadline = max(deadline, rarest)
	}
	return min(jitter(wait), deadline)
}

func jitter(d time.Duration) time.Duration { return d*3/4 + rand.N(d/2+1) }

// giveUp removes the place and the grant, if any, from the store.
func (w *waiter) giveUp(ctx context.Context) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), leaving)
	defer stop()
	for ctx.Err() == nil {
		if w.leave(ctx) == nil {
			return
		}
		_ = wait.Sleep(ctx, leaving/10)
	} // otherwise the place is passed over, and the lease expires
	w.driver.waiters.abandon(w.a.Owner)
}

// leave deletes the place. If there was none, the key was passed to the owner, and leave frees it.
// If the key is shared, other owners may fit once the place is gone, so leave serves them.
func (w *waiter) leave(ctx context.Context) error {
	d := w.driver
	left, err := w.deletePlace(ctx)
	if err != nil || left > 0 && !w.shared && w.a.Limit <= 1 {
		return err
	}
	return d.inKeyTx(ctx, w.a.Key, func(t *keyTx) error { return t.free(w.a.Owner) })
}

// deletePlace deletes the place, and returns how many rows were deleted.
func (w *waiter) deletePlace(ctx context.Context) (int64, error) {
	d := w.driver
	return withSession(ctx, d, func(s session) (int64, error) {
		return exec(ctx, s, d.texts.leave, d.ns, w.a.Key, w.a.Owner)
	})
}
