package oversell

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/jobs/stock"
	"github.com/cronce/cronce/lock"
	"github.com/cronce/cronce/lock/driver"
	"github.com/cronce/cronce/lock/redislock"
	"github.com/cronce/cronce/lock/redlock"
)

// An Env has the clients of the stores, which the caller closes, and the parameters of the sale.
// All processes of a run have the same Run.
type Env struct {
	Run     string // prefix of all names in the stores: [a-z][a-z0-9_]*
	Redis   redis.UniversalClient
	Redlock []redis.UniversalClient // 3, 5 or 7 independent servers
	Tables  Tables
	// ZooKeeper has the servers (host:port) of one ensemble; empty: no ZooKeeper.
	ZooKeeper []string
	// Book is a separate database for the strategy reserve, used when Redis loses its data; nil: no
	// such test.
	Book *stock.Database

	Work   time.Duration // duration between reading and writing
	Buyers int           // of all processes

	prepared []Kind // strategies whose data is to be removed
	booked   bool   // the sale of reserve has the Book
}

func (e *Env) redisShelf(product string) *RedisShelf { return NewRedisShelf(e.Redis, e.Run, product) }

// lockOn is the strategy [Lock] on a store of locks.
func (e *Env) lockOn(d driver.Driver, product string, shelf GuardedShelf) *Lock {
	return &Lock{Locker: lock.New(d, ""), Key: product, Shelf: shelf, Work: Wait(e.Work)}
}

func (e *Env) openNone() (Strategy, func(), error) {
	return &None{Shelf: e.redisShelf("none"), Work: Wait(e.Work)}, nothing, nil
}

func (e *Env) openMutex() (Strategy, func(), error) {
	return &Mutex{None: None{Shelf: e.redisShelf("mutex"), Work: Wait(e.Work)}}, nothing, nil
}

// openSetNX makes a lock that lasts half as long as the work. The more buyers there are, the less
// often each of them polls, so that they do not flood the store.
func (e *Env) openSetNX() (Strategy, func(), error) {
	return &SetNX{
		None:   None{Shelf: e.redisShelf("setnx"), Work: Wait(e.Work)},
		Client: e.Redis,
		Key:    e.Run + ":v1:setnx",
		TTL:    max(time.Millisecond, e.Work/2),
		Poll:   max(5*time.Millisecond, time.Duration(e.Buyers)*50*time.Microsecond),
	}, nothing, nil
}

func (e *Env) openLock() (Strategy, func(), error) {
	d, err := redislock.New(e.Redis, redislock.Options{Namespace: e.Run})
	if err != nil {
		return nil, nil, err
	}
	return e.lockOn(d, "lock", e.redisShelf("lock")), func() { _ = d.Close() }, nil
}

func (e *Env) openRedlock() (Strategy, func(), error) {
	d, err := redlock.New(e.Redlock, redlock.Options{Namespace: e.Run, NodeTimeout: redlockPatience})
	if err != nil {
		return nil, nil, err
	}
	return e.lockOn(d, "redlock", e.redisShelf("redlock")), func() { _ = d.Close() }, nil
}

// redlockPatience is long, because a machine that serves thousands of buyers at once is busy.
const redlockPatience = time.Second

func (e *Env) openSQLForUpdate() (Strategy, func(), error) {
	return &SQLForUpdate{DB: e.Tables.DB, Shelf: e.Tables.Shelf("sql-for-update"), Work: Wait(e.Work)}, nothing, nil
}

func (e *Env) openSQLConditional() (Strategy, func(), error) {
	return &SQLConditional{DB: e.Tables.DB, Shelf: e.Tables.Shelf("sql-conditional"), Work: Wait(e.Work)}, nothing, nil
}

func (e *Env) sale() (*stock.Sale, error) {
	o := stock.Options{Namespace: e.Run}
	if e.booked {
		o.Book, o.Settled = e.Book, true
	}
	return stock.NewSale(e.Redis, o)
}

func (e *Env) openReserve() (Strategy, func(), error) {
	sale, err := e.sale()
	if err != nil {
		return nil, nothing, err
	}
	return &Reserve{Sale: sale, SKU: reserveName, Work: Wait(e.Work)}, sale.Close, nil
}

func nothing() {}

// OrderIDs returns the ids of the orders of a strategy: one for each buyer.
func (e *Env) OrderIDs(name string) []string {
	ids := make([]string, e.Buyers)
	for i := range ids {
		ids[i] = fmt.Sprintf("%s.%s.%d", e.Run, name, i)
	}
	return ids
}

// Open prepares a strategy by its name, and returns a function that ends it.
func (e *Env) Open(name string) (Strategy, func(), error) {
	k, ok := Find(name)
	if !ok {
		return nil, nil, errors.New("unknown strategy " + name)
	}
	s, end, err := k.open(e)
	if err != nil {
		return nil, nil, fmt.Errorf("prepare %s: %w", name, err)
	}
	return s, end, nil
}

// Lacks names the store that a strategy lacks; empty: none.
func (e *Env) Lacks(name string) string {
	if name == "zookeeper" && len(e.ZooKeeper) == 0 {
		return "no ZooKeeper is named, name one with --zookeeper host:port"
	}
	return ""
}

// Fill creates the data of a strategy in the stores and fills its shelf, which it returns. One
// process calls it before a sale.
func (e *Env) Fill(ctx context.Context, name string, stock int) (Shelf, error) {
	shelf, err := e.Shelf(name)
	if err != nil {
		return nil, err
	}
	if k, _ := Find(name); k.prepare != nil {
		if err := k.prepare(e, ctx); err != nil {
			return nil, err
		}
		e.prepared = append(e.prepared, k)
	}
	if err := shelf.Fill(ctx, stock); err != nil {
		return nil, fmt.Errorf("put the stock in: %w", err)
	}
	return shelf, nil
}

// Forget removes the data that Fill has created besides the shelves.
func (e *Env) Forget(ctx context.Context) error {
	var errs []error
	for _, k := range e.prepared {
		errs = append(errs, k.forget(e, ctx))
	}
	return errors.Join(errs...)
}

// Shelf returns the shelf of a strategy.
func (e *Env) Shelf(name string) (Shelf, error) {
	k, ok := Find(name)
	switch {
	case !ok:
		return nil, errors.New("unknown strategy " + name)
	case k.SQL:
		return e.Tables.Shelf(name), nil
	case name == reserveName:
		sale, err := e.sale()
		return &saleShelf{sale, name, e.OrderIDs(name)}, err
	}
	return e.redisShelf(name), nil
}
