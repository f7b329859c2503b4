package stock

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// An Offer is how a product is sold. The zero Offer is that of a product without a
// price, which cannot be ordered.
type Offer struct {
	Price    int64  // of one, in minor units (cents): 0 to MaxAmount
	Currency string // three capital letters, as ISO 4217 has them
}

func (o Offer) validate() error {
	if o.Price < 0 || o.Price > MaxAmount {
		return &FieldError{"price", strconv.FormatInt(o.Price, 10), fmt.Sprintf("0 to %d minor units", int64(MaxAmount))}
	}
	if !isCurrency(o.Currency) {
		return &FieldError{"currency", quote(o.Currency), "three capital letters, such as EUR"}
	}
	return nil
}

// line is the offer as the store has it; empty: none.
func (o Offer) line() string {
	if o.Currency == "" {
		return ""
	}
	return strconv.FormatInt(o.Price, 10) + " " + o.Currency
}

// parseOffer reads a line; nothing is no offer.
func parseOffer(line string) (o Offer, err error) {
	if line == "" {
		return o, nil
	}
	price, currency, _ := strings.Cut(line, " ")
	o.Currency = currency
	if o.Price, err = strconv.ParseInt(price, 10, 64); err == nil {
		err = o.validate()
	}
	if err != nil {
		return Offer{}, fmt.Errorf("offer: %w", err)
	}
	return o, nil
}

// SetOffer sets how a product is sold from now on. Orders that are placed keep the price
// that they were placed at. A product that is not known is known from then on, with
// nothing put in. It is refused with a *FieldError, or with ErrFull beyond
// MaxProducts. It may be called again.
func (s *Sale) SetOffer(ctx context.Context, sku string, o Offer) (Product, error) {
	return s.SetOfferIf(ctx, sku, o, Condition{})
}

// SetOfferIf is SetOffer on a condition; where the product is not so it is refused with
// ErrVersion, unless it is sold so already: called again it says what it said.
func (s *Sale) SetOfferIf(ctx context.Context, sku string, o Offer, c Condition) (Product, error) {
	err := checkSKU("sku", sku)
	if err == nil {
		err = o.validate()
	}
	if err != nil {
		return Product{}, fmt.Errorf("stock: offer: %w", err)
	}
	keys := s.keys(keyPut, keyStock, keyReserved, keySold, keyRestocked, keyOffer)
	answer, _, err := s.change(ctx, offerScript, keys, sku, o.line(), MaxProducts, c.text())
	var p Product
	if err == nil {
		p, err = stocked(sku, 0, answer)
	}
	if err != nil {
		return Product{}, fmt.Errorf("stock: offer %q: %w", sku, err)
	}
	return p, nil
}
