package stock

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// MaxSupplies is how much that was added may wait for its settlement at once.
const MaxSupplies = 1000

// Supply adds to what was put in of a product, once per product and reference: two sellers that add
// ten each have added twenty, and one that asks again has added ten. The book remembers the
// references for ever, and the store for Options.Retention; with Options.Book the database
// must answer. It is refused with a *FieldError, also beyond MaxTotal, with ErrUnknownSKU,
// with ErrReference when another quantity was added with the reference, or with ErrSupplies.
// It may be called again.
func (s *Sale) Supply(ctx context.Context, sku, reference string, quantity int64) (Product, error) {
	one := supply{sku, reference, quantity}
	err := one.validate()
	var p Product
	if err == nil {
		p, err = s.supply(ctx, one)
	}
	if err != nil {
		return Product{}, fmt.Errorf("stock: supply %s: %w", quote(sku), err)
	}
	return p, nil
}

// A supply is what was added to a product.
type supply struct {
	sku, reference string
	quantity       int64
}

func (a supply) validate() error {
	var faults []error
	if err := checkSKU("sku", a.sku); err != nil {
		faults = append(faults, err)
	}
	if err := checkReference("reference", a.reference); err != nil {
		faults = append(faults, err)
	}
	if a.quantity < 1 || a.quantity > MaxTotal {
		faults = append(faults, &FieldError{"quantity", strconv.FormatInt(a.quantity, 10), fmt.Sprintf("1 to %d", int64(MaxTotal))})
	}
	return errors.Join(faults...)
}

func (a supply) field() string { return a.sku + " " + a.reference }

func (s *Sale) supplyKeys(supplies []supply) []string {
	keys := make([]string, len(supplies))
	for i, a := range supplies {
		keys[i] = s.key(keySupply + a.sku + ":" + a.reference)
	}
	return keys
}

func (s *Sale) supply(ctx context.Context, a supply) (Product, error) {
	if b := s.options.Book; b != nil {
		known, err := b.supplies(ctx, s.ID(), []supply{a})
		if err != nil {
			return Product{}, fmt.Errorf("read the book: %w", err)
		}
		if quantity, ok := known[a.field()]; ok && quantity != a.quantity {
			return Product{}, ErrReference
		} else if ok {
			return s.Product(ctx, a.sku)
		}
	}
	keys := append(s.keys(keyPut, keyStock, keyReserved, keySold, keyRestocked, keyOffer), s.supplyKeys([]supply{a})...)
	answer, at, err := s.change(ctx, supplyScript, append(keys, s.key(keySupplied)), a.sku, a.reference, a.quantity, MaxTotal, MaxSupplies)
	switch {
	case err != nil:
		return Product{}, err
	case is(answer, "ok", 6):
		if err := s.entered(ctx, at, a.sku); err != nil {
			return Product{}, err
		}
		return parseProduct(a.sku, answer[1:])
	case is(answer, "unknown", 1):
		return Product{}, ErrUnknownSKU
	case is(answer, "used", 2):
		return Product{}, ErrReference
	case is(answer, "many", 1):
		return Product{}, ErrSupplies
	case is(answer, "over", 2):
		return Product{}, &FieldError{"quantity", strconv.FormatInt(a.quantity, 10), fmt.Sprintf("up to %d in all, of which %s are there", int64(MaxTotal), answer[1])}
	}
	return Product{}, strange(answer)
}

func parseSupply(field, quantity string) (a supply, err error) {
	a.sku, a.reference, _ = strings.Cut(field, " ")
	if a.quantity, err = strconv.ParseInt(quantity, 10, 64); err == nil {
		err = a.validate()
	}
	if err != nil {
		return supply{}, fmt.Errorf("what was added, %s: %w", quote(field), err)
	}
	return a, nil
}

// supplied marks what was added as being in the database.
func (s *Sale) supplied(ctx context.Context, fence int64, supplies []supply) error {
	if len(supplies) == 0 {
		return nil
	}
	args := []any{s.options.Retention.Milliseconds()}
	for _, a := range supplies {
		args = append(args, a.field())
	}
	keys := append(s.keys(keyFence+settling, keySupplied), s.supplyKeys(supplies)...)
	if _, err := s.fenced(ctx, suppliedScript, keys, fence, args...); err != nil {
		return fmt.Errorf("stock: mark what was added: %w", err)
	}
	return nil
}
