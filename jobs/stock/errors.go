package stock

import (
	"errors"
	"fmt"
	"time"

	"github.com/cronce/cronce/jobs/stock/internal/format"
	"github.com/cronce/cronce/lock/guard"
)

// The refusals of a sale. Nothing was changed.
var (
	ErrSoldOut      = errors.New("sold out")                                 // a *SoldOutError has the product
	ErrUnknownSKU   = errors.New("the product is not known")                 // no seller has put it in
	ErrBuyerLimit   = errors.New("the buyer may not have as many of it")     // a *BuyerLimitError has the limit
	ErrNotBegun     = errors.New("its sale has not begun")                   // a *NotBegunError has the beginning
	ErrEnded        = errors.New("its sale is over")                         // see Offer.Ends
	ErrUnpriced     = errors.New("the product has no price")                 // see Sale.SetOffer
	ErrUnknownOrder = errors.New("the order is not known")                   // never reserved, or forgotten since
	ErrConflict     = errors.New("the id is known with another order")       // same id, other content
	ErrClosed       = errors.New("the order is closed")                      // a *ClosedError has its state
	ErrPaying       = errors.New("the order is being paid")                  // so it cannot be cancelled
	ErrUnpaid       = errors.New("the order is not paid")                    // so its items cannot be returned
	ErrRefunded     = errors.New("the payment was refunded")                 // with another reference
	ErrReference    = errors.New("the reference is used")                    // by another order, or by something else of this one
	ErrPayments     = errors.New("the order has as many payments as it may") // see MaxPayments
	ErrTooLow       = errors.New("more than that is reserved and sold")      // of what was put in
	ErrReserved     = errors.New("so many are reserved")                     // of a product that is to be deleted
	ErrVersion      = errors.New("the product is another version by now")    // than a Condition names
	ErrSupplies     = errors.New("too much that was added is not settled")   // see MaxSupplies
	ErrFull         = errors.New("the sale has as many products as it may")  // see MaxProducts
)

// ErrStoreFull means that the store has no memory for the request: nothing was changed. Requests
// that give items back still succeed.
var ErrStoreFull = errors.New("the store is full")

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

// A SoldOutError is an ErrSoldOut with the remaining quantity.
type SoldOutError struct {
	SKU  string
	Left int64 // less than the order needs; may be more than 0
}

func (e *SoldOutError) Error() string {
	return fmt.Sprintf("%s: %d of %s left", ErrSoldOut, e.Left, quote(e.SKU))
}

// Is makes the error an ErrSoldOut.
func (e *SoldOutError) Is(target error) bool { return target == ErrSoldOut }

// A BuyerLimitError is an ErrBuyerLimit with the buyer's limit.
type BuyerLimitError struct {
	SKU   string
	Limit int64 // for each buyer
	Left  int64 // remaining part of the limit; 0 also if the buyer has more than a lowered limit
}

func (e *BuyerLimitError) Error() string {
	return fmt.Sprintf("%s: %d of %s left of a limit of %d", ErrBuyerLimit, e.Left, quote(e.SKU), e.Limit)
}

// Is makes the error an ErrBuyerLimit.
func (e *BuyerLimitError) Is(target error) bool { return target == ErrBuyerLimit }

// A NotBegunError is an ErrNotBegun with the time at which the sale of a product begins.
type NotBegunError struct {
	SKU    string
	Starts time.Time
	In     time.Duration // duration from the refusal to Starts
}

func (e *NotBegunError) Error() string {
	return fmt.Sprintf("%s: that of %s begins on %s", ErrNotBegun, quote(e.SKU), showTime(e.Starts))
}

// Is makes the error an ErrNotBegun.
func (e *NotBegunError) Is(target error) bool { return target == ErrNotBegun }

// A ClosedError is an ErrClosed with the last state of the order.
type ClosedError struct {
	ID      string
	State   State
	Surplus string // reference of a payment that the closed order could not take, to be refunded
}

func (e *ClosedError) Error() string {
	text := fmt.Sprintf("%s: it is %s", ErrClosed, e.State)
	if e.Surplus != "" {
		text += ", payment " + quote(e.Surplus) + " is to be refunded"
	}
	return text
}

// Is makes the error an ErrClosed.
func (e *ClosedError) Is(target error) bool { return target == ErrClosed }

// A FieldError names the field or option that was refused.
type FieldError struct {
	Field   string // its name: id, receiver, items[1].quantity
	Value   string // the given value: quoted, cut, and masked if it is personal
	Allowed string // the allowed values
}

func (e *FieldError) Error() string {
	return fmt.Sprintf("%s is %s, must be %s", e.Field, e.Value, e.Allowed)
}

func quote(s string) string { return format.Quote(s) }

func showTime(t time.Time) string { return format.Time(t) }
