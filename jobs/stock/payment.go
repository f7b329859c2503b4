package stock

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// MaxPayments is how many payments, refunds and returns one order may have.
const MaxPayments = 20

// A Kind is what a Payment is.
type Kind string

// The kinds.
const (
	KindPaid    Kind = "paid"    // it has paid the order
	KindSurplus Kind = "surplus" // the order could not take it: it was closed, or paid already. It is to be refunded
	KindRefund  Kind = "refund"  // a payment goes back
	KindReturn  Kind = "return"  // the items came back
)

// A Payment is what a payment service reports of an order, or its refund, or a return.
type Payment struct {
	Kind      Kind
	Reference string    // of the payment service: 1 to 64 of A-Z a-z 0-9 . _ -, one order's alone
	Amount    int64     // in minor units; 0 of a return
	Currency  string    // of the amount
	At        time.Time // when the sale recorded it
	Refunds   string    // of a refund: the reference of the payment
}

func checkReference(field, reference string) error {
	if isName(reference) {
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

// line is the payment as a record has it.
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

// ToRefund are the surplus payments of an order that did not go back yet.
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
