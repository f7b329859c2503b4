package stock

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strconv"

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

// buyerTotals computes the quantities of buyers from the book's orders, by buyer:sku.
func (b *Database) buyerTotals(ctx context.Context, sale string, buyers []string) (map[string]int64, error) {
	has := map[string]int64{}
	for some := range slices.Chunk(buyers, sqltext.MaxRows) {
		query := "SELECT o.buyer, i.sku, SUM(i.quantity) FROM orders o JOIN order_item i ON i.sale = o.sale AND i.order_id = o.id" +
			" WHERE o.sale = ? AND o.buyer IN (" + sqltext.Marks(len(some)) + ") AND o.status IN ('reserved', 'paid') GROUP BY o.buyer, i.sku"
		err := eachRow(ctx, b.db, b.dialect, query, argsOf(some, sale), func(row *sql.Rows) error {
			var buyer, sku string
			var n int64
			err := row.Scan(&buyer, &sku, &n)
			has[buyer+":"+sku] = n
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("count the book's buyers: %w", err)
		}
	}
	return has, nil
}

// restoreBuyers writes the quantities of the book's buyers to the shelf.
func (s *Sale) restoreBuyers(ctx context.Context, epoch string) error {
	b := s.options.Book
	for after := ""; ; {
		buyers, err := b.buyers(ctx, s.ID(), after, maxBatch)
		if err != nil || len(buyers) == 0 {
			return err
		}
		after = buyers[len(buyers)-1]
		has, err := b.buyerTotals(ctx, s.ID(), buyers)
		if err != nil {
			return err
		}
		for some := range slices.Chunk(slices.Sorted(maps.Keys(has)), maxBatch) {
			args := []any{epoch}
			for _, field := range some {
				args = append(args, field, has[field])
			}
			if err := s.step(ctx, buyersScript, s.keys(keyShelf, keyBought), args...); err != nil {
				return fmt.Errorf("put the quantities of buyers: %w", err)
			}
		}
	}
}
