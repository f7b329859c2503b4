package oversell_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/cmd/shop/internal/oversell"
	"github.com/cronce/cronce/internal/sqlserver"
	"github.com/cronce/cronce/jobs/stock"
)

// Redis loses its data when half of six items are sold. A shop that has its stock and orders
// there alone can only put the six in again, and sells three too many. One that has a book
// refuses the next buyer, rebuilds, and sells the other three. Where the stock is in the
// database nothing is lost.
func TestLose(t *testing.T) {
	for name, open := range map[string]func(t *testing.T) stores{
		"embedded": embedded,
		"real":     func(t *testing.T) stores { return real(t, oversell.PostgreSQL) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := open(t).processes(t, 1, oversell.Env{Buyers: 10})[0]
			db := sqlserver.Connect(t, "sqlite", "file:"+filepath.Join(t.TempDir(), "book")+"?_txlock=immediate&_pragma=busy_timeout(20000)")
			var err error
			e.Book, err = stock.NewDatabase(db, stock.SQLite)
			must(t, err)
			for _, k := range oversell.Kinds() {
				if e.Lacks(k.Name) != "" {
					continue
				}
				var want *oversell.Loss
				switch {
				case k.Keeps:
					want = &oversell.Loss{Stock: 6, Sold: 6, Refused: 1}
				case !k.SQL:
					want = &oversell.Loss{Stock: 6, Sold: 9, Oversold: 3}
				}
				l, err := e.Lose(t.Context(), k.Name, 6)
				must(t, err)
				if (l == nil) != (want == nil) || l != nil && *l != *want {
					t.Errorf("%s: %+v, want %+v", k.Name, l, want)
				}
			}
			if keys, err := e.Redis.Keys(t.Context(), e.Run+"*").Result(); err != nil || len(keys) != 0 {
				t.Errorf("left: %v, %v", keys, err)
			}
			must(t, e.Tables.Drop(t.Context()))
		})
	}
}

// A sale that is interrupted while Redis loses its data leaves nothing in Redis and in ZooKeeper.
func TestLoseInterrupted(t *testing.T) {
	t.Parallel()
	e := embedded(t).zooKeeper(t).processes(t, 1, oversell.Env{Buyers: 10})[0]
	ctx, stop := context.WithCancel(t.Context())
	e.Redis.AddHook(interrupt{stop})
	if _, err := e.Lose(ctx, "zookeeper", 6); !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want an interruption", err)
	}
	if keys, err := e.Redis.Keys(t.Context(), e.Run+"*").Result(); err != nil || len(keys) != 0 {
		t.Errorf("left: %v, %v", keys, err)
	}
	wantNoNodes(t, e.ZooKeeper)
}

// interrupt stops at the first look for the keys of a run.
type interrupt struct{ stop func() }

func (interrupt) DialHook(next redis.DialHook) redis.DialHook { return next }

func (interrupt) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (i interrupt) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if cmd.Name() == "scan" {
			i.stop()
		}
		return next(ctx, cmd)
	}
}

// A sale that oversells after the loss, or never noticed it, is not exact if it must keep its stock.
func TestLost(t *testing.T) {
	for _, c := range []struct {
		loss  *oversell.Loss
		keeps bool
		exact bool
	}{
		{nil, true, true},
		{&oversell.Loss{Stock: 6, Sold: 6, Refused: 1}, true, true},
		{&oversell.Loss{Stock: 6, Sold: 6}, true, false},
		{&oversell.Loss{Stock: 6, Sold: 5, Refused: 1}, true, false},
		{&oversell.Loss{Stock: 6, Sold: 9, Oversold: 3, Refused: 1}, true, false},
		{&oversell.Loss{Stock: 6, Sold: 9, Oversold: 3}, false, true},
	} {
		r := oversell.Result{Exact: true}
		if r.Lost(c.loss, c.keeps); r.Exact != c.exact || r.Exact != (len(r.Faults) == 0) {
			t.Errorf("%+v, keeps %v: %+v", c.loss, c.keeps, r)
		}
	}
}
