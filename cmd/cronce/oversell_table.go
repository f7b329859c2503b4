package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/cronce/cronce/cmd/cronce/internal/oversell"
	"github.com/cronce/cronce/cmd/cronce/internal/terminal"
)

// An oversellTable prints each sale as soon as it is over.
type oversellTable struct {
	w     io.Writer
	flags oversellFlags
	rig   *rig
	style *terminal.Style
	rows  []oversellRow
}

// An oversellRow is a result and what was to be expected of it.
type oversellRow struct {
	oversell.Result
	MustBeExact bool `json:"must_be_exact"`
}

func newOversellTable(w io.Writer, f oversellFlags, r *rig) *oversellTable {
	return &oversellTable{w: w, flags: f, rig: r, style: terminal.NewStyle(w)}
}

// A row begins with the strategy's name, which is shown while its buyers are served.
const (
	oversellName   = "%-15s  "
	oversellFormat = "%6s  %7s  %6s  %6s  %8s  %6s  %8s  %7s  %8s  %8s  %10s  %s\n"
)

func (t *oversellTable) head() {
	if t.flags.output == outputJSON {
		return
	}
	fmt.Fprintf(t.w, "%s and %s who come at once, to %s.\n", terminal.Plural(t.flags.stock, "item"), terminal.Plural(t.flags.buyers, "buyer"),
		terminal.Plural(t.flags.processes, "process"))
	fmt.Fprintf(t.w, "Between reading the stock and writing it a shop works for %v.\n", t.flags.work)
	fmt.Fprintf(t.w, "Stores: %s.\n", terminal.Printable(t.rig.where()))
	fmt.Fprint(t.w, "AFTER LOSS: how many too many are sold when Redis loses its data halfway, and the shop goes on as it can.\n\n")
	heads := fmt.Sprintf(oversellName+oversellFormat, "STRATEGY", "BUYERS", "STOCK", "SOLD", "LEFT", "OVERSOLD", "ERRORS", "ORDERS/S", "HANDS/S", "P50", "P99", "AFTER LOSS", "")
	fmt.Fprintln(t.w, strings.TrimSpace(heads))
}

// begin shows which sale begins.
func (t *oversellTable) begin(k oversell.Kind) {
	if t.flags.output != outputJSON {
		fmt.Fprintf(t.w, oversellName, k.Name)
	}
}

// add shows the result of the sale that has begun.
func (t *oversellTable) add(k oversell.Kind, r oversell.Result) {
	row := oversellRow{Result: r, MustBeExact: k.Wrong == oversell.Never || k.Wrong == oversell.AcrossProcesses && t.flags.processes == 1}
	t.rows = append(t.rows, row)
	if t.flags.output == outputJSON {
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
	case r.Errors > 0:
		said = t.style.Level("warn", said)
	}
	fmt.Fprintf(t.w, oversellFormat, n(r.Buyers), n(r.Stock), n(r.Sold), n(r.Left), n(r.Oversold), n(r.Errors),
		fmt.Sprintf("%.0f", r.Rate), hands(r.Hands), millis(r.P50), millis(r.P99), afterLoss(r.Loss), said)
}

// afterLoss is how many were sold too many in a sale whose Redis lost its data.
func afterLoss(l *oversell.Loss) string {
	if l == nil {
		return "-"
	}
	if l.Oversold > 0 {
		return fmt.Sprintf("+%d of %d", l.Oversold, l.Stock)
	}
	return fmt.Sprintf("0 of %d", l.Stock)
}

// hands is how often per second buyers took turns, where they do.
func hands(perSecond float64) string {
	if perSecond == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f", perSecond)
}

// millis writes milliseconds with as many digits as matter.
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

// cut ends a row whose sale has failed.
func (t *oversellTable) cut() {
	if t.flags.output != outputJSON {
		fmt.Fprintln(t.w)
	}
}

// foot says which strategies kept what they promise, and fails if one did not.
func (t *oversellTable) foot() error {
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
	if err := t.sum(exact, inexact, lucky, broken); err != nil {
		return err
	}
	if len(broken) > 0 {
		return told(exitFailed, "a strategy oversold that must not")
	}
	return nil
}

func (t *oversellTable) sum(exact, inexact, lucky, broken []string) error {
	if t.flags.output == outputJSON {
		return terminal.PrintJSON(t.w, map[string]any{
			"ok": len(broken) == 0, "stock": t.flags.stock, "buyers": t.flags.buyers, "processes": t.flags.processes,
			"work_ms": float64(t.flags.work.Microseconds()) / 1000, "strategies": t.rows,
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
