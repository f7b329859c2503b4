package sale

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/cronce/cronce/cmd/shop/internal/oversell"
)

// Nothing that a table shows may be wider than its column.
func TestTable(t *testing.T) {
	var b strings.Builder
	table := newTable(&b, &Options{Stock: 1, Buyers: 1, Processes: 1}, "")
	for _, ms := range []float64{0, 0.0123, 9.994, 12.3, 999, 61_234} {
		table.begin(oversell.Kind{Name: "sql-conditional"})
		table.add(oversell.Kind{Name: "sql-conditional"}, oversell.Result{Strategy: "sql-conditional", Buyers: 100_000, Stock: 1_000_000,
			Sold: 5, P50: ms, P99: ms, Rate: 123456, Exact: true})
	}
	for l := range strings.Lines(b.String()) {
		if !strings.HasSuffix(l, "  exact\n") || utf8.RuneCountInString(l) != len("\n")+15+2*11+6+7+6+6+8+6+8+7+8+8+2+10+len("exact") {
			t.Errorf("%q", l)
		}
	}
	if _, err := time.ParseDuration(millis(61_234)); err != nil {
		t.Error(err)
	}
}
