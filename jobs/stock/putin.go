package stock

import (
	"context"
	"fmt"
)

// putIn reads what was put in of the products of orders and is on its way to the book, with a
// number of its own, as a settlement has one. There is none when the store does not
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
	h, _, err := parseHaul(answer)
	if err != nil {
		return haul{} // settleOrders says what is wrong with it
	}
	return h
}

// bring writes what was put in of products, in the transaction of orders that need it. Since it
// was read, a settlement may have written newer totals: then it writes nothing. A settlement that has
// read older ones, and comes after it, is errOvertaken: otherwise the book would have a delivery, and
// not the total with it. A lower total than that of the book is left to the settlement, too.
func (tx *transaction) bring(ctx context.Context, h haul) error {
	if len(h.totals) == 0 {
		return nil
	}
	at, err := tx.lockBook(ctx)
	if err != nil || at.mark >= h.mark {
		return err
	}
	if err := tx.turn(ctx, position{epoch: at.epoch, mark: h.mark}); err != nil {
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
