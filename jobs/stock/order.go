package stock

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/cronce/cronce/internal/plaintext"
	"github.com/cronce/cronce/jobs/stock/internal/format"
)

// Bounds of an order.
const (
	maxItems    = 50                // of one order
	maxQuantity = 1_000_000         // of one item
	maxAmount   = 1_000_000_000_000 // of a price, and of all items together, in minor units
	maxReceiver = 200               // characters
	maxBuyer    = 64                // characters
)

// An Order is the order of a buyer. Its price follows from the offers of the products, and is in
// its [Record]. Printed or logged, it shows a masked receiver.
type Order struct {
	// ID is the order's identity and its idempotency key: [A-Za-z0-9._-]{1,64},
	// except . and .., which have a meaning in the path of a request.
	ID string
	// Receiver is the name and address for the delivery: 1 to 200 printable characters.
	Receiver string
	// Buyer identifies the buyer by an id of the client's choice: [A-Za-z0-9._-]{1,64}. It may be
	// empty if no product of the order has an Offer.BuyerLimit. Orders with different buyers are
	// different orders.
	Buyer string
	// Items are 1 to 50 items of different products.
	Items []Item
}

// An Item is a quantity of one product.
type Item struct {
	SKU      string // [A-Za-z0-9][A-Za-z0-9._-]{0,63}
	Quantity int64  // 1 to 1,000,000
	// Price is the price of one piece when the order was placed, in minor units. It is set in a
	// Record, and must be 0 in an order that is to be placed.
	Price int64
}

// Amount returns the price of the item, in minor units.
func (i Item) Amount() int64 { return i.Price * i.Quantity }

func isCurrency(s string) bool {
	return len(s) == 3 && strings.IndexFunc(s, func(r rune) bool { return r < 'A' || r > 'Z' }) < 0
}

// Validate returns nil, or a *FieldError for each field that is not allowed,
// joined.
func (o Order) Validate() error {
	var faults []error
	refuse := func(field, value, allowed string) {
		faults = append(faults, &FieldError{field, value, allowed})
	}
	if err := checkID(o.ID); err != nil {
		faults = append(faults, err)
	}
	if fault := receiverFault(o.Receiver); fault != "" {
		refuse("receiver", fault, fmt.Sprintf("1 to %d printable characters", maxReceiver))
	}
	if o.Buyer != "" && !format.IsName(o.Buyer) {
		refuse("buyer", fmt.Sprintf("%d characters", utf8.RuneCountInString(o.Buyer)), fmt.Sprintf("1 to %d of A-Z a-z 0-9 . _ -", maxBuyer))
	}
	if len(o.Items) == 0 || len(o.Items) > maxItems {
		refuse("items", fmt.Sprintf("a list of %d", len(o.Items)), fmt.Sprintf("1 to %d of them", maxItems))
		return errors.Join(faults...) // an excessive list is not checked item by item
	}
	return errors.Join(append(faults, o.itemFaults()...)...)
}

func (o Order) itemFaults() (faults []error) {
	for i, item := range o.Items {
		at := func(field string) string { return fmt.Sprintf("items[%d].%s", i, field) }
		same := func(other Item) bool { return other.SKU == item.SKU }
		if err := checkSKU("sku", item.SKU); err != nil {
			faults = append(faults, checkSKU(at("sku"), item.SKU))
		} else if slices.ContainsFunc(o.Items[:i], same) {
			faults = append(faults, &FieldError{at("sku"), format.Quote(item.SKU) + " again", "each product once"})
		}
		if item.Quantity < 1 || item.Quantity > maxQuantity {
			faults = append(faults, &FieldError{at("quantity"), strconv.FormatInt(item.Quantity, 10), fmt.Sprintf("1 to %d", maxQuantity)})
		}
		if item.Price != 0 {
			faults = append(faults, &FieldError{at("price"), strconv.FormatInt(item.Price, 10), "none: the product has the price"})
		}
	}
	return faults
}

func checkID(id string) error {
	if format.IsName(id) && id != "." && id != ".." {
		return nil
	}
	return &FieldError{"id", format.Quote(id), "1 to 64 of A-Z a-z 0-9 . _ -, and neither . nor .."}
}

func checkSKU(field, sku string) error {
	if format.IsName(sku) && format.Alphanumeric(sku[0]) {
		return nil
	}
	return &FieldError{field, format.Quote(sku), "a letter or digit, then up to 63 of A-Z a-z 0-9 . _ -"}
}

// receiverFault describes the fault of a receiver without repeating it.
func receiverFault(receiver string) string {
	if strings.ContainsRune(receiver, utf8.RuneError) {
		return "not UTF-8" // a decoder has replaced it by U+FFFD
	}
	return plaintext.Fault(receiver, maxReceiver, false)
}

// sorted returns the items in the order of their SKUs, as they are stored. Two orders that differ
// only in the sequence of their items are equal.
func (o Order) sorted() []Item {
	if len(o.Items) == 1 {
		return o.Items
	}
	items := slices.Clone(o.Items)
	slices.SortFunc(items, func(a, b Item) int { return strings.Compare(a.SKU, b.SKU) })
	return items
}

// String is for people and logs: the receiver is masked.
func (o Order) String() string {
	return fmt.Sprintf("order %s of %d items for %s", format.Quote(o.ID), len(o.Items), format.Mask(o.Receiver))
}

// GoString is String, so that %#v shows no receiver either.
func (o Order) GoString() string { return o.String() }

// LogValue is the order in a log, with a masked receiver.
func (o Order) LogValue() slog.Value {
	return slog.GroupValue(slog.String("id", o.ID), slog.String("receiver", format.Mask(o.Receiver)), slog.Int("items", len(o.Items)))
}
