package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/cronce/internal/config"
	"github.com/cronce/cronce/cmd/cronce/internal/terminal"
	"github.com/cronce/cronce/jobs/stock"
)

// withSale calls f with the sale of a configuration, and gives its error an exit code.
func withSale(cmd *cobra.Command, f func(ctx context.Context, s *stock.Sale) error) error {
	return withOpenSale(cmd, func(ctx context.Context, s *stock.Sale) error { return saleFailed(f(ctx, s)) })
}

// withOpenSale calls f with the sale of a configuration, and returns its error.
func withOpenSale(cmd *cobra.Command, f func(ctx context.Context, s *stock.Sale) error) error {
	return withShopClient(cmd, func(ctx context.Context, c *config.Config, client redis.UniversalClient) error {
		shop, err := openShop(c, client, false)
		if err != nil {
			return err
		}
		defer shop.close()
		return f(ctx, shop.sale)
	})
}

// withShopClient calls f with the configuration of a shop and a client of its store, until a signal
// ends ctx, and returns its error.
func withShopClient(cmd *cobra.Command, f func(ctx context.Context, c *config.Config, client redis.UniversalClient) error) error {
	c, err := loadShopConfig(cmd)
	if err != nil {
		return err
	}
	client, err := newClient(c)
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, stop := withSignals(cmd.Context())
	defer stop()
	return f(ctx, c, client)
}

// saleFailed gives an error of a sale its exit code: refused by state, wrong usage, or, of
// all that is not known to be either, doubt.
func saleFailed(err error) error {
	_, field := errors.AsType[*stock.FieldError](err)
	_, coded := errors.AsType[*codedError](err)
	switch {
	case err == nil, coded:
		return err
	case field:
		return &usageError{err}
	}
	for _, refusal := range []error{stock.ErrForeign, stock.ErrNoDispute, stock.ErrDecided, stock.ErrNotOnShelf, stock.ErrConflict, stock.ErrClosed, stock.ErrUnknownOrder, stock.ErrNotAside, stock.ErrNotNext} {
		if errors.Is(err, refusal) {
			return &codedError{err: err, code: exitRefused}
		}
	}
	return &doubtError{err}
}

// An operator has the flags that name the operator and the reason of a decision.
type operator struct{ by, reason string }

func (w *operator) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&w.reason, "reason", "", "why, up to 500 characters; it is recorded in the database (required)")
	cmd.Flags().StringVar(&w.by, "who", "", "the name of the caller (default: that of the user of this machine)")
}

func (w *operator) decision(a stock.Action, order string) stock.Decision {
	return stock.Decision{Action: a, Order: order, By: caller(w.by), Reason: w.reason}
}

func oneOrder(command string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return usagef("shop %s: got %d arguments, allowed is one order's id", command, len(args))
		}
		return nil
	}
}

func shopDisputesCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "disputes",
		Short: "List the disputed orders, and decide about them",
		Long: "List the orders that Redis has accepted under an id under which the database has another one:\n" +
			"the id was used again after it was forgotten, or Redis had lost the order. They are kept until they\n" +
			"are accepted under another id, refunded, or dropped.\n\n" +
			"Exit codes: 0 there are none, or it is done; 1 there are some; 3 refused: there is no such dispute,\n" +
			"something else was decided, or the new id is taken; 4 not known: Redis or the database does not answer.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withSale(cmd, func(ctx context.Context, s *stock.Sale) error {
				all, err := s.Disputes(ctx)
				if err != nil {
					return err
				}
				return printDisputes(cmd.OutOrStdout(), all, output)
			})
		},
	}
	configFlags(cmd, config.ShopOverrides)
	outputFlag(cmd, &output)
	cmd.AddCommand(shopDisputesShowCommand(), shopDecideCommand(stock.Accept, "Let a disputed order go on under another id"),
		shopDecideCommand(stock.Refund, "End a disputed order whose money goes back; its items are back in stock"),
		shopDecideCommand(stock.Drop, "End a disputed order; its items are back in stock"))
	return cmd
}

func shopDisputesShowCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "show ORDER",
		Short: "Show one disputed order, its receiver masked",
		Args:  oneOrder("disputes show"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withSale(cmd, func(ctx context.Context, s *stock.Sale) error {
				d, err := s.Dispute(ctx, args[0])
				if err != nil {
					return err
				}
				return showDispute(cmd.OutOrStdout(), &d, output)
			})
		},
	}
	configFlags(cmd, config.ShopOverrides)
	outputFlag(cmd, &output)
	return cmd
}

func shopDecideCommand(action stock.Action, short string) *cobra.Command {
	var by operator
	var newID string
	cmd := &cobra.Command{
		Use:   string(action) + " ORDER",
		Short: short,
		Args:  oneOrder("disputes " + string(action)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withSale(cmd, func(ctx context.Context, s *stock.Sale) error {
				d := by.decision(action, args[0])
				d.NewID = newID
				if err := s.Resolve(ctx, d); err != nil {
					return err
				}
				text := "order " + terminal.Printable(args[0]) + ": " + string(action)
				if newID != "" {
					text += " as " + terminal.Printable(newID)
				}
				_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s, recorded for %s\n", text, terminal.Printable(d.By))
				return err
			})
		},
	}
	configFlags(cmd, config.ShopOverrides)
	by.flags(cmd)
	if action == stock.Accept {
		cmd.Flags().StringVar(&newID, "as", "", "the new id (required)")
	}
	return cmd
}

// A disputeReport is a dispute as machines read it.
type disputeReport struct {
	ID       string           `json:"id"`
	State    string           `json:"state"`
	Placed   string           `json:"placed"`
	Found    string           `json:"found"`
	Amount   int64            `json:"amount"`
	Currency string           `json:"currency,omitempty"`
	Receiver string           `json:"receiver"` // masked
	Items    []map[string]any `json:"items"`
	Database string           `json:"database"` // what it has under the id instead
}

func disputeReportOf(d *stock.Dispute) disputeReport {
	r := disputeReport{ID: d.ID, State: string(d.State), Placed: rfc3339(d.Placed.UnixMilli()), Found: rfc3339(d.Found.UnixMilli()), Amount: d.Amount,
		Currency: d.Currency, Receiver: stock.Mask(d.Receiver), Items: []map[string]any{}, Database: d.BookHas}
	for _, i := range d.Items {
		r.Items = append(r.Items, map[string]any{"sku": i.SKU, "quantity": i.Quantity})
	}
	return r
}

func printDisputes(w io.Writer, all []stock.Dispute, output string) error {
	reports := make([]disputeReport, len(all))
	for i := range all {
		reports[i] = disputeReportOf(&all[i])
	}
	if output == outputJSON {
		if err := terminal.PrintJSON(w, reports); err != nil {
			return err
		}
	} else {
		table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		terminal.PrintRow(table, "ORDER", "STATE", "PLACED", "AMOUNT", "RECEIVER", "DATABASE HAS")
		for _, r := range reports {
			terminal.PrintRow(table, r.ID, r.State, r.Placed, fmt.Sprint(r.Amount, " ", r.Currency), r.Receiver, r.Database)
		}
		if err := table.Flush(); err != nil {
			return err
		}
	}
	if len(all) > 0 {
		return exitWith(exitFailed, "some orders are disputed")
	}
	return nil
}

func showDispute(w io.Writer, d *stock.Dispute, output string) error {
	r := disputeReportOf(d)
	if output == outputJSON {
		return terminal.PrintJSON(w, r)
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range [][2]string{
		{"order", r.ID}, {"state", r.State}, {"placed", r.Placed}, {"found", r.Found},
		{"amount", fmt.Sprint(r.Amount, " ", r.Currency)}, {"receiver", r.Receiver}, {"database has", r.Database},
	} {
		terminal.PrintRow(table, row[0], row[1])
	}
	for _, i := range d.Items {
		terminal.PrintRow(table, "item", fmt.Sprint(i.Quantity, " of ", i.SKU))
	}
	return table.Flush()
}
