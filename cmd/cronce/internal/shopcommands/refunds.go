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

func refundsCommand() *cobra.Command {
	var output string
	var limit int
	cmd := &cobra.Command{
		Use:   "refunds",
		Short: "List the payments that have to be refunded",
		Long: "List the payments that their orders could not take, because the order was closed or already paid, and that\n" +
			"were not refunded yet, from the database, oldest first. A payment leaves the list when its refund is\n" +
			"reported to the shop (POST /orders/ORDER/refund), or when the dispute about its order is resolved. The\n" +
			"payment that has paid a disputed order is part of that decision: see 'cronce shop disputes'. The shop moves no money.\n\n" +
			"Exit codes: 0 there are none; 1 there are some; 4 not known: the database does not answer.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withSale(cmd, func(ctx context.Context, s *stock.Sale) error {
				all, err := s.ToRefund(ctx, limit)
				if err != nil {
					return err
				}
				return printRefunds(cmd.OutOrStdout(), all, output)
			})
		},
	}
	command.ConfigFlags(cmd, config.ShopOverrides)
	command.OutputFlag(cmd, &output)
	cmd.Flags().IntVar(&limit, "limit", 1000, fmt.Sprintf("how many at most, up to %d", stock.MaxRefunds))
	return cmd
}

// A refundReport is the JSON of a payment that has to be refunded.
type refundReport struct {
	Order     string `json:"order"`
	State     string `json:"state"`
	Disputed  bool   `json:"disputed"` // the database has another order under the id
	Reference string `json:"reference"`
	Amount    int64  `json:"amount"`
	Currency  string `json:"currency"`
	At        string `json:"at"`
}

func printRefunds(w io.Writer, all []stock.Surplus, output string) error {
	reports := make([]refundReport, len(all))
	for i, s := range all {
		reports[i] = refundReport{s.Order, string(s.State), s.Disputed, s.Payment.Reference, s.Payment.Amount, s.Payment.Currency, terminal.RFC3339(s.Payment.At.UnixMilli())}
	}
	if output == command.OutputJSON {
		if err := terminal.PrintJSON(w, reports); err != nil {
			return err
		}
	} else {
		table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		terminal.PrintRow(table, "ORDER", "STATE", "PAYMENT", "AMOUNT", "AT")
		for _, r := range reports {
			state := r.State
			if r.Disputed {
				state += ", disputed"
			}
			terminal.PrintRow(table, r.Order, state, r.Reference, fmt.Sprint(r.Amount, " ", r.Currency), r.At)
		}
		if err := table.Flush(); err != nil {
			return err
		}
	}
	if len(all) > 0 {
		return exit.Printed(exit.Failed, "some payments are to be refunded")
	}
	return nil
}
