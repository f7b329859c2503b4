package stock_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/jobs/stock"
)

// A deleted product is not known any more, not after a rebuild either; what was sold of it stays,
// and can come back; put again it goes on. The books balance all the time.
func TestDelete(t *testing.T) {
	onDatabases(t, func(t *testing.T, client redis.UniversalClient, p place) {
		s := keptSale(t, client, p, stock.Options{})
		put(t, s, "tea", 10)
		put(t, s, "cup", 3)
		reserve(t, s, order("a"))
		reserve(t, s, order("b"))
		if err := s.Delete(t.Context(), "tea", ""); !errors.Is(err, stock.ErrReserved) {
			t.Fatalf("with some reserved: %v", err)
		}
		for _, id := range []string{"a", "b"} {
			if _, err := pay(t.Context(), s, id); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Delete(t.Context(), "tea", "0123456789abcdef"); !errors.Is(err, stock.ErrVersion) {
			t.Errorf("another version: %v", err)
		}
		for range 2 {
			if err := s.Delete(t.Context(), "tea", ""); err != nil {
				t.Fatal(err)
			}
		}
		wantGone(t, s)
		settle(t, s, p, 1, 2)
		p.wantLines(t, offered, "cup 3 0 0 EUR", "tea 2 0 2 -")
		wantReconciled(t, s, p, 1)
		client.FlushAll(t.Context())
		if _, err := s.RestoreNow(t.Context()); err != nil {
			t.Fatal(err)
		}
		wantGone(t, s)
		if _, err := s.Return(t.Context(), "a", "r-1"); err != nil {
			t.Fatal(err)
		}
		wantGone(t, s)
		settle(t, s, p, 2, 1)
		p.wantLines(t, offered, "cup 3 0 0 EUR", "tea 2 0 1 -")
		again(t, s)
		settle(t, s, p, 3, 1)
		p.wantLines(t, offered, "cup 3 0 0 EUR", "tea 6 1 1 EUR")
		p.wantSums(t)
		wantReconciled(t, s, p, 3)
	})
}

// A store that went back to an older state has prices of then, and deletions, as not settled:
// a rebuild takes none of them over.
func TestOlderStoreChangesNoOffer(t *testing.T) {
	t.Parallel()
	p := sqlite(t)
	client := connect(t, redisserver.Start(t).Addr())
	s := keptSale(t, client, p, stock.Options{})
	put(t, s, "tea", 10)
	put(t, s, "cup", 3)
	put(t, s, "pot", 5)
	put(t, s, "can", 4)
	settle(t, s, p, 1, 0)
	put(t, s, "tea", 10)
	put(t, s, "cup", 3)
	put(t, s, "can", 4)
	if err := s.Delete(t.Context(), "pot", ""); err != nil {
		t.Fatal(err)
	}
	const restocked = "cronce:v1:stock:{cronce:shop}:restocked"
	older, err := client.HGetAll(t.Context(), restocked).Result()
	if err != nil || len(older) != 4 {
		t.Fatal(older, err)
	}
	put(t, s, "pot", 7)
	reserve(t, s, order("a", stock.Item{SKU: "pot", Quantity: 2}))
	now := priceOf
	now.Price++
	setOffer(t, s, "cup", now)
	if err := s.Delete(t.Context(), "tea", ""); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(t.Context(), "can", ""); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(t.Context(), "can", 6); err != nil { // again, and without a price
		t.Fatal(err)
	}
	settle(t, s, p, 2, 1)
	client.FlushAll(t.Context())
	if err := client.HSet(t.Context(), restocked, older).Err(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.RestoreNow(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Product(t.Context(), "tea"); !errors.Is(err, stock.ErrUnknownSKU) {
		t.Errorf("tea, which was deleted: %v", err)
	}
	if cup, err := s.Product(t.Context(), "cup"); err != nil || cup.Offer != now {
		t.Errorf("cup %+v, %v, want the price of %+v", cup, err, now)
	}
	if can, err := s.Product(t.Context(), "can"); err != nil || can.Put != 6 || can.Offer != (stock.Offer{}) {
		t.Errorf("can %+v, %v, want 6 without a price", can, err)
	}
	wantProduct(t, s, "pot", 7, 5, 2, 0)
	if figures, err := s.Figures(t.Context()); err != nil || fmt.Sprint(figures.Stock) != "map[can:6 cup:3 pot:5]" {
		t.Errorf("%+v, %v, want the stock of what can be ordered", figures, err)
	}
}

const offered = "SELECT sku, put_in, reserved, sold, currency FROM product ORDER BY sku"

// wantGone checks that tea is not known, and cup is.
func wantGone(t *testing.T, s *stock.Sale) {
	t.Helper()
	if got, err := s.Product(t.Context(), "tea"); !errors.Is(err, stock.ErrUnknownSKU) {
		t.Errorf("%v, %v", got, err)
	}
	if _, _, err := s.Reserve(t.Context(), order("c")); !errors.Is(err, stock.ErrUnknownSKU) {
		t.Errorf("reserve: %v", err)
	}
	if page, _, err := s.Products(t.Context(), "", 10); err != nil || len(page) != 1 || page[0].SKU != "cup" {
		t.Errorf("%v, %v", page, err)
	}
}

// again puts tea again, of which one was sold, and sells one.
func again(t *testing.T, s *stock.Sale) {
	t.Helper()
	if _, err := s.PutIf(t.Context(), "tea", 0, "-"); !errors.Is(err, stock.ErrTooLow) {
		t.Errorf("less than what was sold: %v", err)
	}
	if _, err := s.PutIf(t.Context(), "tea", 6, "-"); err != nil {
		t.Fatal(err)
	}
	wantProduct(t, s, "tea", 6, 5, 0, 1)
	if _, _, err := s.Reserve(t.Context(), order("c")); !errors.Is(err, stock.ErrUnpriced) {
		t.Errorf("without a price: %v", err)
	}
	if _, err := s.SetOffer(t.Context(), "tea", priceOf); err != nil {
		t.Fatal(err)
	}
	reserve(t, s, order("c"))
}

// A deleted product is not known any more, and can be put again.
func ExampleSale_Delete() {
	s, done, err := exampleSale()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer done()
	ctx := context.Background()
	p, err := s.Put(ctx, "tea", 5)
	fmt.Println(p.Put, err)
	fmt.Println(s.Delete(ctx, "tea", ""))
	_, err = s.Product(ctx, "tea")
	fmt.Println(err)
	// Output:
	// 5 <nil>
	// <nil>
	// stock: product "tea": the product is not known
}
