package stock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// lockedTime bounds the wait for the store in a transaction that has locked the book, because all
// other writers of the book wait meanwhile.
const lockedTime = time.Second

// together returns the common epoch of entries, and the highest counts that they have seen.
func together(entries []*entry) (to changeCounts, err error) {
	to.epoch = entries[0].at.epoch
	for _, e := range entries {
		if e.at.epoch != to.epoch {
			return to, errors.New("the shelf was rebuilt in between") // each entry is then written alone
		}
		to.changes, to.own = max(to.changes, e.at.changes), max(to.own, e.at.own)
	}
	return to, nil
}

// productsOf returns the products of entries and, if orders is set, of their orders.
func productsOf(entries []*entry, orders bool) (skus []string) {
	for _, e := range entries {
		if e.sku != "" {
			skus = append(skus, e.sku)
		}
		for _, item := range e.record.Items {
			if orders {
				skus = append(skus, item.SKU)
			}
		}
	}
	slices.Sort(skus)
	return slices.Compact(skus)
}

// number gives a transaction that has locked the book the next number, and reads into got the totals
// that the book lacks, of the products of got or of all. No other transaction writes totals meanwhile,
// so these are the newest. The shelf, which has everything that the caller has seen, gets the number
// before the book does: a shelf that goes back to a state before it is behind the book. The fence is
// of the run that settles, or 0: the shelf refuses a run after which another one has begun.
func (s *Sale) number(ctx context.Context, tx *transaction, fence int64, got *batch) error {
	at, err := tx.lockBook(ctx)
	if err != nil {
		return err
	}
	bounded, stop := context.WithTimeout(ctx, lockedTime)
	defer stop()
	keys, args := s.onShelf(got.seen, s.keys(keyRestocked, keyFence+settling), argsOf(got.skus, at.mark, fence))
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
