package stock

import (
	"context"
	"fmt"
	"strconv"
)

// Bounds of products.
const (
	maxTotal    = 1_000_000_000_000 // quantity put in of one product
	maxProducts = 10_000            // products of one sale
)

// A Product is a product with its counts: Stock + Reserved + Sold = Put, and none is negative.
type Product struct {
	SKU      string
	Put      int64 // the total that was ever put in
	Stock    int64 // quantity that can be reserved
	Reserved int64 // quantity that is reserved and not paid
	Sold     int64 // quantity that is paid
	Offer          // price and conditions
}

// Put sets the total of a product that was ever put in: to add ten to a hundred, put 110. An
// unknown product is created. It refuses with too-low if more is reserved and sold, and with
// too-many-products beyond 10,000. It may be called again; see also ErrUnsettled. If two sellers read a
// total and then put a higher one, the second overwrites the first.
func (s *Sale) Put(ctx context.Context, sku string, total int64) (Product, error) {
	if total < 0 || total > maxTotal {
		return Product{}, fmt.Errorf("stock: put: %w",
			&FieldError{"total", strconv.FormatInt(total, 10), fmt.Sprintf("0 to %d", int64(maxTotal))})
	}
	return s.put(ctx, sku, strconv.FormatInt(total, 10), "")
}

// put sets the total or the offer of a product; an empty text leaves it as it is.
func (s *Sale) put(ctx context.Context, sku, total, offer string) (p Product, err error) {
	if err := checkSKU("sku", sku); err != nil {
		return Product{}, fmt.Errorf("stock: put: %w", err)
	}
	keys := s.keys(keyPut, keyStock, keyReserved, keySold, keyRestocked, keyOffer)
	answer, at, err := s.change(ctx, putScript, keys, sku, total, offer, maxProducts)
	switch {
	case err != nil:
	case is(answer, "ok", 6):
		p, err = parseProduct(sku, answer[1:])
	case is(answer, "low", 3):
		err = fmt.Errorf("%s, with %s reserved and %s sold: %w", total, answer[1], answer[2], errTooLow)
	case is(answer, "full", 1):
		err = errFull
	default:
		err = unknownAnswer(answer)
	}
	if err == nil {
		err = s.await(ctx, entry{sku: sku, at: at})
	}
	if err != nil {
		return Product{}, fmt.Errorf("stock: put %q: %w", sku, err)
	}
	return p, nil
}

// Product returns a product, or ErrUnknownSKU.
func (s *Sale) Product(ctx context.Context, sku string) (Product, error) {
	if err := checkSKU("sku", sku); err != nil {
		return Product{}, fmt.Errorf("stock: product: %w", err)
	}
	answer, err := s.runScript(ctx, productScript, s.keys(keyPut, keyStock, keyReserved, keySold, keyOffer), sku)
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

// parseProduct parses put, stock, reserved, sold, offer.
func parseProduct(sku string, values []string) (p Product, err error) {
	into := []*int64{&p.Put, &p.Stock, &p.Reserved, &p.Sold}
	if len(values) != len(into)+1 {
		return Product{}, unknownAnswer(values)
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
