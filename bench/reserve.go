package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/bench/internal/contend"
	"github.com/cronce/cronce/bench/internal/measure"
	"github.com/cronce/cronce/bench/internal/proc"
	"github.com/cronce/cronce/jobs/stock"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/redislock"
)

// The targets of a reservation, in orders per second.
const (
	reserveShare = 0.5 // relative to a bare EVALSHA with the same keys
	reserveGain  = 20  // relative to the same under a lock
)

// The ways of selling.
const (
	bySale   = "reserve"
	bare     = "bare EVALSHA"
	byLock   = "lock"
	byWorker = "lock and 1 ms"
)

// work is the duration of the work under the lock between reading and writing: a statement of a
// database takes as long.
const work = time.Millisecond

// A reserveArgs defines the buyers of one process, and in which way they buy.
type reserveArgs struct {
	buying

	Addr string
	Way  string
}

// buying defines how many buyers buy in one process, and when.
type buying struct {
	Turn   string // the prefix of the ids of its orders
	Buyers int
	From   time.Time
	For    time.Duration
}

func (b buying) over() bool { return time.Since(b.From) >= b.For }

var reserveCase = proc.Define("reserve", runReserve)

// reserve compares a reservation with the cheapest script that could do it, in one process, and
// with the same under a lock, in as many processes as there are pods.
func reserve(ctx context.Context, env *Env) ([]Row, error) {
	const buyers, pods = 64, 4
	one, err := rates(ctx, env, buyers, 1)
	if err != nil {
		return nil, err
	}
	several, err := rates(ctx, env, buyers, pods)
	if err != nil {
		return nil, err
	}
	share, gain := one[bySale]/one[bare], several[bySale]/several[byWorker]
	return []Row{{
		What: "reserve: 64 buyers in one process, one product", Reach: "≥ 0.5 × a bare EVALSHA with the same keys",
		Measured: fmt.Sprintf("%.0f orders/s, %.2f ×", one[bySale], share),
		Peer:     fmt.Sprintf("bare EVALSHA %.0f/s; under `lock`, which one process hands on by itself, %.0f/s", one[bare], one[byLock]),
		OK:       share >= reserveShare,
	}, {
		What: "reserve: 64 buyers in 4 processes, one product", Reach: "≥ 20 × read, 1 ms of work and write under `lock`",
		Measured: fmt.Sprintf("%.0f orders/s, %.0f ×; without work %.0f ×", several[bySale], gain, several[bySale]/several[byLock]),
		Peer:     fmt.Sprintf("under `lock` %.0f/s, without work %.0f/s; bare EVALSHA %.0f/s", several[byWorker], several[byLock], several[bare]),
		OK:       gain >= reserveGain,
	}}, nil
}

// rates returns orders per second by the way of selling, each the median of its turns.
func rates(ctx context.Context, env *Env, buyers, processes int) (map[string]float64, error) {
	all := map[string][]float64{}
	_, err := onServer(ctx, func(addr string) (struct{}, error) {
		for turn := range either(env, 7, 3) {
			for _, way := range []string{bySale, bare, byLock, byWorker} {
				a := reserveArgs{Addr: addr, Way: way}
				a.buying = buying{Buyers: buyers / processes, From: time.Now().Add(300 * time.Millisecond), For: either(env, 3*time.Second, time.Second)}
				rate, err := inProcesses(processes, a.For, func(i int) (int64, error) {
					mine := a
					mine.Turn = fmt.Sprint(turn, "-", i)
					return reserveCase.Run(ctx, mine)
				})
				if err != nil {
					return struct{}{}, fmt.Errorf("%s: %w", way, err)
				}
				all[way] = append(all[way], rate)
			}
		}
		return struct{}{}, nil
	})
	found := map[string]float64{}
	for way, rates := range all {
		env.logf("%d processes, %s: %.0f orders/s", processes, way, rates)
		found[way] = measure.Median(rates)
	}
	return found, err
}

// inProcesses lets buyers of several processes buy at once, and returns how many orders they placed per second.
func inProcesses(n int, long time.Duration, buy func(i int) (int64, error)) (float64, error) {
	var group sync.WaitGroup
	orders, failed := make([]int64, n), make([]error, n)
	for i := range n {
		group.Go(func() { orders[i], failed[i] = buy(i) })
	}
	group.Wait()
	sum := int64(0)
	for _, n := range orders {
		sum += n
	}
	return float64(sum) / long.Seconds(), errors.Join(failed...)
}

// runReserve runs in the child: its buyers buy for a while.
func runReserve(ctx context.Context, a reserveArgs) (int64, error) {
	ways, end, err := waysToSell(ctx, a.Addr)
	defer end()
	if err != nil {
		return 0, err
	}
	return a.buy(ctx, ways[a.Way])
}

// buy lets the buyers buy for a while, and returns how many orders they placed.
func (b buying) buy(ctx context.Context, sell func(ctx context.Context, id string) error) (int64, error) {
	var orders atomic.Int64
	var buyers sync.WaitGroup
	failed := make(chan error, b.Buyers)
	measure.Pause(ctx, time.Until(b.From))
	for i := range b.Buyers {
		buyers.Go(func() {
			for n := 0; !b.over(); n++ {
				if err := sell(ctx, b.Turn+"-"+strconv.Itoa(i)+"-"+strconv.Itoa(n)); err != nil {
					failed <- err
					return
				}
				orders.Add(1)
			}
		})
	}
	buyers.Wait()
	close(failed)
	return orders.Load(), <-failed
}

const (
	product = "tea"
	plenty  = 1_000_000_000
)

func anOrder(id string) stock.Order {
	return stock.Order{ID: id, Receiver: "Ada Lovelace, London", Items: []stock.Item{{SKU: product, Quantity: 1}}}
}

// putOnSale offers the product with plenty of stock.
func putOnSale(ctx context.Context, sale *stock.Sale) error {
	if _, err := sale.SetOffer(ctx, product, stock.Offer{Price: 1250, Currency: "EUR"}); err != nil {
		return err
	}
	_, err := sale.Put(ctx, product, plenty)
	return err
}

func waysToSell(ctx context.Context, addr string) (map[string]func(context.Context, string) error, func(), error) {
	client := contend.Client(addr)
	end := func() { _ = client.Close() }
	sale, err := stock.NewSale(client, stock.Options{})
	if err == nil {
		err = putOnSale(ctx, sale)
	}
	if err != nil {
		return nil, end, err
	}
	store, err := redislock.New(client, redislock.Options{})
	if err != nil {
		return nil, end, err
	}
	if err := client.SetNX(ctx, "stock", plenty, 0).Err(); err != nil {
		return nil, end, err
	}
	return map[string]func(context.Context, string) error{
		bySale: func(ctx context.Context, id string) error {
			_, _, err := sale.Reserve(ctx, anOrder(id))
			return err
		},
		bare:     sellBare(client),
		byLock:   sellLocked(client, lock.New(store, ""), 0),
		byWorker: sellLocked(client, lock.New(store, ""), work),
	}, end, nil
}

var nothing = redis.NewScript("return 1")

// sellBare sends the keys and arguments of a reservation to a script that does nothing.
func sellBare(client redis.UniversalClient) func(context.Context, string) error {
	return func(ctx context.Context, id string) error {
		keys := make([]string, 0, 7)
		for _, name := range []string{"order:" + id, "stock", "reserved", "fresh", "halted", "offer", "shelf"} {
			keys = append(keys, "cronce:v1:stock:{cronce:shop}:"+name)
		}
		return nothing.Run(ctx, client, keys, id, 900_000, "tea=1", `{"receiver":"Ada Lovelace, London"}`, int64(1e12), product, 1).Err()
	}
}

// sellLocked reads, checks, works and writes under the lock of the product.
func sellLocked(client redis.UniversalClient, locker *lock.Locker, work time.Duration) func(context.Context, string) error {
	return func(ctx context.Context, id string) error {
		return locker.Do(ctx, product, lock.Options{}, func(ctx context.Context, _ *lock.Lease) error {
			left, err := client.Get(ctx, "stock").Int64()
			if err != nil {
				return err
			}
			if left < 1 {
				return errors.New("sold out")
			}
			measure.Pause(ctx, work)
			return client.MSet(ctx, "stock", left-1, "locked:order:"+id, "reserved").Err()
		})
	}
}
