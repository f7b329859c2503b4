package stock

import (
	"context"
	"fmt"
	"strconv"
)

// Bounds of what is put in.
const (
	MaxTotal    = 1_000_000_000_000 // of one product
	MaxProducts = 10_000            // of one sale
)

// A Product is what there is of one product: Stock + Reserved + Sold = Put, and
// none is negative.
type Product struct {
	SKU      string
	Put      int64 // what was put in, in all
	Stock    int64 // what can be reserved
	Reserved int64 // what is reserved and not paid
	Sold     int64 // what is paid
	Offer          // how it is sold
}

// Put sets how much of a product was put in, in all: to add ten to a hundred, put
// 110. A product that is not known is known from then on. It is refused with
// ErrTooLow if more is reserved and sold, and with ErrFull beyond MaxProducts. It
// may be called again; see also ErrUnsettled. Of two sellers that read a total and put more the later one undoes
// the other's: see [Sale.PutIf] and [Sale.Supply].
func (s *Sale) Put(ctx context.Context, sku string, total int64) (Product, error) {
	return s.PutIf(ctx, sku, total, Condition{})
}

// PutIf is Put on a condition; where the product is not so it is refused with ErrVersion, unless
// the total is that already: called again it says what it said.
func (s *Sale) PutIf(ctx context.Context, sku string, total int64, c Condition) (Product, error) {
	if err := checkSKU("sku", sku); err != nil {
		return Product{}, fmt.Errorf("stock: put: %w", err)
	}
	if total < 0 || total > MaxTotal {
		return Product{}, fmt.Errorf("stock: put: %w",
			&FieldError{"total", strconv.FormatInt(total, 10), fmt.Sprintf("0 to %d", int64(MaxTotal))})
	}
	keys := s.keys(keyPut, keyStock, keyReserved, keySold, keyRestocked, keyOffer, keyNames)
	answer, at, err := s.change(ctx, putScript, keys, sku, total, MaxProducts, c.text())
	var p Product
	if err == nil {
		p, err = stocked(sku, total, answer)
	}
	if err == nil {
		err = s.entered(ctx, at, sku)
	}
	if err != nil {
		return Product{}, fmt.Errorf("stock: put %q: %w", sku, err)
	}
	return p, nil
}

func stocked(sku string, total int64, answer []string) (Product, error) {
	switch {
	case is(answer, "ok", 6):
		return parseProduct(sku, answer[1:])
	case is(answer, "low", 3):
		return Product{}, fmt.Errorf("%d, with %s reserved and %s sold: %w", total, answer[1], answer[2], ErrTooLow)
	case is(answer, "full", 1):
		return Product{}, ErrFull
	case is(answer, "version", 2):
		return Product{}, ErrVersion
	}
	return Product{}, strange(answer)
}

// Product returns what there is of a product, or ErrUnknownSKU.
func (s *Sale) Product(ctx context.Context, sku string) (Product, error) {
	if err := checkSKU("sku", sku); err != nil {
		return Product{}, fmt.Errorf("stock: product: %w", err)
	}
	answer, err := s.ask(ctx, productScript, s.keys(keyPut, keyStock, keyReserved, keySold, keyOffer), sku)
	var p Product
	switch {
	case err == nil && len(answer) == 0:
		err = s.forgotten(ErrUnknownSKU)
	case err == nil:
		p, err = parseProduct(sku, answer)
	}
	if err != nil {
		return Product{}, fmt.Errorf("stock: product %q: %w", sku, err)
	}
	return p, nil
}

// parseProduct reads put, stock, reserved, sold, offer.
func parseProduct(sku string, values []string) (p Product, err error) {
	into := []*int64{&p.Put, &p.Stock, &p.Reserved, &p.Sold}
	if len(values) != len(into)+1 {
		return Product{}, strange(values)
	}
	for i := range into {
		if *into[i], err = strconv.ParseInt(values[i], 10, 64); err != nil {
			return Product{}, fmt.Errorf("counts: %w", err)
		}
	}
	p.SKU = sku
	p.Offer, err = parseOffer(values[len(into)])
	return p, err
}
