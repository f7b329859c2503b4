package sale

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/cronce/cronce/cmd/internal/terminal"
	"github.com/cronce/cronce/cmd/shop/internal/oversell"
)

// A table prints each sale when it is over.
type table struct {
	w       io.Writer
	options *Options
	stores  string // for people
	style   *terminal.Style
	rows    []Row
}

// A Row is a result with the expected one.
type Row struct {
	oversell.Result
	MustBeExact bool `json:"must_be_exact"`
}

func newTable(w io.Writer, o *Options, stores string) *table {
	return &table{w: w, options: o, stores: stores, style: terminal.NewStyle(w)}
}

// A row begins with the strategy's name, which is printed while its buyers are served.
const (
	nameFormat = "%-15s  "
	rowFormat  = "%6s  %7s  %6s  %6s  %8s  %6s  %8s  %7s  %8s  %8s  %10s  %s\n"
)

func (t *table) header() {
	if t.options.JSON {
		return
	}
	fmt.Fprintf(t.w, "%s and %s that come at once, to %s.\n", terminal.Plural(t.options.Stock, "item"), terminal.Plural(t.options.Buyers, "buyer"),
		terminal.Plural(t.options.Processes, "process"))
	fmt.Fprintf(t.w, "Between reading the stock and writing it a shop works for %v.\n", t.options.Work)
	fmt.Fprintf(t.w, "Stores: %s.\n", terminal.Printable(t.stores))
	fmt.Fprint(t.w, "AFTER LOSS: how many too many are sold when Redis loses its data halfway, and the shop goes on as it can.\n\n")
	heads := fmt.Sprintf(nameFormat+rowFormat, "STRATEGY", "BUYERS", "STOCK", "SOLD", "LEFT", "OVERSOLD", "ERRORS", "ORDERS/S", "HANDS/S", "P50", "P99", "AFTER LOSS", "")
	fmt.Fprintln(t.w, strings.TrimSpace(heads))
}

// begin prints the name of the sale that begins.
func (t *table) begin(k oversell.Kind) {
	if !t.options.JSON {
		fmt.Fprintf(t.w, nameFormat, k.Name)
	}
}

// add prints the result of the sale that has begun.
func (t *table) add(k oversell.Kind, r oversell.Result) {
	row := Row{Result: r, MustBeExact: k.Wrong == oversell.Never || k.Wrong == oversell.AcrossProcesses && t.options.Processes == 1}
	t.rows = append(t.rows, row)
	if t.options.JSON {
		return
	}
	if r.Skipped != "" {
		fmt.Fprintln(t.w, t.style.Level("debug", r.String()))
		return
	}
	n := func(n int) string { return fmt.Sprint(n) }
	said := r.String()
	switch {
	case !r.Exact:
		said = t.style.Level("error", said)
	case !row.MustBeExact:
		said = t.style.Level("warn", strings.Replace(said, "exact", "exact by luck", 1)) // the row alone must not recommend it
	case r.Errors > 0:
		said = t.style.Level("warn", said)
	}
	fmt.Fprintf(t.w, rowFormat, n(r.Buyers), n(r.Stock), n(r.Sold), n(r.Left), n(r.Oversold), n(r.Errors),
		fmt.Sprintf("%.0f", r.Rate), hands(r.Hands), millis(r.P50), millis(r.P99), afterLoss(r.Loss), said)
}

// afterLoss formats the number of oversold items in a sale whose Redis lost its data.
func afterLoss(l *oversell.Loss) string {
	if l == nil {
		return "-"
	}
	if l.Oversold > 0 {
		return fmt.Sprintf("+%d of %d", l.Oversold, l.Stock)
	}
	return fmt.Sprintf("0 of %d", l.Stock)
}

// hands formats the turns per second; a dash without turns.
func hands(perSecond float64) string {
	if perSecond == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f", perSecond)
}

// millis formats milliseconds with the digits that matter.
func millis(ms float64) string {
	d := time.Duration(ms * float64(time.Millisecond))
	switch {
	case d < 10*time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	}
	return d.Round(10 * time.Millisecond).String()
}

// endRow ends a row whose sale has failed.
func (t *table) endRow() {
	if !t.options.JSON {
		fmt.Fprintln(t.w)
	}
}

// summary prints which strategies were exact, and fails if a correct one was not.
func (t *table) summary() error {
	var exact, inexact, lucky, broken []string
	for _, r := range t.rows {
		switch {
		case r.Skipped != "":
		case r.MustBeExact && r.Exact:
			exact = append(exact, r.Strategy)
		case r.MustBeExact:
			broken = append(broken, r.Strategy)
		case r.Exact:
			lucky = append(lucky, r.Strategy)
		default:
			inexact = append(inexact, r.Strategy)
		}
	}
	if err := t.printSummary(exact, inexact, lucky, broken); err != nil {
		return err
	}
	if len(broken) > 0 {
		return ErrBroken
	}
	return nil
}

func (t *table) printSummary(exact, inexact, lucky, broken []string) error {
	if t.options.JSON {
		return terminal.PrintJSON(t.w, map[string]any{
			"ok": len(broken) == 0, "stock": t.options.Stock, "buyers": t.options.Buyers, "processes": t.options.Processes,
			"work_ms": float64(t.options.Work.Microseconds()) / 1000, "strategies": t.rows,
		})
	}
	fmt.Fprintln(t.w)
	for _, line := range []struct {
		names []string
		said  string
	}{
		{inexact, "Wrong, as they are made: %s."},
		{lucky, "Wrong, and lucky this time: %s. No two buyers met at the wrong moment."},
		{exact, "Every item sold once: %s."},
		{broken, "BROKEN: %s must not oversell."},
	} {
		if len(line.names) > 0 {
			fmt.Fprintf(t.w, line.said+"\n", strings.Join(line.names, ", "))
		}
	}
	return nil
}
