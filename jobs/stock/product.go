package stock

import (
	"context"
	"crypto/sha1" // as the scripts have it: it distinguishes versions, and guards nothing
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
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

// Delete ends the sale of a product of which nothing is reserved: from then on it is not known to
// buyers and sellers. What was sold of it stays in the book, and can come back by a refund or
// return. Put and SetOffer begin it again; its total goes on from what was sold, which it counts.
// It is refused with a *FieldError, ErrUnknownSKU, ErrReserved, or, where the condition does not
// hold, ErrVersion. It may be called again.
func (s *Sale) Delete(ctx context.Context, sku string, c Condition) error {
	if err := checkSKU("sku", sku); err != nil {
		return fmt.Errorf("stock: delete: %w", err)
	}
	answer, at, err := s.change(ctx, deleteScript, s.keys(keyPut, keyStock, keyReserved, keySold, keyRestocked, keyOffer), sku, c.text())
	switch {
	case err != nil:
	case is(answer, "ok", 1):
		if err = s.entered(ctx, at, sku); err == nil {
			return nil
		}
	case is(answer, "unknown", 1):
		err = s.forgotten(ErrUnknownSKU)
	case is(answer, "reserved", 2):
		err = fmt.Errorf("%s: %w", answer[1], ErrReserved)
	case is(answer, "version", 2):
		err = ErrVersion
	default:
		err = strange(answer)
	}
	return fmt.Errorf("stock: delete %s: %w", quote(sku), err)
}

// A Condition says for which version of a product a change is meant. The zero Condition is for
// any, and for a product that is not known.
type Condition struct {
	Absent   bool     // only while it is not known; nothing else counts then
	Known    bool     // only while it is known
	Versions []string // only while it is one of these: see Product.Version
}

// text is the condition as the store wants it.
func (c Condition) text() string {
	switch {
	case c.Absent:
		return "-"
	case len(c.Versions) > 0:
		return strings.Join(c.Versions, ",")
	case c.Known:
		return "*"
	}
	return ""
}

// Version distinguishes what a seller may change of a product, what was put in and how it is sold, from
// what that was before. It does not change with its orders.
func (p Product) Version() string {
	sum := sha1.Sum([]byte(strconv.FormatInt(p.Put, 10) + " " + p.line()))
	return hex.EncodeToString(sum[:])[:16]
}
