package sqllock

import (
	"context"
	"math"
	"time"
)

const (
	// silence is how long an owner may owe a sign of life while the database answers. After that
	// its place is passed over. An owner that is alive probes at least once a second.
	silence = 3 * time.Second
	// maxLatency is the longest time of a request during which the database certainly ran: during a
	// slower request it may have stood still.
	maxLatency = time.Second / 2
	// apart is the longest time between two probes: the slowest pace, with its jitter.
	apart = farthest * 5 / 4
	// once is the time that silent owners have from the last request for a sign of life. That
	// request shows that the database can be written to, and takes at most maxLatency of this time.
	once = 2 * maxLatency
)

// waits returns the condition under which a place is not passed over at an instant. Its owner owes
// no sign of life (asked_us is 0), or was sent one request for it (asked_us is above 0), or was
// sent a second request at -asked_us, less than silence ago.
//
// A waiter that comes later cannot distinguish a database that stood still from an owner that is
// silent. So an owner is passed over only after a waiter has watched the database answer all the
// time, or after a second request was sent once the database answered again.
func waits(asked, now string) string {
	return "(" + asked + " >= 0 OR " + asked + " + " + now + " < {silence})"
}

// A watch records since when the database has answered the waiters of this process for a key. The
// zero value has seen no answer.
type watch struct{ since, last int64 } // µs of the database's clock

// observe records an answer that was read at now and took a time. If the database has answered for as
// long as silence, observe returns the latest instant at which a request for a sign of life must have
// been sent to count as unanswered. Otherwise it returns 0.
func (w *watch) observe(now int64, took time.Duration) (asked int64) {
	if took > maxLatency || w.last-now > micros(maxLatency) || now-w.last > micros(apart) {
		w.since = now
	}
	w.last = now
	if now-w.since < micros(silence) {
		return 0
	}
	return now - micros(silence)
}

// missed records that a request was not answered in time.
func (w *watch) missed() { *w = watch{} }

// remind sends a last request for a sign of life to the owners up to a place that got their first
// request up to an instant: they were silent for long enough. If the statement reaches the database
// late, it changes nothing, since the database stood still after all.
func (w *waiter) remind(ctx context.Context, l *lease, number, asked int64) error {
	return w.send(ctx, w.driver.texts.remind, micros(silence-once)-l.now, w.driver.ns, w.a.Key, number, asked, l.now+micros(maxLatency))
}

// send sends a statement that writes. If it is not answered in time, waiters elsewhere could not
// write either.
func (w *waiter) send(ctx context.Context, text string, args ...any) error {
	sent := time.Now()
	_, err := withSession(ctx, w.driver, func(s session) (int64, error) { return exec(ctx, s, text, args...) })
	if err != nil || time.Since(sent) > maxLatency {
		w.driver.waiters.missed(w.a.Key)
	}
	return err
}

// remind sends a second request for a sign of life to owners that have not answered the first for 3
// s, up to mostProbed places behind the first. This transaction has not watched the database, which may have stood
// still.
func (t *keyTx) remind(first *place) error {
	if first.asked <= 0 || t.now-first.asked < micros(silence) {
		return nil
	}
	_, err := exec(t.ctx, t.session, t.driver.texts.remind, -t.now, t.driver.ns, t.key,
		first.number+mostProbed, t.now-micros(silence), int64(math.MaxInt64))
	return err
}
