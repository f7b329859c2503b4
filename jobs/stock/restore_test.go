package stock_test

import (
	"context"
	"errors"
	"fmt"
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

// forgotten is a sale whose store has forgotten everything: of 50 tea so many are reserved in the book.
func forgotten(t *testing.T, orders int) (server string, client redis.UniversalClient, p place, s *stock.Sale) {
	t.Helper()
	server = redisServer(t)
	client, p = connect(t, server), sqlite(t)
	s = keptSale(t, client, p, stock.Options{Restore: true})
	put(t, s, "tea", 50)
	fill(t, s, orders)
	settle(t, s, p, 1, orders)
	if err := client.FlushAll(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	return server, client, p, s
}

// crashRestore is a rebuild that ends in the middle.
func crashRestore(t *testing.T, server string, p place) {
	t.Helper()
	victim := connect(t, server)
	ctx, stop := context.WithCancel(t.Context())
	victim.AddHook(&endAfter{n: 6, err: errors.New("crash"), stop: stop})
	if _, err := newSale(t, victim, stock.Options{Book: p.Database}).RestoreNow(ctx); err == nil {
		t.Fatal("it has come to its end")
	}
}

// An operator repeats a rebuild while that of another is under way, or has been until a moment ago: it is left to its end, unless the operator
// takes over.
func TestRestoreLeavesAnotherOperators(t *testing.T) {
	server, client, p, s := forgotten(t, 3)
	crashRestore(t, server, p)
	_, err := s.Restore(t.Context())
	if !errors.Is(err, stock.ErrUnderWay) || !errors.Is(err, stock.ErrStockUnknown) {
		t.Errorf("beside another: %v, want that it is under way", err)
	}
	if _, err := s.RestoreNow(t.Context()); err != nil {
		t.Error(err)
	}
	wantProduct(t, s, "tea", 50, 47, 3, 0)
	if has, err := client.HMGet(t.Context(), shelfKey, "closed", "stepped").Result(); err != nil || fmt.Sprint(has) != "[<nil> <nil>]" {
		t.Errorf("the shelf that is open has %v, %v", has, err)
	}
}

// While a rebuild makes steps, runs of settleOrders leave it to its end: each would end it, and it, when it is
// tried again, each of theirs, so that the shelf was never open. Each step counts, also one after a long
// silence.
func TestRestoreUnderWay(t *testing.T) {
	server, client, p, s := forgotten(t, 30)
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
	if _, err := newSale(t, slow, stock.Options{Book: p.Database}).RestoreNow(t.Context()); err != nil {
		t.Error(err)
	}
	if left == 0 {
		t.Error("no run came beside the rebuild")
	}
	wantProduct(t, s, "tea", 50, 20, 30, 0)
}

// A rebuild that has made no step for some seconds was ended in the middle: a run of settleOrders begins again.
func TestRestoreSilent(t *testing.T) {
	server, client, p, s := forgotten(t, 3)
	crashRestore(t, server, p)
	if _, err := stock.Settle(t.Context(), s, p.Database, 10, nextFence(), pass); !errors.Is(err, stock.ErrStockUnknown) {
		t.Errorf("settle at once: %v, want ErrStockUnknown", err)
	}
	silence(t, client)
	if _, err := stock.Settle(t.Context(), s, p.Database, 10, nextFence(), pass); err != nil {
		t.Errorf("settle later: %v", err)
	}
	wantProduct(t, s, "tea", 50, 47, 3, 0)
	if n, err := client.HExists(t.Context(), shelfKey, "stepped").Result(); err != nil || n {
		t.Errorf("the shelf that is open has a step: %v, %v", n, err)
	}
}
