package salecommands

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/internal/wait"
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

// A database that does not reply, from the beginning or after some answers, ends a command, which would otherwise wait forever. A
// command that has done its work nevertheless has no fault.
func TestSilentDatabase(t *testing.T) {
	for _, answered := range []int{0, 1, 3} {
		synctest.Test(t, func(t *testing.T) {
			ping := func(ctx context.Context) error {
				if answered--; answered >= 0 {
					return nil
				}
				<-ctx.Done()
				return ctx.Err()
			}
			work := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
			err := whileAnswering(t.Context(), ping, work)
			if err == nil || !strings.Contains(err.Error(), "shop.database: no answer within 10s") || exit.Code(err, true) != exit.NotKnown {
				t.Error(err)
			}
			answered = 1
			if err := whileAnswering(t.Context(), ping, func(ctx context.Context) error { <-ctx.Done(); return nil }); err != nil {
				t.Error(err)
			}
			ended, stop := context.WithCancel(t.Context())
			stop() // by a signal
			if err := whileAnswering(ended, ping, work); !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "no answer") {
				t.Error(err)
			}
		})
	}
}

// A long rebuild goes on while the database answers, also while it refuses further connections.
func TestAnsweringDatabase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pings := 0
		ping := func(context.Context) error {
			if pings++; pings > 1 {
				return errors.New("too many connections")
			}
			return nil
		}
		err := whileAnswering(t.Context(), ping, func(ctx context.Context) error { return wait.Sleep(ctx, time.Hour) })
		if err != nil || pings < 2 {
			t.Errorf("%v after %d pings, want none and several", err, pings)
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
