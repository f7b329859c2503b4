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
	maxWritten = 200                   // number of entries that one transaction writes
	writePause = 20 * time.Millisecond // pause before an entry is written again for which the book had no room
)

// A bookWriter writes entries into the book for callers that wait. Entries that arrive during a
// transaction share the next one. One goroutine writes as long as entries wait, so that a caller
// can return at the end of its own time even if the database does not answer. Sale.Close ends the
// goroutine.
type bookWriter struct {
	mu      sync.Mutex
	busy    bool // the goroutine is running
	waiting []*entry
	stop    context.CancelCauseFunc // ends the running transaction; nil: no transaction was begun
	closed  bool
	writing sync.WaitGroup
}

var errClosed = errors.New("the sale is closed")

// Close ends the transactions that still run for callers that did not wait for them: of Put
// or SetOffer and, with Options.Settled, of Reserve, Pay or Cancel. It returns when
// they have ended. The store has those orders and products, and settleOrders writes them. Later
// calls are executed by the store and then return ErrUnsettled. Close does nothing for a sale
// without Options.Book. It may be called again. It closes neither the client nor the database.
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

// An entry is a record, or a product, that a caller waits for.
type entry struct {
	record Record
	sku    string // the product; empty: the entry is a record
	at     point  // the shelf at the store's answer
	err    error  // the result, once done is closed
	done   chan struct{}
}

// epoch returns the epoch of the shelf, as this process knows it.
func (s *Sale) epoch() string {
	s.shelf.mu.Lock()
	defer s.shelf.mu.Unlock()
	return s.shelf.seen.epoch
}

// awaitRecord returns nil when the book has the record, or a later state of the order. The point is
// from the store's answer: after a rebuild the shelf may lack the record, and then the book must
// not get it.
func (s *Sale) awaitRecord(ctx context.Context, at point, r Record) error {
	if !s.options.Settled {
		return nil
	}
	return s.await(ctx, &s.orderWriter, entry{record: r, at: at}, s.writeRecords)
}

// await writes an entry, and repeats that while the book has no room for it.
func (s *Sale) await(ctx context.Context, c *bookWriter, e entry, writeEntries func(context.Context, []*entry)) error {
	ctx, stop := context.WithTimeout(ctx, askTime)
	defer stop()
	for {
		try := e
		try.done = make(chan struct{})
		err := c.write(ctx, &try, writeEntries)
		if err == nil || errors.Is(err, errConflict) {
			return err
		}
		if _, is := unbalanced(err); !is {
			return fmt.Errorf("%w: %s", ErrUnsettled, err.Error())
		}
		select { // a change that makes room, such as an expired order, is on its way to the book
		case <-time.After(writePause):
		case <-ctx.Done():
			return fmt.Errorf("%w: %s", ErrUnsettled, err.Error())
		}
	}
}

// write waits until an entry is written and returns the result, or the cause that ended ctx.
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
	case <-e.done: // it was written at the same moment
		return e.err
	default:
		return context.Cause(ctx) // settleOrders writes the entry, unless a transaction is writing it now
	}
}

// add appends an entry and starts the goroutine if it does not run. It reports false after close.
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

// writeAll writes entries until none waits. A transaction serves several callers, so its context
// ends with the bookWriter and not with the context of one caller.
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

// writeRecords writes entries in one transaction. If the database refuses that because totals are
// still on their way to it, the totals are written first. If it refuses again, each entry gets a
// transaction of its own.
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
		_ = s.writeRecordsOnce(ctx, entries[i:i+1], bring) // the entry has its error
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
			if err := tx.moveBook(ctx, position{epoch: to.epoch, changes: to.changes}); err != nil {
				return err
			}
			if bring { // lower totals are written for their seller, or by the settlement
				if _, err := s.writePutIn(ctx, tx, to, productsOf(entries)); err != nil {
					return err
				}
			}
			found, err := tx.find(ctx, ids(records))
			if err != nil {
				return err
			}
			p := plan(records, found)
			for _, d := range p.done {
				instead[d.id] = d.instead != ""
			}
			return tx.writePlan(ctx, p)
		})
	}
	for _, e := range entries {
		if e.err = err; err == nil && instead[e.record.ID] {
			e.err = fmt.Errorf("the book has it otherwise: %w", errConflict)
		}
	}
	return err
}
