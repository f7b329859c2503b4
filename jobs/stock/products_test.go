package stock_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/jobs/stock"
)

// Each product is on one page, in the order of the SKUs, whatever comes meanwhile.
func TestProductPages(t *testing.T) {
	onStores(t, func(t *testing.T, client redis.UniversalClient) {
		s := newSale(t, client, stock.Options{})
		var want []string
		for i := range 23 {
			sku := fmt.Sprintf("p-%02d", i)
			put(t, s, sku, int64(i))
			want = append(want, sku)
		}
		var got []string
		cursor := ""
		for page := 0; ; page++ {
			products, next, err := s.Products(t.Context(), cursor, 5)
			if err != nil {
				t.Fatal(err)
			}
			for _, one := range products {
				got = append(got, one.SKU)
				if one != (stock.Product{SKU: one.SKU, Put: one.Put, Stock: one.Put, Offer: priceOf}) {
					t.Errorf("%+v", one)
				}
			}
			if page == 1 {
				put(t, s, "a", 1) // before: not seen any more
			}
			if cursor = next; cursor == "" {
				break
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q", got)
		}
		for _, limit := range []int{0, -1, stock.MaxPage + 1} {
			if _, _, err := s.Products(t.Context(), "", limit); !slices.Equal(fields(err), []string{"limit"}) {
				t.Errorf("limit %d: %v", limit, err)
			}
		}
		if _, _, err := s.Products(t.Context(), "a b", 1); !slices.Equal(fields(err), []string{"cursor"}) {
			t.Errorf("a cursor that is no SKU: %v", err)
		}
	})
}

// A store that was rebuilt from the book has pages of all products.
func TestProductPagesAfterRestore(t *testing.T) {
	onDatabase(t, "sqlite", sqlite, func(t *testing.T, client redis.UniversalClient, p place) {
		s := keptSale(t, client, p, stock.Options{})
		const names = "cronce:v1:stock:{cronce:shop}:names"
		want := func(when string, skus ...string) {
			t.Helper()
			var got []string
			for cursor, more := "", true; more; more = cursor != "" {
				page, next, err := s.Products(t.Context(), cursor, 2)
				if err != nil {
					t.Fatal(err)
				}
				for _, one := range page {
					got = append(got, one.SKU)
				}
				cursor = next
			}
			if !slices.Equal(got, skus) {
				t.Errorf("%s: %q, want %q", when, got, skus)
			}
		}
		want("without products")
		for _, sku := range []string{"tea", "cup", "pot", "Pot", "p.t"} {
			put(t, s, sku, 1)
		}
		want("new", "Pot", "cup", "p.t", "pot", "tea")
		settle(t, s, p, 1, 0)
		if err := client.FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		if _, err := s.RestoreNow(t.Context()); err != nil {
			t.Fatal(err)
		}
		if n, err := client.ZCard(t.Context(), names).Result(); err != nil || n != 5 {
			t.Errorf("%d names after the rebuild, %v", n, err)
		}
		want("rebuilt", "Pot", "cup", "p.t", "pot", "tea")
	})
}

// A closed sale still reads an order that the store has, unless its record is broken.
func TestOrderWhileClosed(t *testing.T) {
	client, p := connect(t, redisServer(t)), sqlite(t)
	s := keptSale(t, client, p, stock.Options{})
	put(t, s, "tea", 5)
	reserve(t, s, order("a"))
	reserve(t, s, order("b"))
	if err := client.HSet(t.Context(), saleTag+"shelf", "closed", "behind").Err(); err != nil {
		t.Fatal(err)
	}
	if err := client.Set(t.Context(), saleTag+"order:b", "reserved", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if err := s.Probe(t.Context()); !errors.Is(err, stock.ErrStockUnknown) {
		t.Fatal(err)
	}
	if _, err := s.Order(t.Context(), "a"); err != nil {
		t.Errorf("Order: %v", err)
	}
	if _, err := s.Order(t.Context(), "b"); err == nil {
		t.Error("an order whose record is broken is read")
	}
}

// Pages of two products.
func ExampleSale_Products() {
	s, done, err := exampleSale()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer done()
	ctx := context.Background()
	for _, sku := range []string{"tea", "cup", "pot"} {
		if _, err := s.Put(ctx, sku, 5); err != nil {
			fmt.Println(err)
		}
	}
	for page, cursor := 1, ""; page == 1 || cursor != ""; page++ {
		products, next, err := s.Products(ctx, cursor, 2)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(page, len(products), products[0].SKU)
		cursor = next
	}
	// Output:
	// 1 2 cup
	// 2 1 tea
}

// exampleSale is a sale on a store of its own.
func exampleSale() (s *stock.Sale, done func(), err error) {
	server := miniredis.NewMiniRedis() // in place of a real one
	if err := server.Start(); err != nil {
		return nil, nil, err
	}
	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
	s, err = stock.NewSale(client, stock.Options{})
	return s, func() { _ = client.Close(); server.Close() }, err
}
