package stock

import (
	"context"
	"fmt"
)

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
