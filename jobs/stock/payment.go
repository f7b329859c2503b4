package stock

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/cronce/cronce/jobs/stock/internal/format"
)

// maxPayments bounds the payments, refunds and returns of one order.
const maxPayments = 20

// The kinds of a Payment.
const (
	kindPaid    = "paid"    // paid the order
	kindSurplus = "surplus" // the order was closed or already paid, so the payment has to be refunded
	kindRefund  = "refund"  // a refund of a payment
	kindReturn  = "return"  // a return of the items
)

// A Payment is a payment, a refund or a return, as a payment service or a seller reports it.
type Payment struct {
	Kind      string    // paid (it paid the order), surplus (it has to be refunded), refund, or return (of the items)
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
	return &FieldError{field, format.Quote(reference), "1 to 64 of A-Z a-z 0-9 . _ -"}
}

func (p Payment) validate() error {
	var faults []error
	if err := checkReference("reference", p.Reference); err != nil {
		faults = append(faults, err)
	}
	if p.Amount < 0 || p.Amount > maxAmount {
		faults = append(faults, &FieldError{"amount", strconv.FormatInt(p.Amount, 10), fmt.Sprintf("0 to %d minor units", int64(maxAmount))})
	}
	if !isCurrency(p.Currency) {
		faults = append(faults, &FieldError{"currency", format.Quote(p.Currency), "three capital letters, such as EUR"})
	}
	return errors.Join(faults...)
}

// line returns the payment in the format of a record.
func (p Payment) line() string {
	return strings.Join([]string{p.Kind, p.Reference, strconv.FormatInt(p.Amount, 10), p.Currency, strconv.FormatInt(p.At.UnixMilli(), 10), p.Refunds}, ":")
}

func parsePayment(line string) (p Payment, err error) {
	parts := strings.Split(line, ":")
	if len(parts) != 6 {
		return p, fmt.Errorf("payment has %d parts, want 6", len(parts))
	}
	p = Payment{Kind: parts[0], Reference: parts[1], Currency: parts[3], Refunds: parts[5]}
	if p.Amount, err = strconv.ParseInt(parts[2], 10, 64); err != nil {
		return p, err
	}
	p.At, err = parseTime(parts[4])
	return p, err
}

// ToRefund returns the surplus payments that were not refunded yet.
func (r Record) ToRefund() (due []Payment) {
	for _, p := range r.Payments {
		if p.Kind == kindSurplus && !r.refunded(p.Reference) {
			due = append(due, p)
		}
	}
	return due
}

func (r Record) refunded(reference string) bool {
	for _, p := range r.Payments {
		if p.Kind == kindRefund && p.Refunds == reference {
			return true
		}
	}
	return false
}
