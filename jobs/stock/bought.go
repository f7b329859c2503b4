package stock

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cronce/cronce/jobs/stock/internal/sqltext"
)

// The store counts, for each buyer and product, the quantity of the buyer's open and paid orders in
// a field buyer:sku. It does so whether or not the offer had a limit when they were placed. The
// book computes the same count from its orders.

// buyers reads up to n buyers behind the given one, in the order of the database.
func (b *Database) buyers(ctx context.Context, sale, after string, n int) ([]string, error) {
	buyers, err := b.textRows(ctx, "SELECT DISTINCT buyer FROM orders WHERE sale = ? AND buyer > ? ORDER BY buyer LIMIT "+strconv.Itoa(n), sale, after)
	if err != nil {
		return nil, fmt.Errorf("read the book's buyers: %w", err)
	}
	return buyers, nil
}

// bought computes the quantities of buyers from the book's orders, by buyer:sku.
func (b *Database) bought(ctx context.Context, sale string, buyers []string) (map[string]int64, error) {
	has := map[string]int64{}
	for some := range slices.Chunk(buyers, sqltext.MaxRows) {
		query := "SELECT o.buyer, i.sku, SUM(i.quantity) FROM orders o JOIN order_item i ON i.sale = o.sale AND i.order_id = o.id" +
			" WHERE o.sale = ? AND o.buyer IN (" + sqltext.Marks(len(some)) + ") AND o.status IN ('reserved', 'paying', 'paid') GROUP BY o.buyer, i.sku"
		err := eachRow(ctx, b.db, b.dialect, query, argsOf(some, sale), func(row *sql.Rows) error {
			var buyer, sku string
			var n int64
			err := row.Scan(&buyer, &sku, &n)
			has[buyer+":"+sku] = n
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("count what the book's buyers have: %w", err)
		}
	}
	return has, nil
}

// restoreBuyers writes the quantities of the book's buyers to the shelf.
func (s *Sale) restoreBuyers(ctx context.Context, epoch string) error {
	b := s.options.Book
	return new(walk).buyers(func(after string, n int) ([]string, error) { return b.buyers(ctx, s.ID(), after, n) }, func(buyers []string) error {
		has, err := b.bought(ctx, s.ID(), buyers)
		if err != nil {
			return err
		}
		for some := range slices.Chunk(slices.Sorted(maps.Keys(has)), maxBatch) {
			args := []any{epoch}
			for _, field := range some {
				args = append(args, field, has[field])
			}
			if err := s.step(ctx, buyersScript, s.keys(keyShelf, keyBought), args...); err != nil {
				return fmt.Errorf("put what buyers have: %w", err)
			}
		}
		return nil
	})
}

// auditBuyers compares the quantities of buyers, as far as the walk goes.
func (s *Sale) auditBuyers(ctx context.Context, b *Database, w *walk) ([]Difference, error) {
	found := map[string]Difference{} // by buyer:sku
	compare := func(fields []string) error {
		some, err := s.compareBought(ctx, b, fields)
		maps.Copy(found, some)
		return err
	}
	err := w.buyers(func(after string, n int) ([]string, error) { return b.buyers(ctx, s.ID(), after, n) }, func(buyers []string) error {
		has, err := b.bought(ctx, s.ID(), buyers)
		if err != nil {
			return err
		}
		return compare(slices.Collect(maps.Keys(has)))
	})
	if err == nil {
		err = w.counts(ctx, s, compare)
	}
	if err != nil {
		return nil, err
	}
	all := make([]Difference, 0, len(found))
	for _, field := range slices.Sorted(maps.Keys(found)) {
		all = append(all, found[field])
	}
	return all, nil
}

// compareBought compares the quantities of buyers. It reports a difference only if two reads show
// the same one while no order of the buyer is on its way to the book.
func (s *Sale) compareBought(ctx context.Context, b *Database, fields []string) (map[string]Difference, error) {
	before, err := s.differingBought(ctx, b, fields)
	if err != nil || len(before) == 0 {
		return nil, err
	}
	select {
	case <-time.After(readAgain):
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	now, err := s.differingBought(ctx, b, slices.Collect(maps.Keys(before)))
	maps.DeleteFunc(before, func(field string, d Difference) bool { return now[field] != d })
	return before, err
}

// differingBought returns the differences of buyers without an order on its way to the book. It
// reads the store before and after the book.
func (s *Sale) differingBought(ctx context.Context, b *Database, fields []string) (map[string]Difference, error) {
	before, book, err := s.bothBought(ctx, b, fields)
	if err != nil || maps.Equal(before, book) {
		return nil, err
	}
	moving, err := s.moving(ctx)
	if err != nil {
		return nil, err
	}
	disputed, err := s.disputedBought(ctx, b)
	if err != nil {
		return nil, err
	}
	if before, book, err = s.bothBought(ctx, b, fields); err != nil {
		return nil, err
	}
	movingStill, err := s.moving(ctx)
	if err != nil {
		return nil, err
	}
	after, err := s.bought(ctx, fields)
	if err != nil || moving == nil || movingStill == nil { // too many orders are on their way to the book: a later run compares them
		return nil, err
	}
	found := map[string]Difference{}
	for _, field := range fields {
		buyer, sku, _ := strings.Cut(field, ":")
		wants := book[field] + disputed[field]
		if !moving[buyer] && !movingStill[buyer] && before[field] == after[field] && after[field] != wants {
			found[field] = Difference{SKU: sku, Buyer: buyer, Mend: Rebuild,
				Store: strconv.FormatInt(after[field], 10), Book: "orders of " + strconv.FormatInt(wants, 10)}
		}
	}
	return found, nil
}

// bothBought reads counts of the store, then those of the book. A count of 0 is in neither result.
func (s *Sale) bothBought(ctx context.Context, b *Database, fields []string) (store, book map[string]int64, err error) {
	if store, err = s.bought(ctx, fields); err != nil {
		return nil, nil, err
	}
	buyers, wanted := map[string]bool{}, map[string]bool{}
	for _, field := range fields {
		buyer, _, _ := strings.Cut(field, ":")
		buyers[buyer], wanted[field] = true, true
	}
	if book, err = b.bought(ctx, s.ID(), slices.Sorted(maps.Keys(buyers))); err != nil {
		return nil, nil, err
	}
	maps.DeleteFunc(book, func(field string, _ int64) bool { return !wanted[field] })
	return store, book, nil
}

// bought reads counts of the store.
func (s *Sale) bought(ctx context.Context, fields []string) (map[string]int64, error) {
	if len(fields) == 0 {
		return map[string]int64{}, nil
	}
	values, err := again(ctx, func() ([]any, error) { return s.client.HMGet(ctx, s.key(keyBought), fields...).Result() })
	if err != nil {
		return nil, fmt.Errorf("read what buyers have: %w", err)
	}
	has := map[string]int64{}
	for i, value := range values {
		if text, ok := value.(string); ok {
			if has[fields[i]], err = strconv.ParseInt(text, 10, 64); err != nil {
				return nil, fmt.Errorf("read what buyers have: %w", err)
			}
		}
	}
	return has, nil
}

// moving returns the buyers that have an order on its way to the book; nil if there are too many
// orders.
func (s *Sale) moving(ctx context.Context) (map[string]bool, error) {
	buyers := map[string]bool{}
	for _, name := range []string{keyFresh, keyUnsettled} { // an order moves from the first list to the second
		for from := int64(0); ; from += maxBatch {
			if from >= maxAudited {
				return nil, nil
			}
			ids, err := s.idsOf(ctx, name, from)
			if err != nil {
				return nil, fmt.Errorf("read unsettled orders: %w", err)
			}
			if len(ids) == 0 {
				break
			}
			var got batch
			if err := s.readRecords(ctx, ids, &got); err != nil {
				return nil, fmt.Errorf("read unsettled orders: %w", err)
			}
			for _, r := range got.records {
				buyers[r.Buyer] = true
			}
		}
	}
	return buyers, nil
}

// disputedBought returns the quantities of disputed orders on the shelf, which the book does not
// count.
func (s *Sale) disputedBought(ctx context.Context, b *Database) (map[string]int64, error) {
	on, err := s.disputedOn(ctx, b)
	if err != nil {
		return nil, err
	}
	has := map[string]int64{}
	for _, r := range on {
		if r.Buyer == "" || !r.State.holds() {
			continue
		}
		for _, item := range r.Items {
			has[r.Buyer+":"+item.SKU] += item.Quantity
		}
	}
	return has, nil
}
