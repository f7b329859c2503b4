package stock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/jobs/stock"
)

// Two sellers add ten each, both ask three times at once, and every second reply is lost: twenty
// are added.
func TestSupply(t *testing.T) {
	onStores(t, func(t *testing.T, client redis.UniversalClient) {
		s := newSale(t, client, stock.Options{})
		put(t, s, "tea", 100)
		reserve(t, s, order("a"))
		client.AddHook(new(deaf))
		var group sync.WaitGroup
		for _, reference := range []string{"d-1", "d-2"} {
			for range 3 {
				group.Go(func() {
					if _, err := s.Supply(t.Context(), "tea", reference, 10); err != nil {
						t.Error(err)
					}
				})
			}
		}
		group.Wait()
		wantProduct(t, s, "tea", 120, 119, 1, 0)
		put(t, s, "cup", 0)
		if _, err := s.Supply(t.Context(), "cup", "d-1", 5); err != nil { // a delivery may have several products
			t.Error(err)
		}
		wantProduct(t, s, "cup", 5, 5, 0, 0)
		for _, c := range []struct {
			sku, reference string
			quantity       int64
			want           error
			fields         string
		}{
			{"tea", "d-1", 11, stock.ErrReference, ""},
			{"pot", "d-1", 1, stock.ErrUnknownSKU, ""},
			{"tea", "d-3", stock.MaxTotal - 119, nil, "quantity"},
			{"a b", "d 3", 0, nil, "sku reference quantity"},
			{"tea", "d-3", stock.MaxTotal + 1, nil, "quantity"},
		} {
			_, err := s.Supply(t.Context(), c.sku, c.reference, c.quantity)
			if err == nil || c.want != nil && !errors.Is(err, c.want) || strings.Join(fields(err), " ") != c.fields {
				t.Errorf("%+v: %v", c, err)
			}
		}
		wantProduct(t, s, "tea", 120, 119, 1, 0)
		if _, err := s.Supply(t.Context(), "tea", "d-3", stock.MaxTotal-120); err != nil {
			t.Error(err)
		}
	})
}

// What was added is in the book with the total, and is not added again, whatever the store has
// forgotten since, and also not after its loss. What was not settled before the loss is dropped, and
// can be added again.
func TestSupplyOutlivesTheStore(t *testing.T) {
	onDatabases(t, func(t *testing.T, client redis.UniversalClient, p place) {
		s := keptSale(t, client, p, stock.Options{})
		supply := func(reference string) {
			t.Helper()
			if _, err := s.Supply(t.Context(), "tea", reference, 10); err != nil {
				t.Fatal(err)
			}
		}
		put(t, s, "tea", 100)
		supply("d-1")
		settle(t, s, p, 1, 0)
		p.wantLines(t, productRows, "tea 110 0 0")
		p.wantLines(t, "SELECT sku, reference, quantity FROM stock_supply", "tea d-1 10")
		supply("d-1")
		const mark = "cronce:v1:stock:{cronce:shop}:supply:tea:"
		if ttl := client.TTL(t.Context(), mark+"d-1").Val(); ttl <= 0 {
			t.Errorf("its mark is kept for %s", ttl)
		}
		client.Del(t.Context(), mark+"d-1") // as after its retention
		supply("d-1")
		wantProduct(t, s, "tea", 110, 110, 0, 0)
		if _, err := s.Supply(t.Context(), "tea", "d-1", 5); !errors.Is(err, stock.ErrReference) {
			t.Errorf("another quantity: %v", err)
		}

		seller := newSale(t, client, stock.Options{}) // as one that was not answered in time
		if _, err := seller.Supply(t.Context(), "tea", "d-2", 10); err != nil {
			t.Fatal(err)
		}
		client.Del(t.Context(), "cronce:v1:stock:{cronce:shop}:shelf") // and what is unsettled is left
		if err := s.Probe(t.Context()); !errors.Is(err, stock.ErrStockUnknown) {
			t.Fatal(err)
		}
		if _, err := s.RestoreNow(t.Context()); err != nil {
			t.Fatal(err)
		}
		wantProduct(t, s, "tea", 110, 110, 0, 0)
		supply("d-1")
		supply("d-2")
		supply("d-2")
		wantProduct(t, s, "tea", 120, 120, 0, 0)
		settle(t, s, p, 2, 0)
		p.wantLines(t, productRows, "tea 120 0 0")
		if n := client.HLen(t.Context(), "cronce:v1:stock:{cronce:shop}:supplied").Val(); n != 0 {
			t.Errorf("%d are still to be settled", n)
		}

		supply("d-3")
		client.FlushAll(t.Context())
		if _, err := s.RestoreNow(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, reference := range []string{"d-1", "d-2", "d-3"} {
			supply(reference)
		}
		wantProduct(t, s, "tea", 130, 130, 0, 0)
	})
}

// The keys of a sale are deleted one after the other, and a delivery comes in between: of it the store has nothing but
// its reference, with which the seller, without an answer, sends it again.
func TestLeftOverDelivery(t *testing.T) {
	t.Parallel()
	p := sqlite(t)
	client := connect(t, redisserver.Start(t).Addr())
	s := keptSale(t, client, p, stock.Options{})
	put(t, s, "tea", 100)
	settle(t, s, p, 1, 0)
	if err := client.Set(t.Context(), saleTag+"supply:tea:d-1", "25", 0).Err(); err != nil {
		t.Fatal(err)
	}
	for _, quantity := range []int64{25, 25} {
		if _, err := s.Supply(t.Context(), "tea", "d-1", quantity); err != nil {
			t.Error(err)
		}
	}
	wantProduct(t, s, "tea", 125, 125, 0, 0)
	p.wantLines(t, productRows, "tea 125 0 0")
	settle(t, s, p, 2, 0)
	if _, err := s.Supply(t.Context(), "tea", "d-1", 25); err != nil { // from now on the book has it, and the store for its time
		t.Error(err)
	}
	wantProduct(t, s, "tea", 125, 125, 0, 0)
	p.wantLines(t, "SELECT sku, reference, quantity FROM stock_supply", "tea d-1 25")
}

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
		absent, known := stock.Condition{Absent: true}, stock.Condition{Known: true}
		refused(s.PutIf(t.Context(), "tea", 5, known))
		refused(s.SetOfferIf(t.Context(), "tea", priceOf, stock.Condition{Versions: []string{"0123456789abcdef"}}))
		must(s.PutIf(t.Context(), "tea", 5, absent))
		must(s.PutIf(t.Context(), "tea", 5, absent))
		refused(s.PutIf(t.Context(), "tea", 6, absent))
		refused(s.SetOfferIf(t.Context(), "tea", priceOf, absent))
		first := must(s.Product(t.Context(), "tea")).Version()
		second := must(s.SetOfferIf(t.Context(), "tea", priceOf, stock.Condition{Versions: []string{first}})).Version()
		must(s.SetOfferIf(t.Context(), "tea", priceOf, stock.Condition{Versions: []string{first}}))
		if first == second {
			t.Errorf("both versions are %s", first)
		}
		reserve(t, s, order("a"))
		if v := must(s.Product(t.Context(), "tea")).Version(); v != second {
			t.Errorf("an order has changed the version from %s to %s", second, v)
		}
		refused(s.PutIf(t.Context(), "tea", 7, stock.Condition{Versions: []string{first}}))
		must(s.PutIf(t.Context(), "tea", 7, stock.Condition{Versions: []string{first, second}}))
		must(s.PutIf(t.Context(), "tea", 8, known))
		wantProduct(t, s, "tea", 8, 7, 1, 0)
	})
}

// Two deliveries of ten, the second reported twice.
func ExampleSale_Supply() {
	s, done, err := exampleSale()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer done()
	ctx := context.Background()
	if _, err := s.Put(ctx, "tea", 5); err != nil {
		fmt.Println(err)
	}
	for _, reference := range []string{"d-1", "d-2", "d-2"} {
		p, err := s.Supply(ctx, "tea", reference, 10)
		fmt.Println(p.Put, err)
	}
	// Output:
	// 15 <nil>
	// 25 <nil>
	// 25 <nil>
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
	read, err := s.PutIf(ctx, "tea", 5, stock.Condition{Absent: true})
	fmt.Println(read.Put, err)
	_, err = s.Put(ctx, "tea", 8) // the other
	fmt.Println(err)
	_, err = s.PutIf(ctx, "tea", read.Put+10, stock.Condition{Versions: []string{read.Version()}})
	fmt.Println(err)
	// Output:
	// 5 <nil>
	// <nil>
	// stock: put "tea": the product is another version by now
}
