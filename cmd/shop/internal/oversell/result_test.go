package oversell_test

import (
	"testing"
	"time"

	"github.com/cronce/cronce/cmd/shop/internal/oversell"
)

// The replies to the buyers are compared with the orders, and both with the stock.
func TestSum(t *testing.T) {
	for _, c := range []struct {
		name                string
		stock, left, orders int
		sold, soldOut, errs int
		oversold            int
		want                string
	}{
		{"exact", 5, 0, 5, 5, 5, 0, 0, "exact"},
		{"more than there are buyers", 5, 2, 3, 3, 0, 0, 0, "exact"},
		{"all lost their writes", 5, 4, 10, 10, 0, 0, 5, "sold 5 too many; 4 still on the shelf"},
		{"sold twice", 5, 0, 10, 10, 0, 0, 5, "sold 5 too many"},
		{"one write lost", 5, 1, 5, 5, 5, 0, 0, "1 of the sold still on the shelf"},
		{"an order that no buyer got as an answer", 5, 0, 5, 4, 6, 0, 0, "1 orders that no buyer got as an answer"},
		{"an order after an error", 5, 0, 5, 4, 5, 1, 0, "exact; an error: broken pipe"},
		{"sold without an order", 5, 0, 4, 5, 5, 0, 0, "1 gone without an order; 1 sold without an order; 1 not sold, though 10 came"},
		{"one item gone", 5, 0, 4, 4, 6, 0, 0, "1 gone without an order; 1 not sold, though 10 came"},
		{"refused too early", 5, 1, 4, 4, 6, 0, 0, "1 not sold, though 10 came"},
		{"below nothing", 5, -1, 6, 6, 4, 0, 1, "sold 1 too many; -1 left"},
	} {
		t.Run(c.name, func(t *testing.T) {
			half := oversell.Answers{Sold: c.sold, Took: time.Second, Waited: []int64{3000, 1000, 2000}}
			other := oversell.Answers{SoldOut: c.soldOut, Errors: c.errs, Took: 2 * time.Second, Waited: []int64{4000, 5000}}
			if c.errs > 0 {
				other.Error = "broken pipe"
			}
			r := oversell.Sum("x", c.stock, c.left, c.orders, []oversell.Answers{half, other})
			if r.String() != c.want || r.Oversold != c.oversold || r.Buyers != c.sold+c.soldOut+c.errs {
				t.Errorf("%q, oversold %d, buyers %d, want %q, %d", r.String(), r.Oversold, r.Buyers, c.want, c.oversold)
			}
			if r.P50 != 3 || r.P99 != 5 || r.Rate != float64(c.sold)/2 {
				t.Errorf("p50 %v, p99 %v, %v orders/s", r.P50, r.P99, r.Rate)
			}
		})
	}
}
