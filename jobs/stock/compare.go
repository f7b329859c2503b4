package stock

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/redis/go-redis/v9"
)

// A view is the store's counts before and after the book was read.
type view struct {
	before, after counts
	database      map[string]Product
	disputed      map[string]shift // by product, what disputed orders have on the shelf

	marks int64            // orders marked as settled at the first of several reads
	began int64            // time of the first read, by the store's clock
	ahead map[string]int64 // by product: how many more the book had sold than were marked, the same in all reads

	pending *pending // products with orders on their way to the book at the last read; nil: none, or not read
}

// constant keeps, by product, how many more the book has sold than the store has marked as settled,
// as long as all reads show the same number. Orders that are written and not marked yet make the
// number change.
func (v *view) constant(first bool) {
	if first {
		v.marks, v.began, v.ahead = v.before.marks, v.before.now, map[string]int64{}
	}
	for sku := range v.after.products {
		now := v.database[sku].Sold - v.before.products[sku].settled
		if was, ok := v.ahead[sku]; first {
			v.ahead[sku] = now
		} else if ok && was != now || v.before.products[sku].settled != v.after.products[sku].settled {
			delete(v.ahead, sku)
		}
	}
}

// through reports whether all orders of a product that were on their way at the first read have
// been marked as settled since. Orders that are written and not marked yet, as by a slow or killed
// run, explain why the book has more. An order that is kept back explains that for its own products
// alone.
func (v *view) through(sku string) bool {
	return v.after.marks > v.marks && (v.after.oldest == 0 || v.after.oldest > v.began || v.pending != nil && !v.pending.late.has(sku))
}

// still reports whether the database must equal the store: no order waited for its settlement
// before or after, and none was settled in between.
func (v *view) still() bool {
	return v.before.unsettled == 0 && v.after.unsettled == 0 && v.before.marks == v.after.marks
}

// stillOf is still for one product: none of its orders was on its way to the book.
func (v *view) stillOf(sku string) bool {
	return v.still() || v.before.marks == v.after.marks && v.pending != nil && !v.pending.all.has(sku)
}

// A finding is a violated rule of one product.
type finding struct{ sku, text string }

// findings compares the store with itself, with the database, and both with the totals. While
// orders are on their way to the database, only bounds can be checked: the database has at least
// the sales that the store has marked, and at most the sales of the store.
func (v *view) findings() (found []finding, unstocked []string) {
	skus := maps.Clone(v.database)
	for sku := range v.after.products {
		skus[sku] = Product{}
	}
	for _, sku := range slices.Sorted(maps.Keys(skus)) {
		say := func(format string, args ...any) { found = append(found, finding{sku, fmt.Sprintf(format, args...)}) }
		if err := cmp.Or(v.before.products[sku].unread, v.after.products[sku].unread); err != nil {
			say("a count cannot be read: %v", err)
			continue
		}
		v.own(sku, say)
		v.both(sku, say)
		if v.unstocked(sku) {
			unstocked = append(unstocked, sku)
		}
	}
	return found, unstocked
}

// own checks the store alone.
func (v *view) own(sku string, say func(string, ...any)) {
	p, ok := v.after.products[sku]
	switch {
	case !ok || !p.known:
		say("the store does not know the product, the database does")
	case p.Stock < 0 || p.Reserved < 0 || p.Sold < 0:
		say("negative: stock %d, reserved %d, sold %d", p.Stock, p.Reserved, p.Sold)
	case p.Stock+p.Reserved+p.Sold != p.Put:
		say("stock %d + reserved %d + sold %d is not %d, which was put in", p.Stock, p.Reserved, p.Sold, p.Put)
	}
}

// both checks the database against the store.
func (v *view) both(sku string, say func(string, ...any)) {
	before, after, database := v.before.products[sku], v.after.products[sku], v.database[sku]
	switch {
	case database.Sold < before.settled-(after.returned-before.returned):
		say("the database has %d sold, and had %d", database.Sold, before.settled)
	case database.Sold > after.Sold+after.returned-before.restored: // returned items may be on their way
		say("the database has %d sold, the store %d", database.Sold, after.Sold)
	case v.stillOf(sku) && database.Sold+v.disputed[sku].sold != before.Sold:
		say("the database has %d sold, the store %d", database.Sold, before.Sold)
	case v.stillOf(sku) && database.Reserved+v.disputed[sku].reserved != before.Reserved:
		say("the database has %d reserved, the store %d", database.Reserved, before.Reserved)
	case !v.stillOf(sku) && v.ahead[sku] != 0 && v.through(sku):
		say("the database has %d sold, and %d were settled", database.Sold, after.settled)
	case v.putSettled(sku) && !v.unstocked(sku) && database.Put != before.Put:
		say("the database has %d put in, the store %d", database.Put, before.Put)
	}
}

// putSettled reports whether no change of the total is on its way to the database.
func (v *view) putSettled(sku string) bool {
	p := v.before.products[sku]
	return v.before.restocked == 0 && v.after.restocked == 0 && p.known && p.Put == v.after.products[sku].Put
}

// unstocked reports whether the database has lost the total: it has none, or less than its orders
// took, which is impossible otherwise. A different total may as well be the newer one, which the
// store has lost.
func (v *view) unstocked(sku string) bool {
	p, ok := v.database[sku]
	return v.putSettled(sku) && v.before.products[sku].Put != p.Put && (!ok || p.Put < p.Reserved+p.Sold)
}

// A pending is the set of products with orders on their way to the book.
type pending struct {
	all  products // of all orders on their way
	late products // of orders that were already on their way at the first of several reads
}

// products is a set of products, or all products.
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

// pending reads up to maxBatch orders of each list; if there are more, every product may be
// concerned. Since is the time of the first read. The items of an unreadable record are read from
// the book.
func (s *Sale) pending(ctx context.Context, b *Database, since int64) (*pending, error) {
	fresh, err := s.idsOf(ctx, keyFresh, 0) // first, since an order moves from this list to the next
	if err != nil {
		return nil, fmt.Errorf("stock: read unsettled orders: %w", err)
	}
	unsettled, err := again(ctx, func() ([]redis.Z, error) {
		return s.client.ZRangeWithScores(ctx, s.key(keyUnsettled), 0, maxBatch-1).Result()
	})
	if err != nil {
		return nil, fmt.Errorf("stock: read unsettled orders: %w", err)
	}
	w := &pending{products{skus: map[string]bool{}}, products{skus: map[string]bool{}}}
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
		if late[id] { // an order that the book lacks cannot explain why the book has more
			w.late.add(has)
		}
	}
	return w, nil
}

// itemsOf reads the items of orders from the store or, failing that, from the book. Orders that
// neither has are left out.
func (s *Sale) itemsOf(ctx context.Context, b *Database, ids []string) (map[string][]Item, error) {
	items := make(map[string][]Item, len(ids))
	for some := range slices.Chunk(ids, maxBatch) {
		var got batch
		if err := s.readRecords(ctx, some, &got); err != nil {
			return nil, fmt.Errorf("stock: read unsettled orders: %w", err)
		}
		for _, r := range got.records {
			items[r.ID] = r.Items
		}
		unread := got.lost
		for _, u := range got.unread {
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
