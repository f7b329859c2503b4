package stock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

const (
	maxWritten = 200                   // orders that one transaction writes for callers that wait
	writePause = 20 * time.Millisecond // after which an order is written again that the book had no room for
)

// A bookWriter writes records into the book for callers that wait for it. Those that come
// while a transaction is under way go into the next one together. One goroutine writes
// for as long as any waits: a caller goes on at the end of its own time, also while the
// database does not answer. The goroutine ends with the bookWriter: see Sale.Close.
type bookWriter struct {
	mu      sync.Mutex
	busy    bool // the goroutine runs
	waiting []*entry
	stop    context.CancelCauseFunc // ends the transaction; nil: there was none
	closed  bool
	writing sync.WaitGroup
}

var errClosed = errors.New("the sale is closed")

// Close ends the transactions that the sale still makes for callers that did not wait for them: of Put, SetOffer,
// Supply or Delete, and, with Options.Settled, of Reserve, Pay or Cancel. It returns when they have ended. The
// store has the order or the product, and settleOrders writes it. From then on these calls end with ErrUnsettled,
// once the store has done what they ask for. A sale without Options.Book has nothing to end. It may be called
// again. It closes neither the client nor the database.
func (s *Sale) Close() {
	s.orderWriter.close()
	s.productWriter.close()
}

func (c *bookWriter) close() {
	c.mu.Lock()
	c.closed = true
	if c.stop != nil {
		c.stop(errClosed)
	}
	c.mu.Unlock()
	c.writing.Wait()
}

// An entry is a record that a caller waits for, or a product that it has changed.
type entry struct {
	record Record
	sku    string // of the product; empty: it is a record
	at     point  // of the shelf that it is on
	err    error  // what became of it, once it was written
	done   chan struct{}
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
	return s.await(ctx, &s.orderWriter, entry{record: r, at: at}, s.writeRecords)
}

// await has an entry written, and again while the book has no room for it.
func (s *Sale) await(ctx context.Context, c *bookWriter, e entry, writeEntries func(context.Context, []*entry)) error {
	ctx, stop := context.WithTimeout(ctx, askTime)
	defer stop()
	for {
		try := e
		try.done = make(chan struct{})
		err := c.write(ctx, &try, writeEntries)
		if err == nil || errors.Is(err, ErrConflict) {
			return err
		}
		if _, is := unbalanced(err); !is {
			return fmt.Errorf("%w: %s", ErrUnsettled, err.Error())
		}
		select { // what gives it room is on its way to the book, such as an order that has expired
		case <-time.After(writePause):
		case <-ctx.Done():
			return fmt.Errorf("%w: %s", ErrUnsettled, err.Error())
		}
	}
}

// write has a record written, and returns what became of it, or that ctx has ended.
func (c *bookWriter) write(ctx context.Context, e *entry, writeEntries func(context.Context, []*entry)) error {
	if !c.add(ctx, e, writeEntries) {
		return errClosed
	}
	select {
	case <-e.done:
		return e.err
	case <-ctx.Done():
	}
	c.mu.Lock()
	c.waiting = slices.DeleteFunc(c.waiting, func(other *entry) bool { return other == e })
	c.mu.Unlock()
	select {
	case <-e.done: // in the same moment
		return e.err
	default:
		return context.Cause(ctx) // settleOrders writes it, unless it is being written
	}
}

// add lets an entry wait, and begins to write if that is not under way. It reports whether the bookWriter still writes.
func (c *bookWriter) add(ctx context.Context, e *entry, writeEntries func(context.Context, []*entry)) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.waiting = append(c.waiting, e)
	if !c.busy {
		c.busy = true
		ctx, c.stop = context.WithCancelCause(context.WithoutCancel(ctx))
		c.writing.Go(func() { c.writeAll(ctx, writeEntries) })
	}
	return true
}

// writeAll writes what waits, until nothing does. The transaction is that of many callers: it does
// not end with the context of one, but with the bookWriter.
func (c *bookWriter) writeAll(ctx context.Context, writeEntries func(context.Context, []*entry)) {
	for {
		c.mu.Lock()
		some := slices.Clone(c.waiting[:min(maxWritten, len(c.waiting))])
		c.waiting = slices.Delete(c.waiting, 0, len(some))
		c.busy = len(some) > 0
		c.mu.Unlock()
		if len(some) == 0 {
			return
		}
		bounded, stop := context.WithTimeout(ctx, askTime)
		writeEntries(bounded, some)
		stop()
		for _, e := range some {
			close(e.done)
		}
	}
}

// writeRecords writes entries in one transaction, or each in its own when that is refused. Where
// they need what was put in a moment ago, that goes before them.
func (s *Sale) writeRecords(ctx context.Context, entries []*entry) {
	err := s.writeRecordsOnce(ctx, entries, false)
	_, bring := unbalanced(err)
	if bring {
		err = s.writeRecordsOnce(ctx, entries, true)
	}
	if err == nil || len(entries) == 1 {
		return
	}
	for i := range entries {
		_ = s.writeRecordsOnce(ctx, entries[i:i+1], bring) // the entry has it
	}
}

func (s *Sale) writeRecordsOnce(ctx context.Context, entries []*entry, bring bool) error {
	records := make([]Record, 0, len(entries))
	seen := map[string]bool{}
	for _, e := range entries {
		if !seen[e.record.ID] {
			seen[e.record.ID] = true
			records = append(records, e.record)
		}
	}
	instead := map[string]bool{}
	to, err := together(entries)
	if err == nil {
		err = s.options.Book.transact(ctx, s.ID(), func(tx *transaction) error {
			if err := tx.turn(ctx, position{epoch: to.epoch, changes: to.changes}); err != nil {
				return err
			}
			if bring { // a lower total is left to its seller, and to the settlement
				if _, err := s.bring(ctx, tx, to, productsOf(entries)); err != nil {
					return err
				}
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
