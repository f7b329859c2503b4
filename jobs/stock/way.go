package stock

import (
	"context"
	"fmt"
	"slices"

	"github.com/redis/go-redis/v9"
)

// A way is of which products orders are on their way to the book.
type way struct {
	all  products // of any of these orders
	late products // of those that were on their way at the first of several reads already
}

// products are some, or all that there are.
type products struct {
	every bool
	skus  map[string]bool
}

func (p *products) has(sku string) bool { return p.every || p.skus[sku] }

func (p *products) add(items []Item) {
	for _, item := range items {
		p.skus[item.SKU] = true
	}
}

// way reads which orders are on their way, up to maxBatch of each list: where there are more it can be all
// products. Since is when the first read was. Of an order that cannot be read the book may know the items.
func (s *Sale) way(ctx context.Context, b *Database, since int64) (*way, error) {
	fresh, err := s.idsOf(ctx, keyFresh, 0) // orders go from this list to the next one
	if err != nil {
		return nil, fmt.Errorf("stock: read unsettled orders: %w", err)
	}
	unsettled, err := again(ctx, func() ([]redis.Z, error) {
		return s.client.ZRangeWithScores(ctx, s.key(keyUnsettled), 0, maxBatch-1).Result()
	})
	if err != nil {
		return nil, fmt.Errorf("stock: read unsettled orders: %w", err)
	}
	w := &way{products{skus: map[string]bool{}}, products{skus: map[string]bool{}}}
	w.all.every = len(fresh) == maxBatch || len(unsettled) == maxBatch
	w.late.every = len(unsettled) == maxBatch && int64(unsettled[maxBatch-1].Score) <= since
	ids, late := fresh, map[string]bool{}
	for _, z := range unsettled {
		id, _ := z.Member.(string)
		ids, late[id] = append(ids, id), int64(z.Score) <= since
	}
	items, err := s.itemsOf(ctx, b, ids)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		has, known := items[id]
		w.all.every = w.all.every || !known
		w.all.add(has)
		if late[id] { // what the book does not have does not explain that it has more
			w.late.add(has)
		}
	}
	return w, nil
}

// itemsOf reads the items of orders, from the store, or else from the book. Those that neither can say are
// left out.
func (s *Sale) itemsOf(ctx context.Context, b *Database, ids []string) (map[string][]Item, error) {
	items := make(map[string][]Item, len(ids))
	for some := range slices.Chunk(ids, maxBatch) {
		var h haul
		if err := s.readRecords(ctx, some, &h); err != nil {
			return nil, fmt.Errorf("stock: read unsettled orders: %w", err)
		}
		for _, r := range h.records {
			items[r.ID] = r.Items
		}
		unread := h.lost
		for _, u := range h.unread {
			unread = append(unread, u.id)
		}
		if len(unread) == 0 {
			continue
		}
		booked, err := b.readThese(ctx, s.ID(), "", unread)
		if err != nil {
			return nil, fmt.Errorf("stock: read unsettled orders: %w", err)
		}
		for _, r := range booked {
			items[r.ID] = r.Items
		}
	}
	return items, nil
}
