package stock_test

import (
	"context"
	"errors"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/cronce/cronce/jobs/stock"
)

// afterEach calls a function after each command.
type afterEach func()

func (f afterEach) DialHook(next redis.DialHook) redis.DialHook { return next }

func (f afterEach) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (f afterEach) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		f()
		return err
	}
}

const shelfKey = "cronce:v1:stock:{cronce:shop}:shelf"

// silence makes the last step of a rebuild one of long ago.
func silence(t *testing.T, client redis.UniversalClient) {
	t.Helper()
	if err := client.HSet(t.Context(), shelfKey, "stepped", "1").Err(); err != nil {
		t.Error(err)
	}
}

// While a rebuild makes steps, runs of settleOrders leave it to its end: each would end it, and it, when it is
// tried again, each of theirs, so that the shelf was never open. Each step counts, also one after a long
// silence.
func TestRestoreUnderWay(t *testing.T) {
	server := redisServer(t)
	client, p := connect(t, server), sqlite(t)
	s := keptSale(t, client, p, stock.Options{Restore: true})
	put(t, s, "tea", 50)
	fill(t, s, 30)
	settle(t, s, p, 1, 30)
	if err := client.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	begun, silent, left := false, false, 0
	slow := connect(t, server)
	slow.AddHook(afterEach(func() {
		has, err := client.HMGet(t.Context(), shelfKey, "closed", "stepped").Result()
		switch {
		case err != nil:
			t.Error(err)
		case has[0] != "restoring":
		case !begun: // its epoch is on its way to the book
			begun = true
		case left == 0 && !silent:
			silent = true
			silence(t, client)
		case has[1] != "1":
			left++
			if _, err := stock.Settle(t.Context(), s, p.Database, 10, nextFence(), pass); !errors.Is(err, stock.ErrStockUnknown) {
				t.Errorf("settle beside the rebuild: %v, want ErrStockUnknown", err)
			}
		}
	}))
	if _, err := newSale(t, slow, stock.Options{Book: p.Database}).Restore(t.Context()); err != nil {
		t.Error(err)
	}
	if left == 0 {
		t.Error("no run came beside the rebuild")
	}
	wantProduct(t, s, "tea", 50, 20, 30, 0)
}

// A rebuild that has made no step for some seconds was ended in the middle: a run of settleOrders begins again.
func TestRestoreSilent(t *testing.T) {
	server := redisServer(t)
	client, p := connect(t, server), sqlite(t)
	s := keptSale(t, client, p, stock.Options{Restore: true})
	put(t, s, "tea", 5)
	fill(t, s, 3)
	settle(t, s, p, 1, 3)
	if err := client.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	victim := connect(t, server)
	victim.AddHook(&endAfter{n: 6, err: errors.New("crash")})
	if _, err := newSale(t, victim, stock.Options{Book: p.Database}).Restore(shortly(t)); err == nil {
		t.Fatal("it has come to its end")
	}
	if _, err := stock.Settle(t.Context(), s, p.Database, 10, nextFence(), pass); !errors.Is(err, stock.ErrStockUnknown) {
		t.Errorf("settle at once: %v, want ErrStockUnknown", err)
	}
	silence(t, client)
	if _, err := stock.Settle(t.Context(), s, p.Database, 10, nextFence(), pass); err != nil {
		t.Errorf("settle later: %v", err)
	}
	wantProduct(t, s, "tea", 5, 2, 3, 0)
	if n, err := client.HExists(t.Context(), shelfKey, "stepped").Result(); err != nil || n {
		t.Errorf("the shelf that is open has a step: %v, %v", n, err)
	}
}
