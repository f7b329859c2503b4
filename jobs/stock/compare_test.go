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
		if found := v.differences(); len(found) != want {
			t.Errorf("with %d marks after 1: found %v, want %d", marks, found, want)
		}
	}
}
