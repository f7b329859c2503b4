package stock_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/redisserver"

	"github.com/cronce/cronce/jobs/stock"
)

func offer(t testing.TB, s *stock.Sale, sku string, price int64, currency string) {
	t.Helper()
	if _, err := s.SetOffer(t.Context(), sku, stock.Offer{Price: price, Currency: currency}); err != nil {
		t.Fatal(err)
	}
}

// An order costs what its products cost when it is placed, whatever their prices
// become, also when it is asked for again, read, settled, and put on a shelf again.
func TestPriceAtPurchase(t *testing.T) {
	onDatabases(t, func(t *testing.T, client redis.UniversalClient, p place) {
		s := keptSale(t, client, p, stock.Options{})
		put(t, s, "tea", 10)
		put(t, s, "cup", 10)
		offer(t, s, "tea", 350, "EUR")
		offer(t, s, "cup", 0, "EUR") // given away
		o := order("o", stock.Item{SKU: "tea", Quantity: 2}, stock.Item{SKU: "cup", Quantity: 3})
		reserve(t, s, o)
		offer(t, s, "tea", 999, "USD")
		want := fmt.Sprint(700, "EUR", []stock.Item{{SKU: "cup", Quantity: 3}, {SKU: "tea", Quantity: 2, Price: 350}})
		check := func(when string, r stock.Record, err error) {
			t.Helper()
			if got := fmt.Sprint(r.Amount, r.Currency, r.Items); err != nil || got != want {
				t.Errorf("%s: %s, %v, want %s", when, got, err, want)
			}
		}
		again, fresh, err := s.Reserve(t.Context(), o)
		if fresh {
			t.Error("the order was placed twice")
		}
		check("again", again, err)
		settle(t, s, p, 1, 1)
		p.wantLines(t, "SELECT sku, quantity, price, amount FROM order_item ORDER BY sku", "cup 3 0 0", "tea 2 350 700")
		p.wantLines(t, "SELECT amount, currency FROM orders", "700 EUR")
		p.wantLines(t, "SELECT sku, price, currency FROM product ORDER BY sku", "cup 0 EUR", "tea 999 USD")
		if err := client.FlushAll(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		if _, err := s.RestoreNow(t.Context()); err != nil {
			t.Fatal(err)
		}
		restored, err := s.Order(t.Context(), "o")
		check("restored", restored, err)
		again, _, err = s.Reserve(t.Context(), o)
		check("again, restored", again, err)
		other := reserve(t, s, order("other"))
		if got := fmt.Sprint(other.Amount, other.Currency); got != "999USD" && got != "999 USD" {
			t.Errorf("after the price has changed: %s, want 999 USD", got)
		}
		paid, err := pay(t.Context(), s, "o")
		check("paid", paid, err)
	})
}

// What an order would cost is refused with the field that makes it so, and takes
// nothing.
func TestPriceRefused(t *testing.T) {
	onStores(t, func(t *testing.T, client redis.UniversalClient) {
		s := newSale(t, client, stock.Options{})
		for sku, o := range map[string]stock.Offer{
			"dear": {Price: stock.MaxAmount, Currency: "EUR"}, "half": {Price: stock.MaxAmount / 2, Currency: "EUR"}, "cheap": {Price: 1, Currency: "EUR"}, "yen": {Price: 1, Currency: "JPY"},
		} {
			put(t, s, sku, stock.MaxQuantity)
			offer(t, s, sku, o.Price, o.Currency)
		}
		if _, err := s.Put(t.Context(), "unpriced", 5); err != nil {
			t.Fatal(err)
		}
		one := func(skus ...string) (items []stock.Item) {
			for _, sku := range skus {
				items = append(items, stock.Item{SKU: sku, Quantity: 1})
			}
			return items
		}
		for i, c := range []struct {
			items []stock.Item
			want  string // of the error; empty: none
		}{
			{one("dear"), ""},
			{one("cheap", "half"), ""},
			{[]stock.Item{{SKU: "half", Quantity: 2}}, ""},
			{[]stock.Item{{SKU: "half", Quantity: 3}}, "items[0].quantity is too many at 500000000000, must be an order of up to 1000000000000 minor units in all"},
			{[]stock.Item{{SKU: "dear", Quantity: stock.MaxQuantity}}, "items[0].quantity"},
			{one("dear", "cheap"), "items[1].quantity is too many at 1,"},
			{one("cheap", "yen"), `items[1].sku is "yen" in JPY, must be products in EUR`},
			{one("cheap", "unpriced"), `"unpriced": the product has no price`},
		} {
			_, _, err := s.Reserve(t.Context(), order(fmt.Sprint("o-", i), c.items...))
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v: %v, want %q", c.items, err, c.want)
			}
		}
		wantProduct(t, s, "cheap", stock.MaxQuantity, stock.MaxQuantity-1, 1, 0)
		wantProduct(t, s, "unpriced", 5, 5, 0, 0)
		if p, err := s.Product(t.Context(), "unpriced"); err != nil || p.Offer != (stock.Offer{}) {
			t.Errorf("%+v, %v, want no offer", p, err)
		}
	})
}

// A price makes a product known, with nothing put in; one for too many products is
// refused.
func TestOfferOfANewProduct(t *testing.T) {
	client := connect(t, miniredis.RunT(t).Addr())
	s := newSale(t, client, stock.Options{})
	offer(t, s, "tea", 350, "EUR")
	wantProduct(t, s, "tea", 0, 0, 0, 0)
	if _, _, err := s.Reserve(t.Context(), order("o")); !errors.Is(err, stock.ErrSoldOut) {
		t.Errorf("%v, want ErrSoldOut", err)
	}
	var others []any
	for i := range stock.MaxProducts - 2 {
		others = append(others, fmt.Sprint("sku-", i), 0)
	}
	if err := client.HSet(t.Context(), "cronce:v1:stock:{cronce:shop}:put", others...).Err(); err != nil {
		t.Fatal(err)
	}
	offer(t, s, "last", 1, "EUR")
	if _, err := s.SetOffer(t.Context(), "more", stock.Offer{Currency: "EUR"}); !errors.Is(err, stock.ErrFull) {
		t.Errorf("%v, want ErrFull", err)
	}
	offer(t, s, "tea", 360, "EUR") // is there already
}

// A store that went back to an older state has prices of then as not settled:
// a rebuild takes none of them over.
func TestOlderStoreChangesNoOffer(t *testing.T) {
	t.Parallel()
	p := sqlite(t)
	client := connect(t, redisserver.Start(t).Addr())
	s := keptSale(t, client, p, stock.Options{})
	put(t, s, "tea", 10)
	put(t, s, "cup", 3)
	put(t, s, "pot", 5)
	settle(t, s, p, 1, 0)
	put(t, s, "tea", 10)
	put(t, s, "cup", 3)
	put(t, s, "pot", 5)
	const restocked = "cronce:v1:stock:{cronce:shop}:restocked"
	older, err := client.HGetAll(t.Context(), restocked).Result()
	if err != nil || len(older) != 3 {
		t.Fatal(older, err)
	}
	put(t, s, "pot", 7)
	reserve(t, s, order("a", stock.Item{SKU: "pot", Quantity: 2}))
	now := priceOf
	now.Price++
	setOffer(t, s, "cup", now)
	put(t, s, "tea", 4)
	settle(t, s, p, 2, 1)
	client.FlushAll(t.Context())
	if err := client.HSet(t.Context(), restocked, older).Err(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.RestoreNow(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantProduct(t, s, "tea", 4, 4, 0, 0)
	if cup, err := s.Product(t.Context(), "cup"); err != nil || cup.Offer != now {
		t.Errorf("cup %+v, %v, want the price of %+v", cup, err, now)
	}
	wantProduct(t, s, "pot", 7, 5, 2, 0)
}
