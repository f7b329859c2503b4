package oversell

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/jobs/stock"
	"github.com/cronce/cronce/scheduler"
)

// A Loss is the result of a second, small sale in which Redis loses its data halfway. The shop then
// recovers as far as possible, and continues to sell.
type Loss struct {
	Stock    int `json:"stock"`
	Sold     int `json:"sold"`     // before and after
	Refused  int `json:"refused"`  // buyers that were refused before the shop had recovered
	Oversold int `json:"oversold"` // beyond the stock
}

// lossStock bounds the stock of such a sale, whose buyers are served one after the other.
const lossStock = 10

// Lose sells up to lossStock items through a strategy whose stock is in Redis. After half of them
// Redis loses the data of the sale; then twice as many buyers come as there were items. A shop
// whose orders are in Redis alone can only put the stock in again. Lose returns nil if no stock is
// in Redis, and for reserve without a Book.
func (e *Env) Lose(ctx context.Context, name string, stock int) (_ *Loss, err error) {
	k, ok := Find(name)
	if !ok {
		return nil, fmt.Errorf("unknown strategy %s", name)
	}
	if k.recover == nil || name == reserveName && e.Book == nil {
		return nil, nil
	}
	other := e.apart()
	defer func() { err = errors.Join(err, other.remove(ctx)) }()
	shelf, err := other.Fill(ctx, name, min(stock, lossStock))
	if err != nil {
		return nil, err
	}
	seller, end, err := other.Open(name)
	if err != nil {
		return nil, err
	}
	defer end()
	if r, ok := seller.(*Reserve); ok {
		if err := other.keepBook(ctx, r.Sale); err != nil {
			return nil, err
		}
	}
	l := &Loss{Stock: min(stock, lossStock)}
	if err := l.sell(ctx, seller, "before", (l.Stock+1)/2); err != nil {
		return nil, fmt.Errorf("sell: %w", err)
	}
	if err := Unlink(ctx, e.Redis, other.Run+":*"); err != nil {
		return nil, fmt.Errorf("lose the data of %s: %w", name, err)
	}
	if err := k.recover(other, ctx, shelf, l, seller); err != nil {
		return nil, fmt.Errorf("recover: %w", err)
	}
	if err := l.sell(ctx, seller, "after", 2*l.Stock); err != nil {
		return nil, fmt.Errorf("sell after a loss: %w", err)
	}
	l.Oversold = max(0, l.Sold-l.Stock)
	return l, nil
}

// sell serves buyers one after the other.
func (l *Loss) sell(ctx context.Context, s Strategy, when string, buyers int) error {
	for i := range buyers {
		switch err := s.Buy(ctx, fmt.Sprintf("%s-%d", when, i)); {
		case err == nil:
			l.Sold++
		case errors.Is(err, stock.ErrStockUnknown):
			l.Refused++
		case !errors.Is(err, ErrSoldOut):
			return err
		}
	}
	return nil
}

// apart returns an Env for another run on the same stores, without work and with names of its own.
func (e *Env) apart() *Env {
	other := *e
	other.Run += "_loss"
	other.Work, other.prepared = 0, nil
	other.booked = true
	return &other
}

// keepBook compares Redis with the book and writes totals into the book, as a shop does before it sells
// and every second.
func (e *Env) keepBook(ctx context.Context, s *stock.Sale) error {
	if err := s.Probe(ctx); err != nil {
		return err
	}
	job := stock.SettleOrders(s)
	return job.Func(ctx, &scheduler.Run{ID: e.Run, Job: job.Name, Fence: time.Now().UnixMicro()})
}

// fillAgain recovers a shop whose stock and orders were in Redis. The seller knows the initial stock,
// but no record shows how much of it was sold.
func (e *Env) fillAgain(ctx context.Context, shelf Shelf, l *Loss, _ Strategy) error {
	return shelf.Fill(ctx, l.Stock)
}

// rebuild sends an order, which the sale refuses, and rebuilds the shelf from the book.
func (e *Env) rebuild(ctx context.Context, _ Shelf, l *Loss, s Strategy) error {
	if err := l.sell(ctx, s, "unknown", 1); err != nil {
		return err
	}
	_, err := s.(*Reserve).Sale.Restore(ctx)
	return err
}

// removePatience bounds the removal of a run's data.
const removePatience = 10 * time.Second

// remove removes all data of a run but its tables, also after an interruption.
func (e *Env) remove(ctx context.Context) error {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), removePatience)
	defer stop()
	return errors.Join(e.wipe(ctx), e.Forget(ctx))
}

// wipe removes all data of a run from Redis.
func (e *Env) wipe(ctx context.Context) error {
	var errs []error
	for _, client := range append([]redis.UniversalClient{e.Redis}, e.Redlock...) {
		errs = append(errs, Unlink(ctx, client, e.Run+":*"))
	}
	return errors.Join(errs...)
}

// Unlink removes the keys of a pattern.
func Unlink(ctx context.Context, client redis.UniversalClient, pattern string) error {
	iter := client.Scan(ctx, 0, pattern, 1000).Iterator()
	for iter.Next(ctx) {
		if err := client.Unlink(ctx, iter.Val()).Err(); err != nil {
			return err
		}
	}
	return iter.Err()
}
