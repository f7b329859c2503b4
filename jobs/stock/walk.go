package stock

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// A walk is a bounded pass over the orders and buyers of store and book. The next walk continues
// behind it, so that successive runs of reconcile compare everything. The zero value begins with
// the first order and has no bound.
type walk struct {
	most int // bound for each kind; 0: none

	// The position of the walk. Zero: the beginning.
	order string // id of the last order of the book
	due   string // deadline of the last order that waits in the store for its payment
	same  int64  // number of orders with that deadline that are done
	buyer string // last buyer of the book
	count uint64 // HSCAN cursor in the store's quantities of buyers
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
	w.order, w.due, w.buyer = fields["order"], fields["due"], fields["buyer"]
	w.same, _ = strconv.ParseInt(fields["same"], 10, 64) // without a number it begins with the first
	w.count, _ = strconv.ParseUint(fields["count"], 10, 64)
	return w, nil
}

// walked stores the position of a run.
func (s *Sale) walked(ctx context.Context, fence int64, w walk) error {
	_, err := s.fenced(ctx, walkedScript, s.keys(keyFence+reconciling, keyWalk), fence,
		"order", w.order, "due", w.due, "same", w.same, "buyer", w.buyer, "count", strconv.FormatUint(w.count, 10))
	if err != nil {
		return fmt.Errorf("stock: store the position of the run: %w", err)
	}
	return nil
}

// bookOrders calls f with pages of order ids of the book: see audit.ids.
func (w *walk) bookOrders(ids func(after string, n int) ([]string, error), f func([]string) error) error {
	return eachBehind(w, &w.order, ids, f)
}

// buyers calls f with pages of buyers of the book.
func (w *walk) buyers(buyers func(after string, n int) ([]string, error), f func([]string) error) error {
	return eachBehind(w, &w.buyer, buyers, f)
}

// eachBehind calls f with the pages that read returns behind at, and advances at.
func eachBehind(w *walk, at *string, read func(after string, n int) ([]string, error), f func([]string) error) error {
	for n := 0; w.next(n) > 0; {
		some, err := read(*at, w.next(n))
		if err != nil {
			return err
		}
		if len(some) == 0 {
			*at = ""
			return nil
		}
		if err := f(some); err != nil {
			return err
		}
		*at, n = some[len(some)-1], n+len(some)
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

// waiting calls f with pages of ids of orders that wait in the store for their settlement. It
// always begins at the head of each list: orders that are kept back stay there, and the others
// leave.
func (w *walk) waiting(ctx context.Context, s *Sale, f func([]string) error) error {
	for _, list := range []string{keyUnsettled, keyFresh} {
		for n := 0; w.next(n) > 0; n += maxBatch {
			ids, err := s.idsOf(ctx, list, int64(n))
			if err != nil {
				return fmt.Errorf("read unsettled orders: %w", err)
			}
			if len(ids) == 0 {
				break
			}
			if err := f(ids); err != nil {
				return err
			}
		}
	}
	return nil
}

// counts calls f with pages of fields of the store's quantities of buyers. A field may come twice.
func (w *walk) counts(ctx context.Context, s *Sale, f func([]string) error) error {
	type page struct {
		pairs []string
		next  uint64
	}
	for n := 0; w.next(n) > 0; {
		p, err := again(ctx, func() (p page, err error) {
			p.pairs, p.next, err = s.client.HScan(ctx, s.key(keyBought), w.count, "", int64(w.next(n))).Result()
			return p, err
		})
		if err != nil {
			return fmt.Errorf("read what buyers have: %w", err)
		}
		var fields []string
		for i := 0; i+1 < len(p.pairs); i += 2 {
			fields = append(fields, p.pairs[i])
		}
		for some := range slices.Chunk(fields, maxBatch) { // HSCAN returns a small hash completely
			if err := f(some); err != nil {
				return err
			}
		}
		if w.count, n = p.next, n+len(fields); w.count == 0 {
			return nil
		}
	}
	return nil
}
