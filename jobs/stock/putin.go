package stock

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// lockedTime is how long a transaction that has locked the book waits for the store: all others
// that write into the book wait for it meanwhile.
const lockedTime = time.Second

// entered returns nil when the book has what a seller has changed of a product, or what became of
// it since: what was acknowledged is not lost then, whatever the store loses. The point is that of
// the store's answer. A sale without a book has it at once.
func (s *Sale) entered(ctx context.Context, at point, sku string) error {
	if s.options.Book == nil {
		return nil
	}
	return s.await(ctx, &s.productWriter, entry{sku: sku, at: at}, s.enter)
}

// enter writes what was put in of the products of entries in one transaction, or each in its own
// when that fails.
func (s *Sale) enter(ctx context.Context, entries []*entry) {
	if err := s.enterOnce(ctx, entries); err == nil || len(entries) == 1 {
		return
	}
	for i := range entries {
		_ = s.enterOnce(ctx, entries[i:i+1]) // the entry has it
	}
}

func (s *Sale) enterOnce(ctx context.Context, entries []*entry) error {
	later := map[string]bool{}
	to, err := together(entries)
	if err == nil {
		err = s.options.Book.transact(ctx, s.ID(), func(tx *transaction) error {
			if err := tx.turn(ctx, position{epoch: to.epoch, changes: to.changes}); err != nil {
				return err
			}
			lower, err := s.bring(ctx, tx, to, productsOf(entries))
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
			e.err = &unbalancedError{e.sku, "its orders that have ended are on their way to it"}
		}
	}
	return err
}

// together is the shelf that entries are on, and the most that was seen of it.
func together(entries []*entry) (to point, err error) {
	to.epoch = entries[0].at.epoch
	for _, e := range entries {
		if e.at.epoch != to.epoch {
			return to, errors.New("the shelf was rebuilt in between") // each by itself then
		}
		to.changes, to.own = max(to.changes, e.at.changes), max(to.own, e.at.own)
	}
	return to, nil
}

// productsOf are those that entries are about.
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

// bring writes what was put in of products and is on its way to the book, but for totals
// that are lower than the book's, which it returns. The transaction has locked the book: what it
// reads of the store is not older than what any other has written. It has a number, as a
// settlement has one: a store that goes back to before it is behind the book.
func (s *Sale) bring(ctx context.Context, tx *transaction, seen point, skus []string) (lower []total, err error) {
	at, err := tx.lockBook(ctx)
	if err != nil {
		return nil, err
	}
	h, err := s.putIn(ctx, seen, at.mark, skus)
	if err != nil || len(h.totals) == 0 {
		return nil, err
	}
	if err := tx.turn(ctx, position{epoch: at.epoch, mark: h.mark}); err != nil {
		return nil, err
	}
	if lower, err = tx.raiseTotals(ctx, h.totals); err != nil {
		return nil, fmt.Errorf("products: %w", err)
	}
	if err := tx.writeSupplies(ctx, h.supplies); err != nil {
		return nil, fmt.Errorf("supplies: %w", err)
	}
	return lower, nil
}

// putIn reads what was put in of products and the database does not have, on a shelf that has
// lost nothing of what was seen, and is not behind the book's mark.
func (s *Sale) putIn(ctx context.Context, seen point, mark int64, skus []string) (h haul, err error) {
	ctx, stop := context.WithTimeout(ctx, lockedTime)
	defer stop()
	keys, args := s.onShelf(seen, s.keys(keyRestocked, keySupplied), argsOf(skus, mark))
	answer, err := s.ask(ctx, putInScript, keys, args...)
	if err == nil && is(answer, "shelf", 2) {
		err = closedShelf(answer[1])
	}
	if err == nil && len(answer) < 2 {
		err = strange(answer)
	}
	if err != nil {
		return haul{}, fmt.Errorf("read what was put in: %w", err)
	}
	answer = answer[:len(answer)-2]
	switch {
	case len(answer) == 0:
		return haul{}, nil
	case is(answer, "behind", 1):
		return haul{}, closedShelf(answer[0])
	}
	if err = parseNumbers(answer[:1], &h.mark); err == nil {
		_, err = h.parsePutIn(answer[1:])
	}
	if err == nil && len(h.lines) > 0 {
		err = h.lines[0].err // the book does not get it: see readable
	}
	return h, err
}
