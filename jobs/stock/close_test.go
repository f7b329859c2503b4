package stock

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// A caller goes on at the end of its own time, while what it asked for is being written. No such transaction outlives
// the sale: Close ends it at once, and returns when it has ended. Callers that still wait have an answer, and
// those that come later, too.
func TestCloseEndsWriting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c bookWriter
		writes, ended := 0, 0
		writeEntries := func(ctx context.Context, entries []*entry) {
			writes++
			<-ctx.Done()
			time.Sleep(time.Second) // a transaction is rolled back
			for _, e := range entries {
				e.err = context.Cause(ctx)
			}
			ended++
		}
		write := func(patience time.Duration) error {
			ctx, stop := context.WithTimeout(t.Context(), patience)
			defer stop()
			return c.write(ctx, &entry{done: make(chan struct{})}, writeEntries)
		}
		if err := write(time.Millisecond); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the first: %v, want the end of its time", err)
		}
		second := make(chan error, 1)
		go func() { second <- write(time.Minute) }()
		synctest.Wait()
		began := time.Now()
		c.close()
		if took := time.Since(began); took > 2*time.Second || writes != ended {
			t.Errorf("Close took %v, and %d of %d transactions have ended", took, ended, writes)
		}
		for _, err := range []error{<-second, write(time.Minute)} {
			if !errors.Is(err, errClosed) {
				t.Errorf("%v, want that the sale is closed", err)
			}
		}
		c.close()
		if writes > 2 {
			t.Errorf("%d transactions, one after Close", writes)
		}
	})
}

// A buyer reserves an order again while it is paid, and both calls wait for the same transaction:
// it writes the payment, whichever call came first.
func TestWriterTakesTheLatestRecord(t *testing.T) {
	at := time.UnixMilli(1795207852937)
	reserved := Record{Order: Order{ID: "o-1"}, State: Reserved, Placed: at}
	paid := Record{Order: Order{ID: "o-1"}, State: Paid, Placed: at, Payments: []Payment{{Kind: kindPaid}}}
	for _, both := range [][]*entry{{{record: reserved}, {record: paid}}, {{record: paid}, {record: reserved}}} {
		if got := recordsOf(append(both, &entry{sku: "tea"})); len(got) != 1 || got[0].State != Paid {
			t.Errorf("%v, want one that is paid", got)
		}
	}
}
