package sqllock

import (
	"context"
	"math"
	"time"
)

const (
	// silence is how long an owner may owe a sign of life while the database answers. Then
	// its place is passed over. It probes at least once a second.
	silence = 3 * time.Second
	// prompt is how long a request may take: of what is slower the database may have stood
	// still in between.
	prompt = time.Second / 2
	// apart is how long two probes may lie apart: the slowest pace, with its jitter.
	apart = farthest * 5 / 4
	// once is how long owners that were silent have from the last question on, which shows
	// that the database can be written to. The question takes prompt of it at most.
	once = 2 * prompt
)

// waits is the condition that a place is not passed over at an instant: its owner owes no
// sign of life (asked_us is 0), or was asked for one (above 0), or was asked once more at
// -asked_us, less than silence ago.
//
// For a waiter that comes later, a database that stood still looks the same as an owner that is silent.
// So it takes a waiter that has watched the database answer all the time, or a second question
// once the database answers again.
func waits(asked, now string) string {
	return "(" + asked + " >= 0 OR " + asked + " + " + now + " < {silence})"
}

// A watch is since when the database has answered those of this process that wait for a
// key. The zero value has seen no answer.
type watch struct{ since, last int64 } // µs of the database's clock

// saw notes an answer of an instant that took a time, and returns the latest instant of a
// question for a sign of life that was unanswered for as long as silence while the database
// answered; 0 if the database has not answered for so long.
func (w *watch) saw(now int64, took time.Duration) (asked int64) {
	if took > prompt || w.last-now > micros(prompt) || now-w.last > micros(apart) {
		w.since = now
	}
	w.last = now
	if now-w.since < micros(silence) {
		return 0
	}
	return now - micros(silence)
}

// missed notes that a request was not answered in time.
func (w *watch) missed() { *w = watch{} }

// remind asks those up to a place for the last time that were asked up to an instant: they
// were silent for long enough. A request that comes late changes nothing, since the database
// stood still after all.
func (w *waiter) remind(ctx context.Context, l *lease, number, asked int64) error {
	return w.send(ctx, w.driver.texts.remind, micros(silence-once)-l.now, w.driver.ns, w.a.Key, number, asked, l.now+micros(prompt))
}

// send sends a statement that writes. One that is not answered in time shows that those
// elsewhere could not write either.
func (w *waiter) send(ctx context.Context, text string, args ...any) error {
	sent := time.Now()
	_, err := ask(ctx, w.driver, func(s session) (int64, error) { return exec(ctx, s, text, args...) })
	if err != nil || time.Since(sent) > prompt {
		w.driver.waiters.missed(w.a.Key)
	}
	return err
}

// remind asks those once more that were asked for long and did not answer, up to a crowd
// behind the first: a turn has not watched the database, which may have stood still.
func (t *turn) remind(first *place) error {
	if first.asked <= 0 || t.now-first.asked < micros(silence) {
		return nil
	}
	_, err := exec(t.ctx, t.session, t.driver.texts.remind, -t.now, t.driver.ns, t.key,
		first.number+crowd, t.now-micros(silence), int64(math.MaxInt64))
	return err
}
