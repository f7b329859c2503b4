package stock

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/cronce/cronce/jobs/stock/internal/format"
)

// An Offer is the price and the conditions of a product. The zero Offer has no price: the product
// cannot be ordered.
type Offer struct {
	Price    int64  // of one piece, in minor units (cents): 0 to 10^12
	Currency string // three capital letters, as ISO 4217 has them
	// BuyerLimit bounds the quantity that one buyer may have in all reserved and paid orders: 0 to
	// 1,000,000. An order must then name its Buyer. A lowered limit affects new orders only.
	// Zero: no limit.
	BuyerLimit int64
	// Starts and Ends bound the sale of the product by the store's clock, in whole milliseconds: it
	// can be ordered from Starts on, until before Ends. Zero: no bound.
	Starts, Ends time.Time
}

// maxInstant is the latest Starts and Ends, in Unix ms: the end of the year 9999.
const maxInstant = 253_402_300_799_999

func (o Offer) validate() error {
	if o.Price < 0 || o.Price > maxAmount {
		return &FieldError{"price", strconv.FormatInt(o.Price, 10), fmt.Sprintf("0 to %d minor units", int64(maxAmount))}
	}
	if !isCurrency(o.Currency) {
		return &FieldError{"currency", format.Quote(o.Currency), "three capital letters, such as EUR"}
	}
	if o.BuyerLimit < 0 || o.BuyerLimit > maxQuantity {
		return &FieldError{"buyer_limit", strconv.FormatInt(o.BuyerLimit, 10), fmt.Sprintf("1 to %d, or 0 for any number", maxQuantity)}
	}
	for field, t := range map[string]time.Time{"starts_at": o.Starts, "ends_at": o.Ends} {
		if !t.IsZero() && (t.UnixMilli() < 1 || t.UnixMilli() > maxInstant || t.Nanosecond()%1_000_000 != 0) {
			return &FieldError{field, t.UTC().Format(time.RFC3339Nano), "after 1970-01-01T00:00:00Z and up to the year 9999, in whole milliseconds"}
		}
	}
	if !o.Starts.IsZero() && !o.Ends.IsZero() && !o.Starts.Before(o.Ends) {
		return &FieldError{"ends_at", format.Time(o.Ends), "an instant after starts_at"}
	}
	return nil
}

// line returns the offer in the store's format: price and currency, and, if one of them is set, the
// limit, Starts and Ends (0 for none). Empty: no offer.
func (o Offer) line() string {
	if o.Currency == "" {
		return ""
	}
	line := strconv.FormatInt(o.Price, 10) + " " + o.Currency
	if o.BuyerLimit == 0 && o.Starts.IsZero() && o.Ends.IsZero() {
		return line
	}
	return fmt.Sprintf("%s %d %d %d", line, o.BuyerLimit, instant(o.Starts), instant(o.Ends))
}

// instant returns a time in Unix ms, 0 for the zero time; instantOf is its inverse.
func instant(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func instantOf(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// parseOffer parses a line; an empty one is no offer.
func parseOffer(line string) (o Offer, err error) {
	if line == "" {
		return Offer{}, nil
	}
	parts := strings.Split(line, " ")
	if len(parts) != 2 && len(parts) != 5 {
		return Offer{}, fmt.Errorf("offer has %d parts, want 2 or 5", len(parts))
	}
	var starts, ends int64
	o.Currency = parts[1]
	if err = parseNumbers(append(parts[:1:1], parts[2:]...), []*int64{&o.Price, &o.BuyerLimit, &starts, &ends}[:len(parts)-1]...); err == nil {
		o.Starts, o.Ends = instantOf(starts), instantOf(ends)
		err = o.validate()
	}
	if err != nil {
		return Offer{}, fmt.Errorf("offer: %w", err)
	}
	return o, nil
}

// SetOffer sets the offer of a product. Existing orders keep the price at which they were placed.
// An unknown product is created with nothing put in. It refuses with a *FieldError, or too-many-products
// beyond 10,000. It may be called again.
func (s *Sale) SetOffer(ctx context.Context, sku string, o Offer) (Product, error) {
	if err := o.validate(); err != nil {
		return Product{}, fmt.Errorf("stock: offer: %w", err)
	}
	return s.put(ctx, sku, "", o.line())
}
