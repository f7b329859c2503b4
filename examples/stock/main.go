// Command stock sells five items to ten buyers that come at once, and never a sixth. A node
// gives the items of orders that were not paid in time back to the stock.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/jobs/stock"
	"github.com/cronce/cronce/lock/redislock"
	"github.com/cronce/cronce/scheduler"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	sku := fmt.Sprintf("tea-%d", time.Now().Unix()) // the orders of an earlier run keep their ids
	if err := run(ctx, "127.0.0.1:6379", sku, os.Stdout); err != nil {
		log.Fatal(err)
	}
}

// run sells a product that the sale does not have yet.
func run(ctx context.Context, address, sku string, out io.Writer) error {
	options := &redis.UniversalOptions{Addrs: []string{address}}
	redislock.Harden(options)
	client := redis.NewUniversalClient(options)
	defer client.Close()
	sale, err := stock.NewSale(client, stock.Options{Namespace: "shop", Hold: time.Second}) // orders are kept for a second
	if err != nil {
		return err
	}
	if _, err := sale.SetOffer(ctx, sku, stock.Offer{Price: 350, Currency: "EUR"}); err != nil {
		return err
	}
	if _, err := sale.Put(ctx, sku, 5); err != nil {
		return err
	}
	sold, err := sell(ctx, sale, sku, 10)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "10 buyers, 5 items: %d orders accepted\n", sold)
	return release(ctx, client, sale, sku, out)
}

// sell lets buyers order one item each, at once. It returns how many got it.
func sell(ctx context.Context, sale *stock.Sale, sku string, buyers int) (int, error) {
	var crowd sync.WaitGroup
	var sold atomic.Int64
	faults := make([]error, buyers)
	for i := range buyers {
		crowd.Go(func() {
			order, _, err := sale.Reserve(ctx, stock.Order{
				ID:       fmt.Sprintf("%s-%d", sku, i), // after a lost reply the same id gets the same answer
				Receiver: "Ada Lovelace, London", Items: []stock.Item{{SKU: sku, Quantity: 1}},
			})
			switch {
			case err == nil && order.State == stock.Reserved:
				sold.Add(1)
			case err == nil: // an order of an earlier run, which has ended
			case !errors.Is(err, stock.ErrSoldOut):
				faults[i] = err
			}
		})
	}
	crowd.Wait()
	return int(sold.Load()), errors.Join(faults...)
}

// release runs the job that closes orders past their time, until all items are back.
func release(ctx context.Context, client redis.UniversalClient, sale *stock.Sale, sku string, out io.Writer) error {
	store, err := redislock.New(client, redislock.Options{Namespace: "shop"})
	if err != nil {
		return err
	}
	node, err := scheduler.New(scheduler.Config{Store: store, Jobs: []scheduler.Job{stock.ReleaseExpired(sale)}})
	if err != nil {
		return err
	}
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- node.Run(running) }()
	err = untilBack(ctx, sale, sku, out)
	stop()
	return errors.Join(err, <-ended)
}

// untilBack waits until nothing of a product is reserved.
func untilBack(ctx context.Context, sale *stock.Sale, sku string, out io.Writer) error {
	for {
		product, err := sale.Product(ctx, sku)
		if err != nil {
			return err
		}
		if product.Reserved == 0 {
			fmt.Fprintf(out, "not paid in time: %d items are back in stock\n", product.Stock)
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(100 * time.Millisecond):
		}
	}
}
