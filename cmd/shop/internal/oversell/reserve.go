package oversell

import (
	"context"
	"errors"
	"fmt"

	"github.com/cronce/cronce/jobs/stock"
)

const reserveName = "reserve"

// Reserve takes an item out of stock with the script of package stock, which checks, takes and
// records the order in one step of the store, and returns the same answer to a repeated order. The
// work comes after that, while the item is reserved. No buyer waits for it. If it fails, or the
// process dies, the reservation expires and the item is back in stock.
type Reserve struct {
	Sale *stock.Sale
	SKU  string
	Work Work
}

// Buy implements [Strategy].
func (s *Reserve) Buy(ctx context.Context, order string) error {
	_, _, err := s.Sale.Reserve(ctx, stock.Order{
		ID: order, Receiver: "the buyer",
		Items: []stock.Item{{SKU: s.SKU, Quantity: 1}},
	})
	if errors.Is(err, stock.ErrSoldOut) {
		return ErrSoldOut
	}
	if err != nil {
		return err
	}
	return s.Work(ctx)
}

// A saleShelf is the product of a [stock.Sale].
type saleShelf struct {
	sale   *stock.Sale
	sku    string
	orders []string // ids of all possible orders
}

// Fill implements [Shelf], for a sale that has no orders.
func (s *saleShelf) Fill(ctx context.Context, n int) error {
	if err := s.sale.Probe(ctx); err != nil {
		return err
	}
	if _, err := s.sale.SetOffer(ctx, s.sku, stock.Offer{Price: 100, Currency: "EUR"}); err != nil {
		return err
	}
	_, err := s.sale.Put(ctx, s.sku, int64(n))
	return err
}

// Left implements [Shelf].
func (s *saleShelf) Left(ctx context.Context) (int, error) {
	p, err := s.sale.Product(ctx, s.sku)
	return int(p.Stock), err
}

// Orders implements [Shelf]. It reads each order, and compares their number with the sale's own
// counts.
func (s *saleShelf) Orders(ctx context.Context) (n int, err error) {
	for _, id := range s.orders {
		_, err := s.sale.Order(ctx, id)
		if err == nil {
			n++
		} else if !errors.Is(err, stock.ErrUnknownOrder) {
			return 0, err
		}
	}
	p, err := s.sale.Product(ctx, s.sku)
	if counted := int(p.Reserved + p.Sold); err == nil && counted != n {
		err = fmt.Errorf("%d orders, and the sale counts %d", n, counted)
	}
	return n, err
}
