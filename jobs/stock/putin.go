package stock

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// lockedTime bounds the wait for the store in a transaction that has locked the book, because all
// other writers of the book wait meanwhile.
const lockedTime = time.Second

// awaitProduct returns nil when the book has a seller's change of a product, or a later one. The
// change then survives any loss of the store. The point is from the store's answer. A sale
// without a book returns at once.
func (s *Sale) awaitProduct(ctx context.Context, at point, sku string) error {
	if s.options.Book == nil {
		return nil
	}
	return s.await(ctx, &s.productWriter, entry{sku: sku, at: at}, s.writeProducts)
}

// writeProducts writes the totals of entries in one transaction or, if that fails, each in a
// transaction of its own.
func (s *Sale) writeProducts(ctx context.Context, entries []*entry) {
	if err := s.writeProductsOnce(ctx, entries); err == nil || len(entries) == 1 {
		return
	}
	for i := range entries {
		_ = s.writeProductsOnce(ctx, entries[i:i+1]) // the entry has its error
	}
}

func (s *Sale) writeProductsOnce(ctx context.Context, entries []*entry) error {
	later := map[string]bool{}
	to, err := together(entries)
	if err == nil {
		err = s.options.Book.transact(ctx, s.ID(), func(tx *transaction) error {
			if err := tx.moveBook(ctx, position{epoch: to.epoch, changes: to.changes}); err != nil {
				return err
			}
			lower, err := s.writePutIn(ctx, tx, to, productsOf(entries))
			if err != nil {
				return err
			}
			wait, err := tx.lowerTotals(ctx, lower)
			for _, sku := range wait {
				later[sku] = true
			}
			return err
		})
	}
	for _, e := range entries {
		if e.err = err; err == nil && later[e.sku] {
			e.err = &unbalancedError{e.sku, "its ended orders are on their way to the book"}
		}
	}
	return err
}

// together returns the common epoch of entries, and the highest counts that they have seen.
func together(entries []*entry) (to point, err error) {
	to.epoch = entries[0].at.epoch
	for _, e := range entries {
		if e.at.epoch != to.epoch {
			return to, errors.New("the shelf was rebuilt in between") // each entry is then written alone
		}
		to.changes, to.own = max(to.changes, e.at.changes), max(to.own, e.at.own)
	}
	return to, nil
}

// productsOf returns the products of entries.
func productsOf(entries []*entry) (skus []string) {
	seen := map[string]bool{}
	add := func(sku string) {
		if sku != "" && !seen[sku] {
			seen[sku] = true
			skus = append(skus, sku)
		}
	}
	for _, e := range entries {
		add(e.sku)
		for _, item := range e.record.Items {
			add(item.SKU)
		}
	}
	return skus
}

// writePutIn writes the totals of products that are on their way to the book. Totals
// that are lower than the book's are returned and not written.
func (s *Sale) writePutIn(ctx context.Context, tx *transaction, seen point, skus []string) (lower []total, err error) {
	got := batch{seen: seen}
	if err := s.number(ctx, tx, skus, 0, &got); err != nil {
		return nil, err
	}
	for _, unreadable := range got.bad {
		return nil, unreadable
	}
	if lower, err = tx.raiseTotals(ctx, got.totals); err != nil {
		return nil, fmt.Errorf("products: %w", err)
	}
	return lower, nil
}

// number gives a transaction that has locked the book the next number, and reads into got the totals
// that the book lacks, of the given products or of all. No other transaction writes totals meanwhile,
// so these are the newest. The shelf, which has everything that the caller has seen, gets the number
// before the book does: a shelf that goes back to a state before it is behind the book. The fence is
// of the run that settles, or 0: the shelf refuses a run after which another one has begun.
func (s *Sale) number(ctx context.Context, tx *transaction, skus []string, fence int64, got *batch) error {
	at, err := tx.lockBook(ctx)
	if err != nil {
		return err
	}
	bounded, stop := context.WithTimeout(ctx, lockedTime)
	defer stop()
	keys, args := s.onShelf(got.seen, s.keys(keyRestocked, keyFence+settling), argsOf(skus, at.mark, fence))
	answer, err := s.runScript(bounded, numberScript, keys, args...)
	last := len(answer) - 2 // behind it are the changes, and the caller's own
	switch {
	case err != nil:
	case is(answer, "shelf", 2):
		err = closedShelf(answer[1])
	case last < 1:
		err = unknownAnswer(answer)
	case answer[0] == "fenced":
		err = fenced(fence, answer[1])
	case answer[0] == "behind":
		err = closedShelf(answer[0])
	default:
		err = parseNumbers([]string{answer[0], answer[last]}, &at.mark, &at.changes)
	}
	if err != nil {
		return fmt.Errorf("number the transaction: %w", err)
	}
	got.mark = at.mark
	got.parseTotals(answer[1:last])
	return tx.moveBook(ctx, at)
}
