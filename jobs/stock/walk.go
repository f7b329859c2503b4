package stock

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// A walk compares some of what store and book have, and the next one what comes behind that: runs of
// reconcile, which compare a bounded number each, get through all of it one after the other. The zero
// value begins with the first, and compares all.
type walk struct {
	most int // of each kind; 0: all

	// Where it begins, and where the next one does. Zero: with the first.
	order string // behind the order with this id, of those in the book
	due   string // at this instant, of orders that wait in the store for being paid
	same  int64  // behind so many that are due at this instant
	buyer string // behind this buyer, of those in the book
	count uint64 // at this cursor of what buyers have in the store
}

// next is how many the walk takes with its next step, when it has taken n; 0: it is over.
func (w *walk) next(n int) int {
	if w.most == 0 {
		return maxBatch
	}
	return max(0, min(maxBatch, w.most-n))
}

// walk is how far the runs before have come.
func (s *Sale) walk(ctx context.Context, most int) (walk, error) {
	w := walk{most: most}
	fields, err := again(ctx, func() (map[string]string, error) { return s.client.HGetAll(ctx, s.key(keyWalk)).Result() })
	if err != nil {
		return w, fmt.Errorf("stock: read how far the runs before have compared: %w", err)
	}
	w.order, w.due, w.buyer = fields["order"], fields["due"], fields["buyer"]
	w.same, _ = strconv.ParseInt(fields["same"], 10, 64) // otherwise it begins with the first
	w.count, _ = strconv.ParseUint(fields["count"], 10, 64)
	return w, nil
}

// walked writes down how far a run has come.
func (s *Sale) walked(ctx context.Context, fence int64, w walk) error {
	_, err := s.fenced(ctx, walkedScript, s.keys(keyFence+reconciling, keyWalk), fence,
		"order", w.order, "due", w.due, "same", w.same, "buyer", w.buyer, "count", strconv.FormatUint(w.count, 10))
	if err != nil {
		return fmt.Errorf("stock: write down how far the run has compared: %w", err)
	}
	return nil
}

// bookOrders calls f with the ids of orders in the book, some at a time: see audit.ids.
func (w *walk) bookOrders(ids func(after string, n int) ([]string, error), f func([]string) error) error {
	return eachBehind(w, &w.order, ids, f)
}

// buyers calls f with buyers of the book, some at a time.
func (w *walk) buyers(buyers func(after string, n int) ([]string, error), f func([]string) error) error {
	return eachBehind(w, &w.buyer, buyers, f)
}

// eachBehind calls f with what read finds behind a text, which moves on.
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

// dueOrders calls f with the ids of orders that wait in the store for being paid, some at a time.
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

// waiting calls f with the ids of orders that wait in the store for their settlement, some at a time, from the
// first of each list on: those that are kept back stay there, and the others leave.
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

// counts calls f with the fields of what the store counts of buyers, some at a time; one may come twice.
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
		for some := range slices.Chunk(fields, maxBatch) { // a small hash comes whole
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
