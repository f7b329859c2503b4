package stock

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"
)

// A comparison of counts repeats its read until no change is on its way to the book, at most
// maxReads times and with readAgain between two reads.
const (
	maxReads  = 10
	readAgain = 100 * time.Millisecond
)

// A view is the store's counts before and after the book was read.
type view struct {
	before, after counts
	database      map[string]Product
}

// view reads the counts of store and book until no order is on its way to the book, at most
// maxReads times: only then the counts of orders can be compared.
func (s *Sale) view(ctx context.Context) (v view, err error) {
	for read := 1; ; read++ {
		if v.before, err = s.counts(ctx); err != nil {
			return view{}, err
		}
		if v.database, err = s.options.Book.products(ctx, s.ID()); err != nil {
			return view{}, err
		}
		if v.after, err = s.counts(ctx); err != nil {
			return view{}, err
		}
		if v.still() || read == maxReads {
			return v, nil
		}
		select {
		case <-time.After(readAgain):
		case <-ctx.Done():
			return view{}, context.Cause(ctx)
		}
	}
}

// still reports whether the database must equal the store: no order waited for its settlement
// before or after, and none was settled in between.
func (v *view) still() bool {
	return v.before.unsettled == 0 && v.after.unsettled == 0 && v.before.marks == v.after.marks
}

// differences compares the store with itself and with the database. While orders are on their way
// to the database, it compares only the store with itself, and the totals.
func (v *view) differences() (found []Difference) {
	skus := maps.Clone(v.database)
	for sku := range v.after.products {
		skus[sku] = Product{}
	}
	for _, sku := range slices.Sorted(maps.Keys(skus)) {
		fault := v.own(sku)
		if fault == "" {
			fault = v.both(sku)
		}
		if fault != "" {
			p, d := v.after.products[sku], v.database[sku]
			found = append(found, Difference{SKU: sku,
				Store: fmt.Sprintf("%d put in, %d reserved, %d sold, %d left (%s)", p.Put, p.Reserved, p.Sold, p.Stock, fault),
				Book:  fmt.Sprintf("%d put in, %d reserved, %d sold", d.Put, d.Reserved, d.Sold)})
		}
	}
	return found
}

// own returns the fault of the store alone.
func (v *view) own(sku string) string {
	p, ok := v.after.products[sku]
	if err := cmp.Or(v.before.products[sku].unread, p.unread); err != nil {
		return fmt.Sprintf("a count cannot be read: %v", err)
	}
	switch {
	case !ok || !p.known:
		return "the store does not know the product"
	case p.Stock < 0 || p.Reserved < 0 || p.Sold < 0:
		return "negative"
	case p.Stock+p.Reserved+p.Sold != p.Put:
		return "their sum is not the total"
	}
	return ""
}

// both returns how the database differs from the store.
func (v *view) both(sku string) string {
	before, after, database := v.before.products[sku], v.after.products[sku], v.database[sku]
	totals := v.before.restocked == 0 && v.after.restocked == 0 && before.known && before.Put == after.Put // none is on its way
	if totals && database.Put != before.Put || v.still() && (database.Sold != before.Sold || database.Reserved != before.Reserved) {
		return "it differs from the book"
	}
	return ""
}
