package stock

import (
	"cmp"
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
	s.writer.close()
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
	sku    string       // the product; empty: the entry is a record
	at     changeCounts // the shelf at the store's answer
	err    error        // the result, once done is closed
	done   chan struct{}
}

// epoch returns the epoch of the shelf, as this process knows it.
func (s *Sale) epoch() string {
	s.shelf.mu.Lock()
	defer s.shelf.mu.Unlock()
	return s.shelf.seen.epoch
}

// await returns nil when the book has the entry, or a later state of it, so that no loss of the store
// can undo it. The entry's point is from the store's answer: after a rebuild the shelf may lack the
// entry, and then the book must not get it. While the book has no room for the entry, await repeats
// the write. It returns at once for a sale without a book and, without Options.Settled, for a record.
func (s *Sale) await(ctx context.Context, e entry) error {
	if s.options.Book == nil || e.sku == "" && !s.options.Settled {
		return nil
	}
	ctx, stop := context.WithTimeout(ctx, askTime)
	defer stop()
	for {
		try := e
		try.done = make(chan struct{})
		err := s.writer.write(ctx, &try, s.writeEntries)
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

// writeEntries writes entries in one transaction. If the database refuses that because totals are
// still on their way to it, the totals are written first. If it refuses again, each entry gets a
// transaction of its own.
func (s *Sale) writeEntries(ctx context.Context, entries []*entry) {
	err := s.writeOnce(ctx, entries, false)
	_, bring := unbalanced(err)
	if bring {
		err = s.writeOnce(ctx, entries, true)
	}
	if err == nil || len(entries) == 1 {
		return
	}
	for i := range entries {
		_ = s.writeOnce(ctx, entries[i:i+1], bring) // the entry has its error
	}
}

func (s *Sale) writeOnce(ctx context.Context, entries []*entry, bring bool) error {
	got := batch{records: recordsOf(entries), skus: productsOf(entries, bring)}
	got.numbered = len(got.skus) == 0
	var done []settlement
	var later []string
	seen, err := together(entries)
	if err == nil {
		got.seen = seen
		done, later, err = s.settle(ctx, 0, &got)
	}
	otherwise, waiting := map[string]error{}, map[string]error{}
	for _, d := range done {
		if d.instead != "" {
			otherwise[d.id] = fmt.Errorf("the book has it otherwise: %w", errConflict)
		}
	}
	for _, sku := range later {
		waiting[sku] = &unbalancedError{sku, "its ended orders are on their way to the book"}
	}
	for _, e := range entries {
		e.err = cmp.Or(err, got.bad[e.sku], waiting[e.sku], otherwise[e.record.ID])
	}
	return err
}

// recordsOf returns the records of entries, and of each order only the latest one.
func recordsOf(entries []*entry) (records []Record) {
	at := map[string]int{}
	for _, e := range entries {
		i, known := at[e.record.ID]
		switch {
		case e.sku != "":
		case !known:
			at[e.record.ID] = len(records)
			records = append(records, e.record)
		case rowOf(records[i]).before(e.record):
			records[i] = e.record
		}
	}
	return records
}
