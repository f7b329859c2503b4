package stock

import (
	"errors"
	"fmt"
	"time"

	"github.com/cronce/cronce/jobs/stock/internal/format"
	"github.com/cronce/cronce/lock/guard"
)

// Refusals that a caller usually handles. Compare with errors.Is. All others differ by their Code: see RefusalError.
var (
	ErrSoldOut      = refusal("sold-out")
	ErrUnknownSKU   = refusal("unknown-product") // no seller has put it in
	ErrUnknownOrder = refusal("unknown-order")   // never reserved, or forgotten since
	ErrClosed       = refusal("closed")
)

var (
	errEnded     = refusal("ended")
	errUnpriced  = refusal("no-price")
	errConflict  = refusal("id-taken")
	errUnpaid    = refusal("unpaid")
	errRefunded  = refusal("refunded")
	errReference = refusal("reference-taken")
	errPayments  = refusal("too-many-payments")
	errTooLow    = refusal("too-low")
	errFull      = refusal("too-many-products")
	errStoreFull = refusal("store-full")
)

func refusal(code string) error { return &RefusalError{Code: code} }

// refusals are the codes with their texts.
var refusals = map[string]string{
	"sold-out":          "sold out",
	"unknown-product":   "the product is not known",
	"buyer-limit":       "the buyer may not have as many of it",
	"not-begun":         "its sale has not begun",
	"ended":             "its sale is over",
	"no-price":          "the product has no price",
	"unknown-order":     "the order is not known",
	"id-taken":          "the id is known with another order",
	"closed":            "the order is closed",
	"unpaid":            "the order is not paid",
	"refunded":          "the payment was refunded",
	"reference-taken":   "the reference is used",
	"too-many-payments": "the order has as many payments as it may",
	"too-low":           "more than that is reserved and sold",
	"too-many-products": "the sale has as many products as it may",
	"store-full":        "the store is full",
}

// A RefusalError is a request that the sale refused. Nothing was changed, except that Sale.Pay records a
// surplus payment. Two Refusals with the same Code are the same error for errors.Is.
//
// The codes are sold-out, unknown-product, buyer-limit, not-begun, ended (see Offer.Ends), no-price
// (see Sale.SetOffer), unknown-order, id-taken (the id belongs to an order with other content),
// closed, unpaid, refunded (with another reference), reference-taken (by another order, or
// by another payment of this one), too-many-payments (20), too-low (the total is below the reserved
// and sold items), too-many-products (10,000), and store-full (the store has no memory; requests
// that give items back still succeed).
type RefusalError struct {
	Code    string
	SKU     string        // of sold-out, buyer-limit, not-begun: the product
	Left    int64         // of sold-out: the remaining quantity; of buyer-limit: the remaining part of the limit
	Limit   int64         // of buyer-limit: the limit of each buyer
	Starts  time.Time     // of not-begun: when the sale of the product begins
	In      time.Duration // of not-begun: from the refusal to Starts
	State   State         // of closed: the state of the order
	Surplus string        // of closed: the reference of a payment that has to be refunded
}

func (e *RefusalError) Error() string {
	text := refusals[e.Code]
	switch {
	case e.Surplus != "":
		return fmt.Sprintf("%s: it is %s, payment %s is to be refunded", text, e.State, format.Quote(e.Surplus))
	case e.State != "":
		return fmt.Sprintf("%s: it is %s", text, e.State)
	case !e.Starts.IsZero():
		return fmt.Sprintf("%s: %s begins on %s", text, format.Quote(e.SKU), format.Time(e.Starts))
	case e.Limit != 0:
		return fmt.Sprintf("%s: %d of %s left of a limit of %d", text, e.Left, format.Quote(e.SKU), e.Limit)
	case e.SKU != "":
		return fmt.Sprintf("%s: %d of %s left", text, e.Left, format.Quote(e.SKU))
	}
	return text
}

// Is compares the codes.
func (e *RefusalError) Is(target error) bool {
	other, ok := target.(*RefusalError)
	return ok && other.Code == e.Code
}

// ErrUnconfirmed means that an order was reserved, paid or cancelled, but too few replicas
// confirmed it in time (see Options.Replicas), so a failover could undo it. Repeat the call with
// the same id.
var ErrUnconfirmed = errors.New("too few replicas have confirmed it")

// ErrUnsettled means that the store has made the change and the book does not have it yet, so a
// store that loses data could undo it. It concerns changes by sellers of a sale with Options.Book
// and, with Options.Settled, orders that were reserved, paid or cancelled. Repeat the call.
var ErrUnsettled = errors.New("the book does not have it yet")

// ErrStockUnknown means that the store has lost data that the book or this process knows of, or
// that this process has not compared the store with the book yet. The stock is unknown, so nothing
// is sold, and nothing was changed. The sale continues when the shelf was rebuilt from the book
// (see Sale.Restore).
var ErrStockUnknown = errors.New("it is not known what is left")

// ErrForeign is an ErrStockUnknown: the store holds the shelf of another database. All processes of
// a sale must use the same database.
var ErrForeign = fmt.Errorf("%w: the store belongs to another database", ErrStockUnknown)

// ErrFenced is returned to a run whose lease is over: a later run of the same job, with a higher
// fence, has begun. Nothing was changed, and the run must stop.
var ErrFenced = fmt.Errorf("a later run of the job has begun: %w", guard.ErrStale)

// A FieldError names the field or option that was refused.
type FieldError struct {
	Field   string // its name: id, receiver, items[1].quantity
	Value   string // the given value: quoted, cut, and masked if it is personal
	Allowed string // the allowed values
}

func (e *FieldError) Error() string {
	return fmt.Sprintf("%s is %s, must be %s", e.Field, e.Value, e.Allowed)
}
