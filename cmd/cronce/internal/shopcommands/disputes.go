package shopcommands

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/cronce/internal/command"
	"github.com/cronce/cronce/cmd/cronce/internal/config"
	"github.com/cronce/cronce/cmd/cronce/internal/exit"
	"github.com/cronce/cronce/cmd/cronce/internal/terminal"
	"github.com/cronce/cronce/jobs/stock"
)

func disputesCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "disputes",
		Short: "List the disputed orders, and decide about them",
		Long: "List the orders that Redis has accepted under an id under which the database has another one:\n" +
			"the id was used again after it was forgotten, or Redis had lost the order. They are kept until they\n" +
			"are accepted under another id, refunded, or dropped.\n\n" +
			"Exit codes: 0 there are none, or it is done; 1 there are some; 3 refused: there is no such dispute,\n" +
			"another decision was made, or the new id is taken; 4 not known: Redis or the database does not answer.",
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
	command.ConfigFlags(cmd, config.ShopOverrides)
	command.OutputFlag(cmd, &output)
	cmd.AddCommand(disputesShowCommand(), decideCommand(stock.Accept, "Continue a disputed order under another id"),
		decideCommand(stock.Refund, "End a disputed order whose payment is refunded; its items are back in stock"),
		decideCommand(stock.Drop, "End a disputed order; its items are back in stock"))
	return cmd
}

func disputesShowCommand() *cobra.Command {
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
	command.ConfigFlags(cmd, config.ShopOverrides)
	command.OutputFlag(cmd, &output)
	return cmd
}

func decideCommand(action stock.Action, short string) *cobra.Command {
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
	command.ConfigFlags(cmd, config.ShopOverrides)
	by.flags(cmd)
	if action == stock.Accept {
		cmd.Flags().StringVar(&newID, "as", "", "the new id (required)")
	}
	return cmd
}

// A disputeReport is the JSON of a dispute.
type disputeReport struct {
	ID       string           `json:"id"`
	State    string           `json:"state"`
	Placed   string           `json:"placed"`
	Found    string           `json:"found"`
	Amount   int64            `json:"amount"`
	Currency string           `json:"currency,omitempty"`
	Receiver string           `json:"receiver"` // masked
	Items    []map[string]any `json:"items"`
	Database string           `json:"database"` // the database's order with this id
}

func disputeReportOf(d *stock.Dispute) disputeReport {
	r := disputeReport{ID: d.ID, State: string(d.State), Placed: terminal.RFC3339(d.Placed.UnixMilli()), Found: terminal.RFC3339(d.Found.UnixMilli()), Amount: d.Amount,
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
	if output == command.OutputJSON {
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
		return exit.Printed(exit.Failed, "some orders are disputed")
	}
	return nil
}

func showDispute(w io.Writer, d *stock.Dispute, output string) error {
	r := disputeReportOf(d)
	if output == command.OutputJSON {
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
