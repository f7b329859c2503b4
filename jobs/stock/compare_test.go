package stock

import "testing"

// An order that was settled while the database was read makes no difference between
// the two, though nothing was left to settle before and after.
func TestCompareWhileSettling(t *testing.T) {
	at := func(stock, sold, marks int64) counts {
		return counts{marks: marks, products: map[string]tally{"a": {Product: Product{SKU: "a", Put: 5, Stock: stock, Sold: sold}, known: true}}}
	}
	for marks, want := range map[int64]int{1: 1, 2: 0} {
		v := view{before: at(4, 1, 1), after: at(3, 2, marks), database: map[string]Product{"a": {SKU: "a", Put: 5, Sold: 2}}}
		if found, _ := v.findings(); len(found) != want {
			t.Errorf("with %d marks after 1: found %v, want %d", marks, found, want)
		}
	}
}

// The book has one more sold than was marked as settled, in each of several looks. As long as an order that
// was on its way at the first of them still is, it may be written, and its mark slow; when all of those are
// marked, the book has what no order has.
func TestCompareSlowMark(t *testing.T) {
	at := func(now, oldest, sold, marks int64) counts {
		return counts{unsettled: 1, marks: marks, now: now, oldest: oldest,
			products: map[string]tally{"a": {Product: Product{SKU: "a", Put: 9, Stock: 9 - sold, Sold: sold}, known: true, settled: 1}}}
	}
	of := func(sku string) *pending {
		return &pending{all: products{every: true}, late: products{skus: map[string]bool{sku: true}}}
	}
	for _, c := range []struct {
		name    string
		oldest  int64
		pending *pending
		want    int
	}{
		{"one of before the first look", 90, nil, 0},
		{"one of the first look", 100, nil, 0},
		{"one of after it", 101, nil, 1},
		{"none", 0, nil, 1},
		{"one that is kept back, of another product", 90, of("b"), 1},
		{"one that is kept back, of this product", 90, of("a"), 0},
		{"too many to say of which products", 90, &pending{late: products{every: true}, all: products{every: true}}, 0},
	} {
		v := view{pending: c.pending, database: map[string]Product{"a": {SKU: "a", Put: 9, Sold: 2}}}
		for look, now := range []int64{100, 150, 200} {
			v.before, v.after = at(now, 90, 3, int64(look)), at(now+10, c.oldest, 3, int64(look)+1)
			v.constant(look == 0)
		}
		if found, _ := v.findings(); len(found) != c.want {
			t.Errorf("%s: found %v, want %d", c.name, found, c.want)
		}
	}
}
