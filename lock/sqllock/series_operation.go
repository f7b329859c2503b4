package sqllock

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cronce/cronce/lock/driver"
)

// maxBatch is how many requests go into one transaction.
const maxBatch = 200

// An operation holds the differences between the kinds of requests about series.
type operation[Q, A any] struct {
	name  string
	opens bool // it creates rows, and records revisions
	reads bool // it writes nothing
	key   func(*Q) string
	apply func(r *record, us int64, q *Q) (A, error)
	doubt func(*Q, error) A
}

// send answers each request, in the order of qs. Requests for the same series are judged in their
// order.
func (o *operation[Q, A]) send(ctx context.Context, d *Driver, qs []Q) []A {
	out := make([]A, len(qs))
	order := make([]int, len(qs))
	for i := range order {
		order[i] = i
	}
	// Transactions that lock rows in the same order cannot deadlock.
	slices.SortStableFunc(order, func(a, b int) int { return strings.Compare(o.key(&qs[a]), o.key(&qs[b])) })
	for some := range slices.Chunk(order, maxBatch) {
		answers, err := o.some(ctx, d, qs, some)
		for k, i := range some {
			if err != nil {
				out[i] = o.doubt(&qs[i], failed(o.name, err))
				continue
			}
			out[i] = answers[k]
		}
	}
	return out
}

// some answers the requests at some indexes of qs, all at one instant.
func (o *operation[Q, A]) some(ctx context.Context, d *Driver, qs []Q, at []int) ([]A, error) {
	keys := make([]string, len(at))
	for k, i := range at {
		keys[k] = o.key(&qs[i])
	}
	if o.reads {
		return withSession(ctx, d, func(s session) ([]A, error) {
			b, err := d.read(ctx, s, reading, keys)
			if err != nil {
				return nil, err
			}
			return o.judge(b, qs, at), nil
		})
	}
	return step(ctx, d, func(s session) ([]A, error) {
		b, err := d.lockSeries(ctx, s, keys, o.opens)
		if err != nil {
			return nil, err
		}
		answers := o.judge(b, qs, at)
		return answers, b.save(ctx, s, o.opens)
	})
}

// judge applies the rules. A row that cannot be read is doubt, and is left unchanged.
func (o *operation[Q, A]) judge(b *batch, qs []Q, at []int) []A {
	answers := make([]A, len(at))
	for k, i := range at {
		r := b.record(o.key(&qs[i]))
		if r.err == nil {
			answers[k], r.err = o.apply(r, b.us, &qs[i])
		}
		if r.err != nil {
			answers[k] = o.doubt(&qs[i], notDone(fmt.Errorf("%w: %w", driver.ErrUnreadable, r.err)))
		}
	}
	return answers
}

// notDone marks an error of a database that did nothing, or rolls back: nothing was committed.
func notDone(err error) error { return driver.NotDone(err) }
