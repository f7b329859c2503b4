package stockhttp_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/cronce/cronce/jobs/stock"
	"github.com/cronce/cronce/lock/redislock"
)

// connect returns a client set up as the binary's is.
func connect(t testing.TB, addr string) redis.UniversalClient {
	t.Helper()
	o := &redis.UniversalOptions{Addrs: []string{addr}}
	redislock.Harden(o)
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = time.Minute, time.Minute, time.Minute, time.Minute // a busy machine is no fault of the server
	client := redis.NewUniversalClient(o)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func newSale(t testing.TB, client redis.UniversalClient, o stock.Options) *stock.Sale {
	t.Helper()
	s, err := stock.NewSale(client, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// put sets what was put in of a product, which gets a price.
func put(t testing.TB, s *stock.Sale, sku string, total int64) {
	t.Helper()
	if _, err := s.SetOffer(t.Context(), sku, stock.Offer{Price: 625, Currency: "EUR"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Put(t.Context(), sku, total); err != nil {
		t.Fatal(err)
	}
}

// reserve reserves an order of one item, or of the items given instead.
func reserve(t testing.TB, s *stock.Sale, id string, items ...stock.Item) {
	t.Helper()
	if len(items) == 0 {
		items = []stock.Item{{SKU: "tea", Quantity: 1}}
	}
	o := stock.Order{ID: id, Receiver: "Ada Lovelace, London", Items: items}
	if _, fresh, err := s.Reserve(t.Context(), o); err != nil || !fresh {
		t.Fatalf("Reserve(%v): new %v, %v", o, fresh, err)
	}
}

// wantProduct checks the counts of a product: put, stock, reserved, sold.
func wantProduct(t testing.TB, s *stock.Sale, sku string, put, left, reserved, sold int64) {
	t.Helper()
	want := stock.Product{SKU: sku, Put: put, Stock: left, Reserved: reserved, Sold: sold}
	got, err := s.Product(t.Context(), sku)
	if got.Offer = want.Offer; err != nil || got != want {
		t.Errorf("Product(%s) = %+v, %v, want %+v", sku, got, err, want)
	}
}

// await waits until a condition holds.
func await(t testing.TB, what string, cond func() bool) {
	t.Helper()
	limit := time.Now().Add(2 * time.Minute)
	for !cond() {
		if time.Now().After(limit) {
			t.Fatalf("not within two minutes: %s", what)
		}
		<-time.After(5 * time.Millisecond)
	}
}
