package stock

import (
	"context"
	"fmt"
)

// putIn reads what was put in of the products of orders and is on its way to the book, with the
// mark of the settlement that was the last then. There is none when the store does not
// answer, or has another shelf.
func (s *Sale) putIn(ctx context.Context, entries []*entry) haul {
	epoch := entries[0].at.epoch
	args, seen := []any{epoch}, map[string]bool{}
	for _, e := range entries {
		for _, item := range e.record.Items {
			if !seen[item.SKU] {
				seen[item.SKU] = true
				args = append(args, item.SKU)
			}
		}
	}
	answer, err := s.ask(ctx, putInScript, s.keys(keyRestocked, keySupplied, keyShelf), args...)
	if err != nil || len(answer) == 0 {
		return haul{}
	}
	h, _, err := parseHaul(answer[1:])
	if err != nil || parseNumbers(answer[:1], &h.at.mark) != nil {
		return haul{} // settleOrders says what is wrong with it
	}
	return h
}

// bring writes what was put in of products, in the transaction of orders that need it. Since it
// was read, a settlement may have written what is newer: then it writes nothing. What is lower than
// the book has it is left to the settlement, too.
func (tx *transaction) bring(ctx context.Context, h haul) error {
	if len(h.totals) == 0 {
		return nil
	}
	at, err := tx.lockBook(ctx)
	if err != nil || at.mark > h.at.mark {
		return err
	}
	if _, err := tx.raiseTotals(ctx, h.totals); err != nil {
		return fmt.Errorf("products: %w", err)
	}
	if err := tx.writeSupplies(ctx, h.supplies); err != nil {
		return fmt.Errorf("supplies: %w", err)
	}
	return nil
}
