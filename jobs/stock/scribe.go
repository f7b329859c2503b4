package stock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

const (
	maxScribed  = 200                   // orders that one transaction writes for callers that wait
	scribePause = 20 * time.Millisecond // after which an order is written again that the book had no room for
)

// A scribe writes records into the book for callers that wait for it. Those that come
// while a transaction is under way go into the next one together: one caller writes
// for all.
type scribe struct {
	mu      sync.Mutex
	busy    bool // some caller writes
	waiting []*entry
}

// An entry is a record that a caller waits for.
type entry struct {
	record Record
	at     point     // of the shelf that the record is on
	turn   chan bool // true: this caller is to write next; false: err is what became of it
	err    error
}

// epoch is that of the shelf, as this process knows it.
func (s *Sale) epoch() string {
	s.shelf.mu.Lock()
	defer s.shelf.mu.Unlock()
	return s.shelf.seen.epoch
}

// settle returns nil when the book has the record, or what became of it since. The
// point is that of the store's answer: after a rebuild the shelf may not have the
// record, and the book must not get it.
func (s *Sale) settle(ctx context.Context, at point, r Record) error {
	if !s.options.Settled {
		return nil
	}
	ctx, stop := context.WithTimeout(ctx, askTime)
	defer stop()
	for {
		err := s.scribe.write(ctx, &entry{record: r, at: at, turn: make(chan bool, 1)}, s.inscribe)
		if err == nil || errors.Is(err, ErrConflict) {
			return err
		}
		if _, is := unbalanced(err); !is {
			return fmt.Errorf("%w: %s", ErrUnsettled, err.Error())
		}
		select { // what gives it room is on its way to the book
		case <-time.After(scribePause):
		case <-ctx.Done():
			return fmt.Errorf("%w: %s", ErrUnsettled, err.Error())
		}
	}
}

// write has a record written, by this caller or by one that writes already.
func (c *scribe) write(ctx context.Context, e *entry, inscribe func(context.Context, []*entry)) error {
	c.mu.Lock()
	c.waiting = append(c.waiting, e)
	if !c.busy {
		c.busy = true
		e.turn <- true
	}
	c.mu.Unlock()
	select {
	case mine := <-e.turn:
		if mine {
			c.writeAll(ctx, inscribe)
		}
		return e.err
	case <-ctx.Done():
	}
	c.mu.Lock()
	select {
	case mine := <-e.turn: // in the same moment
		c.mu.Unlock()
		if mine {
			c.writeAll(ctx, inscribe)
		}
		return e.err
	default:
		e.turn = nil // its turn passes it by; it is written if another caller writes it
		c.mu.Unlock()
		return context.Cause(ctx)
	}
}

// writeAll writes what waits, the caller's own entry among it, and lets the next
// caller write what came meanwhile. The transaction is that of all: it does not end
// with one caller's context.
func (c *scribe) writeAll(ctx context.Context, inscribe func(context.Context, []*entry)) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), askTime)
	defer stop()
	c.mu.Lock()
	some := c.waiting[:min(maxScribed, len(c.waiting))]
	c.waiting = c.waiting[len(some):]
	c.mu.Unlock()
	inscribe(ctx, some)
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range some {
		if e.turn != nil {
			select {
			case e.turn <- false:
			default: // the caller's own
			}
		}
	}
	c.busy = false
	for len(c.waiting) > 0 {
		if next := c.waiting[0]; next.turn != nil {
			c.busy = true
			next.turn <- true
			return
		}
		c.waiting = c.waiting[1:] // its caller has gone; settleOrders writes it
	}
}

// inscribe writes entries in one transaction, or each in its own when that is refused.
func (s *Sale) inscribe(ctx context.Context, entries []*entry) {
	err := s.inscribeOnce(ctx, entries)
	if err == nil || len(entries) == 1 {
		return
	}
	for i := range entries {
		_ = s.inscribeOnce(ctx, entries[i:i+1]) // the entry has it
	}
}

func (s *Sale) inscribeOnce(ctx context.Context, entries []*entry) error {
	var err error
	records := make([]Record, 0, len(entries))
	seen := map[string]bool{}
	to := position{epoch: entries[0].at.epoch}
	for _, e := range entries {
		if e.at.epoch != entries[0].at.epoch {
			err = errors.New("the shelf was rebuilt in between") // each by itself then
		}
		to.changes = max(to.changes, e.at.changes)
		if !seen[e.record.ID] {
			seen[e.record.ID] = true
			records = append(records, e.record)
		}
	}
	instead := map[string]bool{}
	if err == nil {
		err = s.options.Book.transact(ctx, s.ID(), func(tx *transaction) error {
			if err := tx.turn(ctx, to); err != nil {
				return err
			}
			found, err := find(ctx, tx.tx, tx.dialect, tx.sale, ids(records))
			if err != nil {
				return err
			}
			p := plan(records, found, true)
			for i, d := range p.done {
				instead[d.id] = d.instead != "" && !found[d.id].later(records[i])
			}
			return tx.writePlan(ctx, p)
		})
	}
	for _, e := range entries {
		if e.err = err; err == nil && instead[e.record.ID] {
			e.err = fmt.Errorf("the book has it otherwise: %w", ErrConflict)
		}
	}
	return err
}
