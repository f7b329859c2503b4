package stock_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/jobs/stock"
)

// A change is made only to the version that it was meant for; asked again, as after a lost reply,
// it has the same answer. Orders change no version.
func TestConditions(t *testing.T) {
	onStores(t, func(t *testing.T, client redis.UniversalClient) {
		s := newSale(t, client, stock.Options{})
		refused := func(p stock.Product, err error) {
			t.Helper()
			if !errors.Is(err, stock.ErrVersion) {
				t.Errorf("%v, %v, want ErrVersion", p, err)
			}
		}
		must := func(p stock.Product, err error) stock.Product {
			t.Helper()
			if err != nil {
				t.Error(err)
			}
			return p
		}
		absent, known := "-", "*"
		refused(s.PutIf(t.Context(), "tea", 5, known))
		refused(s.SetOfferIf(t.Context(), "tea", priceOf, "0123456789abcdef"))
		must(s.PutIf(t.Context(), "tea", 5, absent))
		must(s.PutIf(t.Context(), "tea", 5, absent))
		refused(s.PutIf(t.Context(), "tea", 6, absent))
		refused(s.SetOfferIf(t.Context(), "tea", priceOf, absent))
		first := must(s.Product(t.Context(), "tea")).Version()
		second := must(s.SetOfferIf(t.Context(), "tea", priceOf, first)).Version()
		must(s.SetOfferIf(t.Context(), "tea", priceOf, first))
		if first == second {
			t.Errorf("both versions are %s", first)
		}
		reserve(t, s, order("a"))
		if v := must(s.Product(t.Context(), "tea")).Version(); v != second {
			t.Errorf("an order has changed the version from %s to %s", second, v)
		}
		refused(s.PutIf(t.Context(), "tea", 7, first))
		must(s.PutIf(t.Context(), "tea", 7, first+","+second))
		must(s.PutIf(t.Context(), "tea", 8, known))
		wantProduct(t, s, "tea", 8, 7, 1, 0)
	})
}

// A total that another seller has changed since it was read is not undone.
func ExampleSale_PutIf() {
	s, done, err := exampleSale()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer done()
	ctx := context.Background()
	read, err := s.PutIf(ctx, "tea", 5, "-")
	fmt.Println(read.Put, err)
	_, err = s.Put(ctx, "tea", 8) // the other
	fmt.Println(err)
	_, err = s.PutIf(ctx, "tea", read.Put+10, read.Version())
	fmt.Println(err)
	// Output:
	// 5 <nil>
	// <nil>
	// stock: put "tea": the product is another version by now
}
