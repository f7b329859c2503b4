package stock

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
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
	answer, err := s.ask(ctx, pageScript, s.keys(keyPut, keyStock, keyReserved, keySold, keyOffer, keyNames), after, limit)
	if err != nil {
		return page, err
	}
	if len(answer) == 0 {
		return page, s.forgotten(nil)
	}
	const each = 6
	if len(answer)%each != 1 {
		return page, strange(answer)
	}
	if answer[0] != "" {
		page.Next = cursorOf("products", answer[0])
	}
	for one := range slices.Chunk(answer[1:], each) {
		p, err := parseProduct(one[0], one[1:])
		if err != nil {
			return page, fmt.Errorf("product %s: %w", quote(one[0]), err)
		}
		page.Products = append(page.Products, p)
	}
	return page, nil
}

// MaxPage is how many products or orders a page has at most.
const MaxPage = 500

// cursorOf is the cursor behind a name, in a list that a query makes.
func cursorOf(query, after string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(query + "\n" + after))
}

// parseCursor returns the name that a cursor of the query is behind; that of the first page
// is empty.
func parseCursor(query, cursor string) (after string, err error) {
	if cursor == "" {
		return "", nil
	}
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	of, after, found := strings.Cut(string(text), "\n")
	if err != nil || !found || of != query || !isName(after) {
		return "", &FieldError{"cursor", quote(cursor), "what the page before said, of the same list"}
	}
	return after, nil
}

func checkLimit(limit int) error {
	if limit < 1 || limit > MaxPage {
		return &FieldError{"limit", strconv.Itoa(limit), fmt.Sprintf("1 to %d", MaxPage)}
	}
	return nil
}
