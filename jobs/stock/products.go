package stock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/cronce/cronce/jobs/stock/internal/format"
)

// maxPage bounds the products of a page, and the orders of one query.
const maxPage = 500

// Products returns up to limit products (1 to 500) with their current counts, in the order of their
// SKUs, behind the SKU after; empty: from the first on. Next is the SKU after which the next page
// begins; empty: there is none. A product that is added meanwhile may be missing; every
// other product is on exactly one page. It refuses with a *FieldError.
func (s *Sale) Products(ctx context.Context, after string, limit int) (page []Product, next string, err error) {
	page, next, err = s.products(ctx, after, limit)
	if err != nil {
		return nil, "", fmt.Errorf("stock: products: %w", err)
	}
	return page, next, nil
}

func (s *Sale) products(ctx context.Context, after string, limit int) (page []Product, next string, err error) {
	if limit < 1 || limit > maxPage {
		err = &FieldError{"limit", strconv.Itoa(limit), fmt.Sprintf("1 to %d", maxPage)}
	}
	if after != "" {
		err = errors.Join(err, checkSKU("cursor", after))
	}
	if err != nil {
		return nil, "", err
	}
	answer, err := s.ask(ctx, pageScript, s.keys(keyPut, keyStock, keyReserved, keySold, keyOffer, keyNames), after, limit)
	if err != nil {
		return nil, "", err
	}
	if len(answer) == 0 {
		return nil, "", s.forgotten(nil)
	}
	const each = 6
	if len(answer)%each != 1 {
		return nil, "", unknownAnswer(answer)
	}
	for one := range slices.Chunk(answer[1:], each) {
		p, err := parseProduct(one[0], one[1:])
		if err != nil {
			return nil, "", fmt.Errorf("product %s: %w", format.Quote(one[0]), err)
		}
		page = append(page, p)
	}
	return page, answer[0], nil
}
