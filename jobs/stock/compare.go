package stock

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// A view is the store before and after the database was read.
type view struct {
	before, after counts
	database      map[string]Product
	disputed      map[string]shift // by product, what disputed orders have on the shelf

	marks int64            // how many orders were marked as settled at the first of several reads
	began int64            // when that was, by the store's clock
	ahead map[string]int64 // by product, by how much the book had more sold than was marked, in all reads

	way *way // which orders are on their way to the book, at the last read; nil: none is, or it is not known
}

// constant remembers by how much the book has more sold than was marked as settled, as
// long as it is the same in each read: what is written and not marked yet changes.
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

// through reports whether all that was on its way of a product at the first read has been marked as settled
// since. What is written and not marked yet, as by a run that is slow or was killed, explains that the book has
// more; an order that is kept back explains it of its own products alone.
func (v *view) through(sku string) bool {
	return v.after.marks > v.marks && (v.after.oldest == 0 || v.after.oldest > v.began || v.way != nil && !v.way.late.has(sku))
}

// still reports whether the database must have been what the store says: nothing
// was to be settled before and after, and nothing was settled in between.
func (v *view) still() bool {
	return v.before.unsettled == 0 && v.after.unsettled == 0 && v.before.marks == v.after.marks
}

// stillOf is still of one product: nothing of it was on its way, whatever else was.
func (v *view) stillOf(sku string) bool {
	return v.still() || v.before.marks == v.after.marks && v.way != nil && !v.way.all.has(sku)
}

// A finding is something that is not as it must be.
type finding struct{ sku, text string }

// findings compares the store with itself, with the database, and both with what
// was put in. While orders are on their way to the database only bounds can be
// judged: it has at least what the store knows it to have, and at most what the
// store has.
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

// own judges the store alone.
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

// both judges the database by the store.
func (v *view) both(sku string, say func(string, ...any)) {
	before, after, database := v.before.products[sku], v.after.products[sku], v.database[sku]
	switch {
	case database.Sold < before.settled-(after.returned-before.returned):
		say("the database has %d sold, and had %d", database.Sold, before.settled)
	case database.Sold > after.Sold+after.returned-before.restored: // what came back may be on its way
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

// putSettled reports whether no change of what was put in is on its way to the database.
func (v *view) putSettled(sku string) bool {
	p := v.before.products[sku]
	return v.before.restocked == 0 && v.after.restocked == 0 && p.known && p.Put == v.after.products[sku].Put
}

// unstocked reports whether the database has lost what was put in: it has nothing,
// or less than its orders took, which never was. Any other total may as well be one
// that the store has lost.
func (v *view) unstocked(sku string) bool {
	p, ok := v.database[sku]
	return v.putSettled(sku) && v.before.products[sku].Put != p.Put && (!ok || p.Put < p.Reserved+p.Sold)
}
