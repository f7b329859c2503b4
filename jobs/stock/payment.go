package stock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cronce/cronce/jobs/stock/internal/format"
)

// MaxPayments bounds the payments, refunds and returns of one order.
const MaxPayments = 20

// A Kind is the kind of a Payment.
type Kind string

// The kinds.
const (
	KindPaid    Kind = "paid"    // paid the order
	KindSurplus Kind = "surplus" // the order was closed or already paid, so the payment has to be refunded
	KindRefund  Kind = "refund"  // a refund of a payment
	KindReturn  Kind = "return"  // a return of the items
)

// A Payment is a payment, a refund or a return, as a payment service or a seller reports it.
type Payment struct {
	Kind      Kind
	Reference string    // 1 to 64 of A-Z a-z 0-9 . _ -, chosen by the payment service, unique across orders
	Amount    int64     // in minor units; 0 for a return
	Currency  string    // of the amount
	At        time.Time // when the sale recorded it
	Refunds   string    // for a refund: the reference of the payment
}

func checkReference(field, reference string) error {
	if format.IsName(reference) {
		return nil
	}
	return &FieldError{field, quote(reference), "1 to 64 of A-Z a-z 0-9 . _ -"}
}

func (p Payment) validate() error {
	var faults []error
	if err := checkReference("reference", p.Reference); err != nil {
		faults = append(faults, err)
	}
	if p.Amount < 0 || p.Amount > MaxAmount {
		faults = append(faults, &FieldError{"amount", strconv.FormatInt(p.Amount, 10), fmt.Sprintf("0 to %d minor units", int64(MaxAmount))})
	}
	if !isCurrency(p.Currency) {
		faults = append(faults, &FieldError{"currency", quote(p.Currency), "three capital letters, such as EUR"})
	}
	return errors.Join(faults...)
}

// line returns the payment in the format of a record.
func (p Payment) line() string {
	return strings.Join([]string{string(p.Kind), p.Reference, strconv.FormatInt(p.Amount, 10), p.Currency, strconv.FormatInt(p.At.UnixMilli(), 10), p.Refunds}, ":")
}

func parsePayment(line string) (p Payment, err error) {
	parts := strings.Split(line, ":")
	if len(parts) != 6 {
		return p, fmt.Errorf("payment has %d parts, want 6", len(parts))
	}
	p = Payment{Kind: Kind(parts[0]), Reference: parts[1], Currency: parts[3], Refunds: parts[5]}
	if p.Amount, err = strconv.ParseInt(parts[2], 10, 64); err != nil {
		return p, err
	}
	p.At, err = parseTime(parts[4])
	return p, err
}

// ToRefund returns the surplus payments that were not refunded yet.
func (r Record) ToRefund() (due []Payment) {
	for _, p := range r.Payments {
		if p.Kind == KindSurplus && !r.refunded(p.Reference) {
			due = append(due, p)
		}
	}
	return due
}

func (r Record) refunded(reference string) bool {
	for _, p := range r.Payments {
		if p.Kind == KindRefund && p.Refunds == reference {
			return true
		}
	}
	return false
}

// A Surplus is a payment that its order could not take and that was not refunded yet.
type Surplus struct {
	Order    string // the id
	State    State  // state of the order
	Disputed bool   // the book has another order under the id: see Sale.Disputes
	Payment  Payment
}

// MaxRefunds bounds the payments that ToRefund returns.
const MaxRefunds = 10_000

// ToRefund returns up to n (1 to MaxRefunds) payments of the book that have to be refunded, oldest
// first: surplus payments without a refund. It includes surplus payments of a disputed order until
// that is refunded or dropped. The payment that paid a disputed order is not included, since it is
// part of the decision. A payment of about the last second may be missing. It refuses with a
// *FieldError or with ErrNoBook.
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

// disputedToRefund reads the surplus payments of disputed orders, of which there are few.
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
