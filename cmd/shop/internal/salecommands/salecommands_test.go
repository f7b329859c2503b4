package salecommands

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/jobs/stock"
)

// Each end of a rebuild has the exit code that the help promises, and the result counts and names what was dropped.
func TestPrintRestored(t *testing.T) {
	done := stock.Restored{Products: 1, Open: 2, Closed: 3, Dropped: []string{"a", "b\x1b", "c", "d"}}
	for _, c := range []struct {
		err  error
		code int
		want string
	}{
		{nil, exit.Fine, "dropped      order a\ndropped      order b\\x1b\ndropped      order c\ndropped      order d\nrestored 1 products, 2 open orders, 3 closed ones; 4 dropped\n"},
		{stock.ErrNothingToRestore, exit.Fine, "nothing to restore"},
		{stock.ErrUnderWay, exit.Refused, "end it with --take-over"},
		{stock.ErrForeign, exit.Refused, "another database"},
		{errors.New("no answer"), exit.NotKnown, "no answer"},
	} {
		var out strings.Builder
		err := printRestored(t.Context(), &out, func(context.Context) (stock.Restored, error) { return done, c.err })
		checkEnd(t, err, c.code, out.String(), c.want)
	}
}

// An error of a sale has the exit code that the help promises; one with a code keeps it.
func TestSaleFailed(t *testing.T) {
	for err, code := range map[error]int{
		&stock.FieldError{Field: "sku", Value: `""`, Allowed: "a name"}: exit.WrongUsage,
		stock.ErrForeign:                   exit.Refused,
		stock.ErrStockUnknown:              exit.NotKnown,
		errors.New("no answer"):            exit.NotKnown,
		exit.Printed(exit.Failed, "found"): exit.Failed,
	} {
		checkEnd(t, saleFailed(fmt.Errorf("sale: %w", err)), code, "", "")
	}
	checkEnd(t, saleFailed(nil), exit.Fine, "", "")
}

// A database that accepts a connection and does not reply ends a command, which would otherwise wait forever.
func TestSilentDatabase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		silent := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		if err := answers(t.Context(), silent); err == nil || !strings.Contains(err.Error(), "shop.database: no answer within 10s") {
			t.Error(err)
		}
		ended, stop := context.WithCancel(t.Context())
		stop() // by a signal
		if err := answers(ended, silent); !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "no answer") {
			t.Error(err)
		}
	})
}

// Every difference is printed; then the exit code is 1.
func TestPrintDifferences(t *testing.T) {
	for want, found := range map[string][]stock.Difference{
		"have the same": nil,
		"order \"a\": the store has x, the book y\nproduct \"b\": the store has x, the book y\n": {{Order: "a", Store: "x", Book: "y"}, {SKU: "b", Store: "x", Book: "y"}},
	} {
		var out strings.Builder
		err := printDifferences(&out, found)
		checkEnd(t, err, min(len(found), exit.Failed), out.String(), want)
	}
}

// checkEnd checks the exit code of an error, and a part of the output or of the error.
func checkEnd(t *testing.T, err error, code int, out, want string) {
	t.Helper()
	got := exit.Fine
	if err != nil {
		got = exit.Code(err, true)
		out += err.Error()
	}
	if got != code || !strings.Contains(out, want) {
		t.Errorf("exit code %d, want %d: %q, want %q", got, code, out, want)
	}
}
