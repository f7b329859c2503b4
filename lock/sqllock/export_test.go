package sqllock

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"time"

	"github.com/cronce/cronce/lock/driver"
)

// Reserved is how long a key is kept for its next owner.
const Reserved = reserved

// ClockFrom makes the driver read its clock, in µs, from an expression, in which {clock} stands for
// the former clock.
func (d *Driver) ClockFrom(expression string) {
	d.grammar.clock = strings.NewReplacer("{clock}", d.grammar.clock, "{divide}", d.grammar.divide).Replace(expression)
	d.texts = d.grammar.texts()
}

// Abandon takes a place for an owner that never answers.
func (d *Driver) Abandon(ctx context.Context, a driver.Acquisition) error {
	g, err := d.acquire(ctx, &a)
	if err == nil {
		return fmt.Errorf("it was granted %+v", g)
	}
	elsewhere := &Driver{db: d.db, grammar: d.grammar, texts: d.texts, ns: d.ns, party: "elsewhere", probes: make(chan struct{}, 1)}
	w := waiter{driver: elsewhere, a: &a}
	_, _, err = w.enter(ctx)
	return err
}

// Place takes a place for an owner, which then probes once. It returns the step with which the owner
// gives up. Wait bounds the time of that step; the context of leave alone does here.
func (d *Driver) Place(ctx context.Context, a driver.Acquisition) (leave func(context.Context) error, err error) {
	w := waiter{driver: d, a: &a}
	for range 2 { // it takes its place, and probes
		_, _, err := w.request(ctx)
		if _, held := errors.AsType[*driver.HeldError](err); !held {
			return nil, fmt.Errorf("the request of %s: %w", a.Owner, err)
		}
	}
	return w.leave, nil
}

// Arrive makes an owner start to wait, and returns the two steps that it takes when it leaves.
func (d *Driver) Arrive(key, owner string) (leave func() int, close func()) {
	d.waiters.join(key, owner)
	d.startListening()
	return func() int { return d.waiters.leave(key, owner) }, d.stopListening
}

// Probes makes an owner start to wait, in a process that listens or does not. The function that it
// returns takes the state that a probe found (the key's fence, the time that the holder had left,
// and how many owners were before this one), and returns when the owner probes next.
func (d *Driver) Probes(key, owner string, listening bool) func(fence int64, left time.Duration, before int64) time.Duration {
	d.waiters.join(key, owner)
	d.listening.ready.Store(listening)
	w := waiter{driver: d, a: &driver.Acquisition{Key: key, Owner: owner}}
	return func(fence int64, left time.Duration, before int64) time.Duration {
		return w.next(&lease{fence: fence, held: []holder{{Until: micros(left)}}}, before)
	}
}

// Abandoned records an owner that could not give its place up.
func (d *Driver) Abandoned(owner string) { d.waiters.abandon(owner) }

// Give hands a grant to an owner of this process.
func (d *Driver) Give(ctx context.Context, key, owner string, g driver.Grant) {
	d.give(ctx, key, owner, g)
}

// TakenBack reports whether the database did nothing of the request.
func TakenBack(err error) bool { return takenBack(err) }

// MaintenanceDue makes the maintenance due with the next request that starts it.
func (d *Driver) MaintenanceDue() {
	d.maintenance.mu.Lock()
	defer d.maintenance.mu.Unlock()
	d.maintenance.next = time.Time{}
}

// MaintenanceIn returns when the maintenance is due.
func (d *Driver) MaintenanceIn() time.Duration {
	d.maintenance.mu.Lock()
	defer d.maintenance.mu.Unlock()
	return time.Until(d.maintenance.next)
}

// Notified reports whether notifications arrive, as far as the driver knows.
func (d *Driver) Notified() bool { return d.listening.ready.Load() }

// MaintenanceDone returns once the maintenance that was started is done.
func (d *Driver) MaintenanceDone() { d.maintenance.busy.Wait() }

// SweepPlan returns the statement that finds the leases to remove, and its arguments.
func (d *Driver) SweepPlan(now int64) (text string, args []any) {
	return d.texts.idle, []any{d.ns, now/micros(day) - 1, now - micros(unused), choreRows}
}

// KeepNodes sets how many nodes of each kind are kept.
func (d *Driver) KeepNodes(n int) { d.keptNodes = n }

// NodesPlans returns the statements that read nodes at an instant, and their arguments.
func (d *Driver) NodesPlans(us int64) map[string][]any {
	s := spans(us)
	return map[string][]any{d.texts.next: {d.ns, s[0].from, s[0].to, s[0].most, 0}, d.texts.last: {d.ns, s[1].from, s[1].to, s[1].most, 0}}
}

// QueuePlans returns the statements that read a queue, and their arguments: the statements that
// read its head, and the probe of a waiter.
func (d *Driver) QueuePlans(key string, now int64) (head map[string][]any, probe string, args []any) {
	head = map[string][]any{d.texts.first: {d.ns, key, now}}
	if d.texts.handOver != "" {
		head[d.texts.handOver] = []any{d.ns, key, "n/1", 1, 1, d.party, micros(reserved), false, ""}
	}
	return head, d.texts.watch, []any{"n/1", d.ns, key}
}

// Turn does something while the row of a key is locked, and saves the row.
func (d *Driver) Turn(ctx context.Context, key string, do func()) error {
	return d.inKeyTx(ctx, key, func(t *keyTx) error { do(); t.changed = true; return nil })
}

// Clock returns the expression that reads the clock.
func (d *Driver) Clock() string { return d.grammar.clock }

// Statements returns all statements that a driver of a dialect sends, and the statements that
// create its tables.
func Statements(dialect Dialect) ([]string, error) {
	g := grammars[dialect]
	steps, err := stepsOf(dialect)
	var all []string
	for _, step := range steps {
		all = append(all, step.statements...)
	}
	for _, text := range reflect.ValueOf(g.texts()).Fields() {
		all = append(all, fmt.Sprint(text)) // of a put: the text before and behind the rows
	}
	for _, m := range []rowAccess{reading, locking, opening} {
		text, _ := (&Driver{grammar: g}).query(m, []string{"key"})
		all = append(all, text)
	}
	for _, s := range settings[dialect] {
		all = append(all, s.query)
	}
	return all, err
}

// MakeTables runs the first n of the statements that create the tables, like a process that is
// killed then, and returns how many statements there are.
func (d *Driver) MakeTables(ctx context.Context, n int) (int, error) {
	var all []string
	steps, err := stepsOf(d.grammar.dialect)
	for _, step := range steps {
		all = append(all, step.statements...)
	}
	for _, statement := range all[:n] {
		if _, err := d.db.ExecContext(ctx, statement); err != nil {
			return len(all), err
		}
	}
	return len(all), err
}

// MissingSetting returns the result of a check for a setting that the database does not have.
func MissingSetting(ctx context.Context, db *sql.DB) (bad bool, err error) {
	s := setting{query: "SELECT @@cronce_has_no_such_setting"}
	return s.bad(ctx, db, &grammar{})
}

// Remind sends a last request for a sign of life, as a waiter does that has probed at now, to all owners of a queue that
// got their first request up to asked.
func (d *Driver) Remind(ctx context.Context, key string, now, asked int64) error {
	w := waiter{driver: d, a: &driver.Acquisition{Key: key}}
	return w.remind(ctx, &lease{now: now}, math.MaxInt64, asked)
}

// A Watch is the watch of the waiters of a process for a key.
type Watch struct{ watch }

// NewWatch returns a Watch that has seen no answer.
func NewWatch() *Watch { return new(Watch) }

// Saw and Missed call the methods of the watch.
func (w *Watch) Saw(now int64, took time.Duration) int64 { return w.observe(now, took) }
func (w *Watch) Missed()                                 { w.missed() }
