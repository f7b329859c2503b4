package stock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// A Surplus is a payment that its order could not take, and that did not go back yet.
type Surplus struct {
	Order    string // the id
	State    State  // of the order
	Disputed bool   // the book has another order under the id: see Sale.Disputes
	Payment  Payment
}

// MaxRefunds is how many payments ToRefund returns at most.
const MaxRefunds = 10_000

// ToRefund returns the payments that are to be refunded, as the book has them, the oldest
// first, up to n, 1 to MaxRefunds: those that an order could not take, without those that a
// refund names. Those of a disputed order are among them until it is refunded or dropped; the payment
// that has paid it is decided with it. One that was recorded within the last second or
// so may be missing. It is refused with a *FieldError, or with ErrNoBook.
func (s *Sale) ToRefund(ctx context.Context, n int) ([]Surplus, error) {
	if n < 1 || n > MaxRefunds {
		return nil, fmt.Errorf("stock: refunds: %w", &FieldError{"limit", strconv.Itoa(n), fmt.Sprintf("1 to %d", MaxRefunds)})
	}
	b := s.options.Book
	if b == nil {
		return nil, fmt.Errorf("stock: refunds: %w", ErrNoBook)
	}
	if err := b.Migrate(ctx); err != nil {
		return nil, err
	}
	all, err := b.toRefund(ctx, s.ID(), n)
	disputed, err1 := b.disputedToRefund(ctx, s.ID())
	if err := errors.Join(err, err1); err != nil {
		return nil, fmt.Errorf("stock: refunds: %w", err)
	}
	all = append(all, disputed...)
	slices.SortStableFunc(all, func(a, b Surplus) int {
		return cmp.Or(a.Payment.At.Compare(b.Payment.At), cmp.Compare(a.Order, b.Order), cmp.Compare(a.Payment.Reference, b.Payment.Reference))
	})
	return all[:min(n, len(all))], nil
}

// disputedToRefund are the payments that disputed orders could not take. Few orders are disputed, and
// fewer have such a payment.
func (b *Database) disputedToRefund(ctx context.Context, sale string) ([]Surplus, error) {
	query := b.dialect.Bind("SELECT order_id, record FROM stock_dispute WHERE sale = ? AND record LIKE ? ORDER BY placed_at, order_id LIMIT " + strconv.Itoa(maxDisputes))
	rows, err := b.db.QueryContext(ctx, query, sale, "%;"+string(KindSurplus)+":%")
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []Surplus
	for rows.Next() {
		var id, line string
		if err := rows.Scan(&id, &line); err != nil {
			return nil, err
		}
		r, err := parseRecord(id, line)
		if err != nil {
			return nil, err
		}
		for _, p := range r.ToRefund() {
			all = append(all, Surplus{Order: id, State: r.State, Disputed: true, Payment: p})
		}
	}
	return all, errors.Join(rows.Err(), rows.Close())
}

func (b *Database) toRefund(ctx context.Context, sale string, n int) ([]Surplus, error) {
	query := b.dialect.Bind("SELECT p.order_id, o.status, p.reference, p.amount, p.currency, p.at FROM payment p" +
		" JOIN orders o ON o.sale = p.sale AND o.id = p.order_id WHERE p.sale = ? AND p.kind = 'surplus' AND NOT EXISTS" +
		" (SELECT 1 FROM payment r WHERE r.sale = p.sale AND r.order_id = p.order_id AND r.kind = 'refund' AND r.refunds = p.reference)" +
		" ORDER BY p.at, p.order_id, p.reference LIMIT " + strconv.Itoa(n))
	rows, err := b.db.QueryContext(ctx, query, sale)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []Surplus
	for rows.Next() {
		one := Surplus{Payment: Payment{Kind: KindSurplus}}
		var ms int64
		if err := rows.Scan(&one.Order, &one.State, &one.Payment.Reference, &one.Payment.Amount, &one.Payment.Currency, &ms); err != nil {
			return nil, err
		}
		one.Payment.At = time.UnixMilli(ms).UTC()
		all = append(all, one)
	}
	return all, errors.Join(rows.Err(), rows.Close())
}
