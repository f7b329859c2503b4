package stock

import (
	"context"
	"errors"
	"fmt"
	"slices"
)

// A ProductPage is some products, and where the next page begins.
type ProductPage struct {
	Products []Product
	Next     string // the cursor of the next page; empty: there is none
}

// Products returns up to limit products, 1 to MaxPage, in the order of their SKUs, as they
// are now. Cursor is the Next of the page before; empty for the first. A product that comes
// or goes meanwhile is on a page or not, and no other is missed or there twice. It is refused
// with a *FieldError.
func (s *Sale) Products(ctx context.Context, cursor string, limit int) (ProductPage, error) {
	page, err := s.products(ctx, cursor, limit)
	if err != nil {
		return ProductPage{}, fmt.Errorf("stock: products: %w", err)
	}
	return page, nil
}

func (s *Sale) products(ctx context.Context, cursor string, limit int) (page ProductPage, err error) {
	after, err := parseCursor("products", cursor)
	if err := errors.Join(checkLimit(limit), err); err != nil {
		return page, err
	}
	skus, err := again(ctx, func() ([]string, error) { return s.client.HKeys(ctx, s.key(keyPut)).Result() }) // at most MaxProducts
	if err != nil {
		return page, err
	}
	if len(skus) == 0 {
		return page, s.forgotten(nil)
	}
	slices.Sort(skus)
	at, found := slices.BinarySearch(skus, after)
	if found {
		at++
	}
	skus = skus[at:]
	if len(skus) > limit {
		skus = skus[:limit]
		page.Next = cursorOf("products", skus[limit-1])
	}
	page.Products, err = s.readProducts(ctx, skus)
	return page, err
}

// readProducts reads products, without those that are not known.
func (s *Sale) readProducts(ctx context.Context, skus []string) ([]Product, error) {
	args := make([]any, len(skus))
	for i, sku := range skus {
		args[i] = sku
	}
	answer, err := s.ask(ctx, pageScript, s.keys(keyPut, keyStock, keyReserved, keySold, keyOffer), args...)
	if err != nil {
		return nil, err
	}
	const each = 6
	if len(answer)%each != 0 {
		return nil, strange(answer)
	}
	products := make([]Product, 0, len(skus))
	for one := range slices.Chunk(answer, each) {
		p, err := parseProduct(one[0], one[1:])
		if err != nil {
			return nil, fmt.Errorf("product %s: %w", quote(one[0]), err)
		}
		products = append(products, p)
	}
	return products, nil
}
