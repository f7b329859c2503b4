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

// A row claims no safety for a strategy that is wrong and was lucky, also beside an error; a mutex is right in one process.
func TestLuck(t *testing.T) {
	for _, c := range []struct {
		wrong             oversell.Wrong
		processes, errors int
		want              string
	}{
		{oversell.Always, 1, 0, "  exact by luck\n"},
		{oversell.AcrossProcesses, 2, 1, "  exact by luck; an error: EOF\n"},
		{oversell.AcrossProcesses, 1, 0, "  exact\n"},
		{oversell.Never, 2, 1, "  exact; an error: EOF\n"},
	} {
		var b strings.Builder
		table := newTable(&b, &Options{Stock: 1, Buyers: 1, Processes: c.processes}, "")
		table.add(oversell.Kind{Name: "mutex", Wrong: c.wrong}, oversell.Result{Strategy: "mutex", Exact: true, Errors: c.errors, Error: "EOF"})
		if !strings.HasSuffix(b.String(), c.want) {
			t.Errorf("%q, want it to end in %q", b.String(), c.want)
		}
	}
}
