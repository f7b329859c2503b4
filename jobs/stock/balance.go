package stock

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/cronce/cronce/jobs/stock/internal/format"
	"github.com/cronce/cronce/jobs/stock/internal/sqltext"
)

// balanceCheck is the name of the database constraint that refuses counts which do not balance. Its
// violations contain this name.
const balanceCheck = "stock_balance"

// An unbalancedError reports orders that would take more of a product than was put in, or less than
// nothing. The transaction has written nothing.
type unbalancedError struct{ sku, text string }

func (e *unbalancedError) Error() string {
	return fmt.Sprintf("the books of %s would not balance: %s", format.Quote(e.sku), e.text)
}

// unbalanced reports whether err says that counts would not balance, and the product, if it is
// known.
func unbalanced(err error) (sku string, is bool) {
	if e, ok := errors.AsType[*unbalancedError](err); ok {
		return e.sku, true
	}
	return "", err != nil && strings.Contains(err.Error(), balanceCheck)
}

// A balance is the book's counts of one product.
type balance struct{ put, reserved, sold int64 }

// balances reads the counts of products.
func (tx *transaction) balances(ctx context.Context, skus []string) (map[string]balance, error) {
	found := make(map[string]balance, len(skus))
	for some := range slices.Chunk(skus, sqltext.MaxRows) {
		query := "SELECT sku, put_in, reserved, sold FROM product WHERE sale = ? AND sku IN (" + sqltext.Marks(len(some)) + ")"
		err := eachRow(ctx, tx.tx, tx.dialect, query, argsOf(some, tx.sale), func(row *sql.Rows) error {
			var sku string
			var b balance
			err := row.Scan(&sku, &b.put, &b.reserved, &b.sold)
			found[sku] = b
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// writeShifts changes the counts of products by the changes of their orders, and refuses if a
// product would not balance afterwards. The database has the same check. This one names the
// product, and covers versions of MySQL that ignore CHECK constraints.
func (tx *transaction) writeShifts(ctx context.Context, shifts map[string]shift) error {
	maps.DeleteFunc(shifts, func(_ string, s shift) bool { return s == (shift{}) })
	skus := slices.Sorted(maps.Keys(shifts))
	if len(skus) == 0 {
		return nil
	}
	t := productTable()
	for _, sku := range skus {
		t.Add(sku, int64(0), int64(0), int64(0))
	}
	if err := tx.write(ctx, &t, sqltext.UnlessThere(tx.dialect)); err != nil {
		return err
	}
	books, err := tx.balances(ctx, skus)
	if err != nil {
		return err
	}
	for _, sku := range skus {
		if err := books[sku].after(sku, shifts[sku]); err != nil {
			return err
		}
	}
	for some := range slices.Chunk(skus, maxCases) {
		if err := tx.addShifts(ctx, some, shifts); err != nil {
			return err
		}
	}
	return nil
}

// after returns an unbalancedError if the counts do not balance after a shift.
func (b balance) after(sku string, s shift) error {
	reserved, sold := b.reserved+s.reserved, b.sold+s.sold
	if reserved < 0 || sold < 0 || reserved+sold > b.put {
		return &unbalancedError{sku, fmt.Sprintf("%d reserved and %d sold of %d", reserved, sold, b.put)}
	}
	return nil
}

// maxCases bounds how many products one UPDATE changes: the database scans the list of its CASE for
// each row.
const maxCases = 100

// addShifts adds to the counts of existing rows. An upsert does not work here, because databases
// apply the CHECK constraint to the row that it would insert first.
func (tx *transaction) addShifts(ctx context.Context, skus []string, shifts map[string]shift) error {
	var reserved, sold strings.Builder
	cases, names := make([]any, 0, len(skus)), make([]any, 0, len(skus))
	for _, sku := range skus {
		reserved.WriteString(" WHEN ? THEN " + strconv.FormatInt(shifts[sku].reserved, 10))
		sold.WriteString(" WHEN ? THEN " + strconv.FormatInt(shifts[sku].sold, 10))
		cases, names = append(cases, sku), append(names, sku)
	}
	query := "UPDATE product SET reserved = reserved + CASE sku" + reserved.String() + " ELSE 0 END, sold = sold + CASE sku" + sold.String() +
		" ELSE 0 END WHERE sale = ? AND sku IN (" + sqltext.Marks(len(skus)) + ")"
	args := slices.Concat(cases, cases, []any{tx.sale}, names)
	_, err := tx.tx.ExecContext(ctx, tx.dialect.Bind(query), args...)
	return err
}

// raiseTotals writes the offers of products, and the totals of products that are new or whose total
// has grown. It returns the products whose total has shrunk: these are written after the orders.
func (tx *transaction) raiseTotals(ctx context.Context, totals []total) (lower []total, err error) {
	skus := make([]string, len(totals))
	for i, t := range totals {
		skus[i] = t.sku
	}
	books, err := tx.balances(ctx, skus)
	if err != nil {
		return nil, err
	}
	t := productTable()
	t.Columns = append(t.Columns, "price", "currency", "buyer_limit", "starts_at", "ends_at")
	for _, total := range totals {
		put := books[total.sku].put
		if total.put < put {
			lower = append(lower, total)
		}
		t.Add(total.sku, max(put, total.put), int64(0), int64(0), total.offer.Price, total.offer.Currency,
			total.offer.BuyerLimit, instant(total.offer.Starts), instant(total.offer.Ends))
	}
	return lower, tx.write(ctx, &t, sqltext.Upsert(tx.dialect, "sale, sku", []string{"put_in", "price", "currency", "buyer_limit", "starts_at", "ends_at"}))
}

// lowerTotals writes lower totals as far as the orders allow. It returns the products whose total
// has to wait, because the orders that make room for it are still on their way to the database.
func (tx *transaction) lowerTotals(ctx context.Context, totals []total) (later []string, err error) {
	query := tx.dialect.Bind("UPDATE product SET put_in = ? WHERE sale = ? AND sku = ? AND reserved + sold <= ?")
	for _, t := range totals {
		done, err := tx.tx.ExecContext(ctx, query, t.put, tx.sale, t.sku, t.put)
		if err != nil {
			return nil, err
		}
		if n, err := done.RowsAffected(); err != nil {
			return nil, err
		} else if n == 0 {
			later = append(later, t.sku)
		}
	}
	return later, nil
}

// halt stops the sale of products whose counts do not balance. A later run whose counts balance
// allows them again.
func (s *settler) halt(ctx context.Context) error {
	skus := slices.Sorted(maps.Keys(s.halted))
	for _, sku := range skus {
		s.work.log.Error("product closed", slog.String("sku", sku), slog.String("text", "its books do not balance"))
	}
	if _, err := s.sale.fenced(ctx, haltScript, s.sale.keys(keyFence+settling, keyHalted), s.work.fence, argsOf(skus)...); err != nil {
		return fmt.Errorf("stock: close products: %w", err)
	}
	return nil
}

// Halted returns up to ten products that are not sold because their counts in the book do not
// balance, as this process last read them when it compared the store with the book. It sends
// nothing.
func (s *Sale) Halted() []string {
	s.shelf.mu.Lock()
	defer s.shelf.mu.Unlock()
	return slices.Clone(s.shelf.halted)
}
