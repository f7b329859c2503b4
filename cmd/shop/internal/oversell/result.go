package oversell

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// A Result is the result of a sale.
type Result struct {
	Strategy string        `json:"strategy"`
	Skipped  string        `json:"skipped,omitempty"` // why it did not run; the other fields are empty then
	Buyers   int           `json:"buyers"`
	Stock    int           `json:"stock"`    // put in
	Sold     int           `json:"sold"`     // buyers that got no error
	Orders   int           `json:"orders"`   // orders in the store
	Left     int           `json:"left"`     // items left, according to the store
	Oversold int           `json:"oversold"` // sold, or ordered, beyond the stock
	Errors   int           `json:"errors"`   // buyers that got an error
	Error    string        `json:"error,omitempty"`
	Took     time.Duration `json:"-"`
	Rate     float64       `json:"orders_per_second"`
	Hands    float64       `json:"hand_overs_per_second,omitempty"` // turns, including the turns of buyers that found nothing left
	P50      float64       `json:"p50_ms"`                          // of the time until a buyer had an answer
	P99      float64       `json:"p99_ms"`
	Exact    bool          `json:"exact"` // each item was sold once, or is left
	Faults   []string      `json:"faults,omitempty"`
	Loss     *Loss         `json:"after_losing_redis,omitempty"` // nil: the strategy has no stock in Redis
}

// Sum computes a result from the answers to the buyers of all processes, and from the content of
// the shelf afterwards.
func Sum(strategy string, stock, left, orders int, all []Answers) Result {
	r := Result{Strategy: strategy, Stock: stock, Left: left, Orders: orders}
	var waited []int64
	var turns int64
	for _, a := range all {
		r.Buyers += a.Sold + a.SoldOut + a.Errors
		r.Sold += a.Sold
		r.Errors += a.Errors
		if r.Error == "" {
			r.Error = a.Error
		}
		r.Took = max(r.Took, a.Took)
		waited = append(waited, a.Waited...)
		turns += a.HandOvers
	}
	slices.Sort(waited)
	r.P50, r.P99 = quantile(waited, 0.50), quantile(waited, 0.99)
	if r.Took > 0 {
		r.Rate = float64(r.Sold) / r.Took.Seconds()
		r.Hands = float64(turns) / r.Took.Seconds()
	}
	r.Oversold = max(0, max(r.Sold, r.Orders)-stock)
	r.Faults = r.faults()
	r.Exact = len(r.Faults) == 0
	return r
}

// Lost adds the result of a sale whose Redis lost its data. With keeps, it must be exact.
func (r *Result) Lost(l *Loss, keeps bool) {
	r.Loss = l
	if l == nil || !keeps {
		return
	}
	if l.Sold != l.Stock || l.Refused == 0 {
		r.Faults = append(r.Faults, fmt.Sprintf("after losing Redis %d of %d sold, %d refused before the rebuild", l.Sold, l.Stock, l.Refused))
	}
	r.Exact = len(r.Faults) == 0
}

// quantile returns a quantile of sorted microseconds in milliseconds.
func quantile(sorted []int64, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return float64(sorted[int(math.Ceil(q*float64(len(sorted))))-1]) / 1000
}

// faults describes the numbers that do not add up. A buyer that got an error may have an order
// nevertheless.
func (r *Result) faults() (faults []string) {
	add := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	if r.Oversold > 0 {
		add("sold %d too many", r.Oversold)
	}
	if lost := r.Left + r.Orders - r.Stock; lost > 0 && r.Orders <= r.Stock {
		add("%d of the sold still on the shelf", lost)
	} else if lost > 0 && r.Left > 0 {
		add("%d still on the shelf", r.Left)
	} else if lost < 0 {
		add("%d gone without an order", -lost)
	}
	if r.Left < 0 {
		add("%d left", r.Left)
	}
	if r.Orders < r.Sold {
		add("%d sold without an order", r.Sold-r.Orders)
	}
	if more := r.Orders - r.Sold - r.Errors; more > 0 {
		add("%d orders that no buyer got as an answer", more)
	}
	if want := min(r.Stock, r.Buyers); r.Errors == 0 && r.Orders < want {
		add("%d not sold, though %d came", want-r.Orders, r.Buyers)
	}
	return faults
}

// String describes a result in a sentence.
func (r *Result) String() string {
	switch {
	case r.Skipped != "":
		return "not run: " + r.Skipped
	case !r.Exact:
		return strings.Join(r.Faults, "; ")
	case r.Errors > 0:
		return "exact; an error: " + r.Error
	}
	return "exact"
}
