package stock_test

import (
	"context"
	"errors"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/jobs/stock"
)

// after calls a function after each command, with its arguments.
type after func(args []any)

func (f after) DialHook(next redis.DialHook) redis.DialHook { return next }

func (f after) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (f after) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		f(cmd.Args())
		return err
	}
}

// A run of settleOrders has read an order when the store loses everything and the shelf is rebuilt
// from the book, which drops the order. Its process learns of the new shelf before the run writes.
// The book must not get the order, because its items are in stock again.
func TestSettleAfterARebuild(t *testing.T) {
	t.Parallel()
	server, p := redisServer(t), sqlite(t)
	client, reads := connect(t, server), connect(t, server)
	other := keptSale(t, client, p, stock.Options{})
	put(t, other, "tea", 1)
	settleAll(t, other, p)
	s := keptSale(t, reads, p, stock.Options{})
	reserve(t, s, order("dropped", stock.Item{SKU: "tea", Quantity: 1}))
	done := false
	reads.AddHook(after(func(args []any) {
		if args[0] != "mget" || done { // the run has read its orders
			return
		}
		done = true
		if err := client.FlushAll(t.Context()).Err(); err != nil {
			t.Error(err)
		}
		if _, err := other.RestoreNow(t.Context()); err != nil {
			t.Error(err)
		}
		if err := s.Probe(t.Context()); err != nil { // as Watch does
			t.Error(err)
		}
	}))
	if _, err := stock.Settle(t.Context(), s, p.Database, 10, nextFence(), pass); !errors.Is(err, stock.ErrStockUnknown) {
		t.Errorf("settle: %v, want ErrStockUnknown", err)
	}
	if !done {
		t.Fatal("the run has read nothing")
	}
	p.wantLines(t, "SELECT id, status FROM orders")
	wantProduct(t, s, "tea", 1, 1, 0, 0)
	reserve(t, other, order("next", stock.Item{SKU: "tea", Quantity: 1})) // the item that is in stock
	settleAll(t, other, p)
	p.wantLines(t, "SELECT id, status FROM orders", "next reserved")
}
