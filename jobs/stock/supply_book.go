package stock

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/cronce/cronce/jobs/stock/internal/sqltext"
)

// writeSupplies writes what was added to products, in the transaction that raises their totals.
func (tx *transaction) writeSupplies(ctx context.Context, supplies []supply) error {
	t := sqltext.Table{Name: "stock_supply", Clock: "settled_at", Columns: []sqltext.Column{{Name: "sku"}, {Name: "reference"}, {Name: "quantity"}}}
	for _, a := range supplies {
		t.Add(a.sku, a.reference, a.quantity)
	}
	return tx.write(ctx, &t, sqltext.Upsert(tx.dialect, "stock_supply", "sale, sku, reference", []string{"quantity"}, nil))
}

// supplies returns which of some supplies the book has, with their quantities, by field.
func (b *Database) supplies(ctx context.Context, sale string, wanted []supply) (map[string]int64, error) {
	if err := b.Migrate(ctx); err != nil {
		return nil, err
	}
	found := map[string]int64{}
	for some := range slices.Chunk(wanted, sqltext.MaxRows) {
		query, args := "SELECT sku, reference, quantity FROM stock_supply WHERE sale = ? AND (", []any{sale}
		for i, a := range some {
			if i > 0 {
				query += " OR "
			}
			query, args = query+"sku = ? AND reference = ?", append(args, a.sku, a.reference)
		}
		if err := b.eachSupply(ctx, query+")", args, func(a supply) { found[a.field()] = a.quantity }); err != nil {
			return nil, err
		}
	}
	return found, nil
}

func (b *Database) eachSupply(ctx context.Context, query string, args []any, f func(supply)) error {
	return eachRow(ctx, b.db, b.dialect, query, args, func(row *sql.Rows) error {
		var a supply
		err := row.Scan(&a.sku, &a.reference, &a.quantity)
		if err == nil {
			f(a)
		}
		return err
	})
}

// unsettledSupplies reads what the store still has of what was added and not settled.
func (s *Sale) unsettledSupplies(ctx context.Context) ([]supply, error) {
	all, err := again(ctx, func() (map[string]string, error) { return s.client.HGetAll(ctx, s.key(keySupplied)).Result() })
	if err != nil {
		return nil, err
	}
	var supplies []supply
	for field, quantity := range all {
		if a, err := parseSupply(field, quantity); err == nil {
			supplies = append(supplies, a)
		}
	}
	slices.SortFunc(supplies, func(a, b supply) int { return cmp.Compare(a.field(), b.field()) })
	return supplies, nil
}

// planSupplies decides what a rebuild takes over of what was added and not settled: that of
// products whose totals it takes over. The rest is to be sent again, unless the book has it.
func (s *Sale) planSupplies(ctx context.Context, left []supply, products map[string]Product, p *rebuilding) error {
	if len(left) == 0 {
		return nil
	}
	known, err := s.options.Book.supplies(ctx, s.ID(), left)
	if err != nil {
		return fmt.Errorf("look up what was added: %w", err)
	}
	for _, a := range left {
		_, settled := known[a.field()]
		_, there := products[a.sku]
		switch {
		case settled:
		case !there:
			p.supplies = append(p.supplies, a)
		default:
			p.lost = append(p.lost, Loss{SKU: a.sku, Reason: fmt.Sprintf("%d were added with reference %s, which the book does not have: send it again", a.quantity, quote(a.reference))})
		}
	}
	return nil
}

// restoreSupplies puts the references of what was added onto the shelf, those that it would
// still know.
func (s *Sale) restoreSupplies(ctx context.Context, epoch string) error {
	b := s.options.Book
	query := "SELECT sku, reference, quantity FROM stock_supply WHERE sale = ? AND settled_at > " + b.dialect.Now() + " - ?"
	var all []supply
	err := b.eachSupply(ctx, query, []any{s.ID(), s.options.Retention.Milliseconds()}, func(a supply) { all = append(all, a) })
	if err != nil {
		return fmt.Errorf("read what was added: %w", err)
	}
	for some := range slices.Chunk(all, maxBatch) {
		args := []any{epoch, s.options.Retention.Milliseconds()}
		for _, a := range some {
			args = append(args, a.quantity)
		}
		if err := s.step(ctx, referencesScript, append(s.keys(keyShelf), s.supplyKeys(some)...), args...); err != nil {
			return fmt.Errorf("put references: %w", err)
		}
	}
	return nil
}
