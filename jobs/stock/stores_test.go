package stock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/internal/redisserver"
	"github.com/cronce/cronce/jobs/stock"
	"github.com/cronce/cronce/lock/redislock"
)

// onStores runs a test on miniredis and on a real redis-server, beside other tests.
func onStores(t *testing.T, test func(t *testing.T, client redis.UniversalClient)) {
	t.Parallel()
	t.Run("miniredis", func(t *testing.T) {
		t.Parallel()
		test(t, connect(t, miniredis.RunT(t).Addr()))
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		test(t, connect(t, redisserver.Start(t).Addr()))
	})
}

// connect returns a client set up as the binary's is.
func connect(t testing.TB, addr string) redis.UniversalClient {
	t.Helper()
	o := &redis.UniversalOptions{Addrs: []string{addr}}
	redislock.Harden(o)
	client := redis.NewUniversalClient(o)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func redisServer(t testing.TB, args ...string) string { return redisserver.Start(t, args...).Addr() }

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
	if err := settled(func() error { _, err := s.SetOffer(t.Context(), sku, priceOf); return err }); err != nil {
		t.Fatal(err)
	}
	if err := settled(func() error { _, err := s.Put(t.Context(), sku, total); return err }); err != nil {
		t.Fatal(err)
	}
}

// settled repeats a call while the book does not have its change: on a busy machine the book takes
// longer than a sale waits for it.
func settled(call func() error) error {
	for {
		if err := call(); !errors.Is(err, stock.ErrUnsettled) {
			return err
		}
	}
}

// priceOf is the price of whatever tests sell.
var priceOf = stock.Offer{Price: 625, Currency: "EUR"}

// order is an order of one item, or of the items given instead.
func order(id string, items ...stock.Item) stock.Order {
	if len(items) == 0 {
		items = []stock.Item{{SKU: "tea", Quantity: 1}}
	}
	return stock.Order{ID: id, Receiver: "Ada Lovelace, London", Items: items}
}

func reserve(t testing.TB, s *stock.Sale, o stock.Order) stock.Record {
	t.Helper()
	r, fresh, err := s.Reserve(t.Context(), o)
	if err != nil || !fresh {
		t.Fatalf("Reserve(%v) = %v, new %v, %v", o, r, fresh, err)
	}
	return r
}

// fill reserves n orders of one tea: o-00, o-01, …
func fill(t testing.TB, s *stock.Sale, n int) {
	t.Helper()
	for i := range n {
		reserve(t, s, order(fmt.Sprintf("o-%02d", i)))
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

func wantState(t testing.TB, s *stock.Sale, id string, want stock.State) stock.Record {
	t.Helper()
	r, err := s.Order(t.Context(), id)
	if err != nil || r.State != want {
		t.Errorf("Order(%s) = %v, %v, want %s", id, r, err, want)
	}
	return r
}

// onceAnswered returns a context that ends as soon as Redis has answered a script that was sent with it by this client.
func onceAnswered(t testing.TB, client redis.UniversalClient) context.Context {
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(stop)
	client.AddHook(answered{})
	return context.WithValue(ctx, answered{}, stop)
}

// answered is a hook that calls the function in the context of a script that was answered.
type answered struct{}

func (answered) DialHook(next redis.DialHook) redis.DialHook { return next }

func (answered) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (answered) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if stop, ok := ctx.Value(answered{}).(context.CancelFunc); ok && err == nil && strings.HasPrefix(cmd.Name(), "eval") {
			stop()
		}
		return err
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

// pay pays what an order costs.
func pay(ctx context.Context, s *stock.Sale, id string) (stock.Record, error) {
	p := stock.Payment{Reference: "pay-" + id, Amount: 625, Currency: "EUR"}
	if r, err := s.Order(ctx, id); err == nil {
		p.Amount, p.Currency = r.Amount, r.Currency
	}
	return s.Pay(ctx, id, p)
}
