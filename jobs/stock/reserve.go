package stock

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/cronce/cronce/jobs/stock/internal/format"
)

// Reserve takes all items of an order out of stock, or none, for Options.Hold. It reports whether
// the order is new. A repeated call with the same order takes nothing, and returns the current
// record of the order. If that is past its time, the call expires it.
//
// While the store does not answer, Reserve repeats the request for five seconds or until ctx ends.
// After that it is unknown whether the order was accepted: call Reserve again with the same id.
//
// It refuses with a joined *FieldError for each field that is not allowed. That includes an order
// above 10^12, an order in several currencies, and an order without Buyer for a product with a
// BuyerLimit. Other refusals are ErrSoldOut, buyer-limit, not-begun, ended, ErrUnknownSKU,
// no-price and id-taken. See also ErrUnconfirmed, ErrUnsettled and ErrStockUnknown.
func (s *Sale) Reserve(ctx context.Context, o Order) (r Record, fresh bool, err error) {
	if err := o.Validate(); err != nil {
		return Record{}, false, fmt.Errorf("stock: reserve: %w", err)
	}
	items, rest, err := o.content()
	if err != nil {
		return Record{}, false, fmt.Errorf("stock: reserve: %w", err)
	}
	args := make([]any, 0, 6+2*len(o.Items))
	args = append(args, o.ID, s.options.Hold.Milliseconds(), items, rest, maxAmount, o.Buyer)
	for _, item := range o.Items {
		args = append(args, item.SKU, item.Quantity)
	}
	keys := s.keys(keyOrder+o.ID, keyStock, keyReserved, keyFresh, keyHalted, keyOffer, keyDue, keyBought, keyUnsettled)
	answer, at, err := s.change(ctx, reserveScript, keys, args...)
	if err == nil {
		r, fresh, err = s.reservation(o, answer)
	}
	if err == nil {
		err = s.await(ctx, entry{record: r, at: at})
	}
	if errors.Is(err, errConflict) && r.ID != "" {
		r, err = s.contradicted(ctx, at.epoch, r)
		fresh = false
	}
	if err != nil {
		return Record{}, false, fmt.Errorf("stock: reserve %q: %w", o.ID, err)
	}
	return r, fresh, nil
}

// reservation parses the script's answer to an order.
func (s *Sale) reservation(o Order, answer []string) (r Record, fresh bool, err error) {
	switch {
	case is(answer, "new", 3):
		r = Record{Order: o, State: Reserved}
		if err := r.parseItems(answer[2]); err != nil {
			return Record{}, false, err
		}
		r.Placed, err = parseTime(answer[1])
		r.Due, r.Changed = r.Placed.Add(s.options.Hold.Truncate(time.Millisecond)), r.Placed
		return r, true, err
	case is(answer, "known", 2):
		r, err = parseRecord(o.ID, answer[1])
		return r, false, err
	case is(answer, "other", 1):
		return Record{}, false, errConflict
	case is(answer, "unknown", 2):
		return Record{}, false, fmt.Errorf("%s: %w", format.Quote(answer[1]), ErrUnknownSKU)
	case is(answer, "unpriced", 2):
		return Record{}, false, fmt.Errorf("%s: %w", format.Quote(answer[1]), errUnpriced)
	case is(answer, "mixed", 4):
		return Record{}, false, o.refused(answer[1], "sku", "in "+answer[2], "products in "+answer[3]+", as the first is")
	case is(answer, "sum", 3):
		return Record{}, false, o.refused(answer[1], "quantity", "too many at "+answer[2],
			fmt.Sprintf("an order of up to %d minor units in all", int64(maxAmount)))
	case is(answer, "halted", 2):
		return Record{}, false, fmt.Errorf("%w: the books of %s do not balance", ErrStockUnknown, format.Quote(answer[1]))
	case is(answer, "sold out", 3):
		left, err := strconv.ParseInt(answer[2], 10, 64)
		if err != nil {
			return Record{}, false, err
		}
		return Record{}, false, &RefusalError{Code: "sold-out", SKU: answer[1], Left: left}
	}
	return Record{}, false, o.unoffered(answer)
}

// unoffered returns the error of an order that an offer of its products does not allow.
func (o Order) unoffered(answer []string) error {
	var a, b int64
	switch {
	case is(answer, "buyer", 2):
		return &FieldError{"buyer", "missing", fmt.Sprintf("1 to %d of A-Z a-z 0-9 . _ -, since items[%s] is limited for each buyer", maxBuyer, answer[1])}
	case len(answer) < 3 || len(answer) > 4 || parseNumbers(answer[2:], []*int64{&a, &b}[:len(answer)-2]...) != nil:
		return unknownAnswer(answer)
	case is(answer, "limit", 4):
		return &RefusalError{Code: "buyer-limit", SKU: answer[1], Limit: a, Left: max(0, a-b)}
	case is(answer, "not begun", 4):
		return &RefusalError{Code: "not-begun", SKU: answer[1], Starts: time.UnixMilli(a).UTC(), In: time.Duration(a-b) * time.Millisecond}
	case is(answer, "ended", 3):
		return fmt.Errorf("%s, on %s: %w", format.Quote(answer[1]), format.Time(time.UnixMilli(a)), errEnded)
	}
	return unknownAnswer(answer)
}

// refused returns the FieldError of an item, whose index comes as a text.
func (o Order) refused(index, field, value, allowed string) error {
	i, err := strconv.Atoi(index)
	if err != nil || i < 0 || i >= len(o.Items) {
		return unknownAnswer([]string{index})
	}
	if field == "sku" {
		value = format.Quote(o.Items[i].SKU) + " " + value
	}
	return &FieldError{fmt.Sprintf("items[%d].%s", i, field), value, allowed}
}

// is reports whether an answer has this length and begins with this word.
func is(answer []string, word string, length int) bool {
	return len(answer) == length && answer[0] == word
}

// unknownAnswer is the error of an answer that the script cannot give.
func unknownAnswer(answer []string) error {
	return fmt.Errorf("unknown answer of %d values", len(answer))
}
