package stock

import (
	"cmp"
	"context"
	"fmt"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// A walk is a bounded pass over the orders of store and book. The next walk continues behind it, so
// that successive runs of reconcile compare everything. The zero value begins with
// the first order and has no bound.
type walk struct {
	most int // bound for each kind; 0: none

	// The position of the walk. Zero: the beginning.
	order string // id of the last order of the book
	due   string // deadline of the last order that waits in the store for its payment
	same  int64  // number of orders with that deadline that are done
}

// next returns the size of the next page after n entries; 0: the walk is over.
func (w *walk) next(n int) int {
	if w.most == 0 {
		return maxBatch
	}
	return max(0, min(maxBatch, w.most-n))
}

// walk reads the position that the previous run has stored.
func (s *Sale) walk(ctx context.Context, most int) (walk, error) {
	w := walk{most: most}
	fields, err := again(ctx, func() (map[string]string, error) { return s.client.HGetAll(ctx, s.key(keyWalk)).Result() })
	if err != nil {
		return w, fmt.Errorf("stock: read the position of the previous run: %w", err)
	}
	w.order, w.due = fields["order"], fields["due"]
	w.same, _ = strconv.ParseInt(fields["same"], 10, 64) // without a number it begins with the first
	return w, nil
}

// walked stores the position of a run.
func (s *Sale) walked(ctx context.Context, fence int64, w walk) error {
	_, err := s.fenced(ctx, walkedScript, s.keys(keyFence+reconciling, keyWalk), fence,
		"order", w.order, "due", w.due, "same", w.same)
	if err != nil {
		return fmt.Errorf("stock: store the position of the run: %w", err)
	}
	return nil
}

// bookOrders calls f with the pages of order ids of the book that read returns behind an id.
func (w *walk) bookOrders(read func(after string, n int) ([]string, error), f func([]string) error) error {
	for n := 0; w.next(n) > 0; {
		some, err := read(w.order, w.next(n))
		if err != nil {
			return err
		}
		if len(some) == 0 {
			w.order = ""
			return nil
		}
		if err := f(some); err != nil {
			return err
		}
		w.order, n = some[len(some)-1], n+len(some)
	}
	return nil
}

// dueOrders calls f with pages of ids of orders that wait in the store for their payment.
func (w *walk) dueOrders(ctx context.Context, s *Sale, f func([]string) error) error {
	begin, behind := cmp.Or(w.due, "-inf"), w.same
	for n := 0; w.next(n) > 0; {
		by := &redis.ZRangeBy{Min: begin, Max: "+inf", Offset: behind + int64(n), Count: int64(w.next(n))}
		some, err := again(ctx, func() ([]redis.Z, error) { return s.client.ZRangeByScoreWithScores(ctx, s.key(keyDue), by).Result() })
		if err != nil {
			return fmt.Errorf("read reserved orders: %w", err)
		}
		if len(some) == 0 {
			w.due, w.same = "", 0
			return nil
		}
		ids := make([]string, len(some))
		for i, z := range some {
			ids[i], _ = z.Member.(string)
			if at := strconv.FormatInt(int64(z.Score), 10); at != w.due {
				w.due, w.same = at, 0
			}
			w.same++
		}
		if err := f(ids); err != nil {
			return err
		}
		n += len(some)
	}
	return nil
}
