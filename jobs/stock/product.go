package stock

import (
	"context"
	"crypto/sha1" // as the scripts have it: it distinguishes versions, and guards nothing
	"encoding/hex"
	"fmt"
	"strconv"

	"github.com/cronce/cronce/jobs/stock/internal/format"
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
// total and then put a higher one, the second overwrites the first: see [Sale.PutIf].
func (s *Sale) Put(ctx context.Context, sku string, total int64) (Product, error) {
	return s.PutIf(ctx, sku, total, "")
}

// PutIf is Put on a condition: a Product.Version, several with commas between them, "*" for a
// product that is known, "-" for one that is not, or empty for any. It refuses (version) if the product does not meet the
// condition, unless the product has this total already, so that a repeated call succeeds.
func (s *Sale) PutIf(ctx context.Context, sku string, total int64, condition string) (Product, error) {
	if err := checkSKU("sku", sku); err != nil {
		return Product{}, fmt.Errorf("stock: put: %w", err)
	}
	if total < 0 || total > maxTotal {
		return Product{}, fmt.Errorf("stock: put: %w",
			&FieldError{"total", strconv.FormatInt(total, 10), fmt.Sprintf("0 to %d", int64(maxTotal))})
	}
	keys := s.keys(keyPut, keyStock, keyReserved, keySold, keyRestocked, keyOffer, keyNames)
	answer, at, err := s.change(ctx, putScript, keys, sku, total, maxProducts, condition)
	var p Product
	if err == nil {
		p, err = stocked(sku, total, answer)
	}
	if err == nil {
		err = s.awaitProduct(ctx, at, sku)
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
		return Product{}, fmt.Errorf("%d, with %s reserved and %s sold: %w", total, answer[1], answer[2], errTooLow)
	case is(answer, "full", 1):
		return Product{}, errFull
	case is(answer, "version", 2):
		return Product{}, errVersion
	}
	return Product{}, unknownAnswer(answer)
}

// Product returns a product, or ErrUnknownSKU.
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

// Delete ends the sale of a product without reserved items: buyers and sellers no longer see it.
// Its sold items stay in the book, and can be refunded or returned. Put and SetOffer begin its sale
// again, with a total that includes the sold items. It refuses with a *FieldError, ErrUnknownSKU,
// reserved, or with version if the product does not meet the condition. It may be called
// again.
func (s *Sale) Delete(ctx context.Context, sku string, condition string) error {
	if err := checkSKU("sku", sku); err != nil {
		return fmt.Errorf("stock: delete: %w", err)
	}
	answer, at, err := s.change(ctx, deleteScript, s.keys(keyPut, keyStock, keyReserved, keySold, keyRestocked, keyOffer), sku, condition)
	switch {
	case err != nil:
	case is(answer, "ok", 1):
		if err = s.awaitProduct(ctx, at, sku); err == nil {
			return nil
		}
	case is(answer, "unknown", 1):
		err = s.forgotten(ErrUnknownSKU)
	case is(answer, "reserved", 2):
		err = fmt.Errorf("%s: %w", answer[1], errReserved)
	case is(answer, "version", 2):
		err = errVersion
	default:
		err = unknownAnswer(answer)
	}
	return fmt.Errorf("stock: delete %s: %w", format.Quote(sku), err)
}

// Version identifies the part of a product that sellers change: its total and its offer. It does
// not change with orders.
func (p Product) Version() string {
	sum := sha1.Sum([]byte(strconv.FormatInt(p.Put, 10) + " " + p.line()))
	return hex.EncodeToString(sum[:])[:16]
}
