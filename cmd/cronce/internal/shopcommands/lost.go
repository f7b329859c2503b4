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

// mostLost is the default of --limit.
const mostLost = 1000

func lostCommand() *cobra.Command {
	var output string
	var limit int
	cmd := &cobra.Command{
		Use:   "lost",
		Short: "List the orders that were accepted and lost, and remove them from the list",
		Long: "List accepted orders whose acknowledged state is neither in Redis nor in the database, which durability:\n" +
			"reserved allows. The list is in the database. It has orders that a shop acknowledged and no longer finds, and\n" +
			"orders that a rebuild found in Redis, or its append log, and could not take over. An order that both have found\n" +
			"is there twice. An order leaves the list when the database has it, when a dispute about it is resolved, or when\n" +
			"it is dropped.\n\n" +
			"The list lacks orders of shops that ended before the rebuild, and all but the last 10,000 answers of a shop.\n\n" +
			"Exit codes: 0 there are none, or it is done; 1 there are some; 3 refused: no such order is listed;\n" +
			"4 not known: the database does not answer.",
		Example: "  cronce shop lost\n  cronce shop lost drop o-1 --reason 'the buyer was notified'\n  cronce shop lost drop --all --reason 'all were notified'",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 1 {
				return exit.Usagef("shop lost: --limit is %d, must be 1 or more", limit)
			}
			return withSale(cmd, func(ctx context.Context, s *stock.Sale) error {
				all, err := s.LostOrders(ctx, limit)
				if err != nil {
					return err
				}
				return printLost(cmd.OutOrStdout(), all, output)
			})
		},
	}
	command.ConfigFlags(cmd, config.ShopOverrides)
	command.OutputFlag(cmd, &output)
	cmd.Flags().IntVar(&limit, "limit", mostLost, "how many at most")
	cmd.AddCommand(lostDropCommand())
	return cmd
}

func lostDropCommand() *cobra.Command {
	var by operator
	var all bool
	cmd := &cobra.Command{
		Use:   "drop [ORDER]",
		Short: "Remove a lost order from the list, or all of them",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if all == (len(args) == 1) {
				return exit.Usagef("shop lost drop: give one order's id, or --all")
			}
			order := ""
			if len(args) == 1 {
				order = args[0]
			}
			return withSale(cmd, func(ctx context.Context, s *stock.Sale) error {
				d := by.decision(stock.DropLost, order)
				n, err := s.DropLost(ctx, order, d)
				if err != nil {
					return err
				}
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s dropped, recorded for %s\n", terminal.Plural(n, "order"), terminal.Printable(d.By))
				return err
			})
		},
	}
	command.ConfigFlags(cmd, config.ShopOverrides)
	by.flags(cmd)
	cmd.Flags().BoolVar(&all, "all", false, "all that are listed")
	return cmd
}

// A lostReport is the JSON of a lost order.
type lostReport struct {
	Order        string `json:"order"`
	State        string `json:"state"` // the acknowledged state, or the state in Redis
	Acknowledged bool   `json:"acknowledged"`
	DatabaseHas  string `json:"database_has"`
	Reason       string `json:"reason"`
	Found        string `json:"found_at"`
}

func printLost(w io.Writer, all []stock.LostOrder, output string) error {
	reports := make([]lostReport, len(all))
	for i, l := range all {
		reports[i] = lostReport{l.ID, string(l.State), l.Acknowledged, string(l.BookHas), l.Reason, terminal.RFC3339(l.Found.UnixMilli())}
	}
	if output == command.OutputJSON {
		if err := terminal.PrintJSON(w, reports); err != nil {
			return err
		}
	} else {
		table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		terminal.PrintRow(table, "ORDER", "STATE", "FOUND BY", "DATABASE", "FOUND AT", "REASON")
		for _, r := range reports {
			by := "a rebuild"
			if r.Acknowledged {
				by = "the shop that acknowledged it"
			}
			terminal.PrintRow(table, r.Order, terminal.Dash(r.State), by, terminal.Dash(r.DatabaseHas), r.Found, r.Reason)
		}
		if err := table.Flush(); err != nil {
			return err
		}
	}
	if len(all) > 0 {
		return exit.Printed(exit.Failed, "some orders are lost")
	}
	return nil
}
