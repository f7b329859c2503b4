package shopcommands

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/cronce/internal/command"
	"github.com/cronce/cronce/cmd/cronce/internal/config"
	"github.com/cronce/cronce/cmd/cronce/internal/exit"
	"github.com/cronce/cronce/cmd/cronce/internal/terminal"
	"github.com/cronce/cronce/jobs/stock"
)

func reconcileCommand() *cobra.Command {
	var by operator
	var repair bool
	cmd := &cobra.Command{
		Use:   "reconcile",
		Short: "Compare Redis with the database order by order, and repair what differs",
		Long: "Compare Redis with the database, order by order and product by product, also during a sale, and\n" +
			"print the differences and the repair of each. With --repair, repair them: orders that the database has\n" +
			"lost are settled again, its counts are computed from its orders, and if the shelf in Redis differs it is\n" +
			"rebuilt, during which the sale is closed. Where both have an order or a total, the database's counts.\n\n" +
			"Exit codes: 0 nothing differs, or it was repaired; 1 something differs, or could not be taken over;\n" +
			"3 another database keeps the shelf; 4 not known: Redis or the database does not answer, or the sale is\n" +
			"closed: see cronce shop restore.",
		Example: "  cronce shop reconcile --config config.yaml\n  cronce shop reconcile --config config.yaml --repair --reason 'after the outage'",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withSale(cmd, func(ctx context.Context, s *stock.Sale) error {
				if !repair {
					found, err := s.Audit(ctx)
					if err != nil {
						return err
					}
					return printDifferences(cmd.OutOrStdout(), found)
				}
				r, err := s.Repair(ctx, by.decision(stock.Repair, ""))
				if err != nil {
					return err
				}
				return printRepaired(cmd.OutOrStdout(), &r)
			})
		},
	}
	command.ConfigFlags(cmd, config.ShopOverrides)
	by.flags(cmd)
	cmd.Flags().BoolVar(&repair, "repair", false, "repair the differences; run it without --repair first")
	return cmd
}

func printDifferences(w io.Writer, found []stock.Difference) error {
	for _, d := range found {
		fmt.Fprintf(w, "%s: would %s\n", terminal.Printable(d.String()), d.Mend)
	}
	if len(found) > 0 {
		return exit.Printed(exit.Failed, "Redis and the database differ")
	}
	_, err := fmt.Fprintln(w, "Redis and the database have the same.")
	return err
}

func printRepaired(w io.Writer, r *stock.Repaired) error {
	if len(r.Found) == 0 {
		_, err := fmt.Fprintln(w, "Redis and the database have the same: nothing to repair.")
		return err
	}
	for _, d := range r.Found {
		fmt.Fprintf(w, "%s: %s\n", terminal.Printable(d.String()), d.Mend)
	}
	fmt.Fprintf(w, "%d orders are settled again, %d products counted again\n", r.Again, r.Recount)
	if r.Restocked > 0 {
		fmt.Fprintf(w, "%d totals and deliveries are put in again\n", r.Restocked)
	}
	if r.Restored.Epoch == "" {
		return nil
	}
	return printRebuilt(w, &r.Restored)
}

func freeCommand() *cobra.Command {
	var by operator
	cmd := &cobra.Command{
		Use:   "free ORDER --reason TEXT",
		Short: "End a reservation before its time: its items are back in stock",
		Long: "End a reservation before its time: its items are back in stock. The operator, the time and the reason are\n" +
			"recorded in the database. Exit code 3: the order is paid, over, or not known.",
		Args: oneOrder("free"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withSale(cmd, func(ctx context.Context, s *stock.Sale) error {
				d := by.decision(stock.Free, args[0])
				if _, err := s.Free(ctx, d); err != nil {
					return err
				}
				_, err := fmt.Fprintf(cmd.OutOrStdout(), "order %s: free, recorded for %s\n", terminal.Printable(args[0]), terminal.Printable(d.By))
				return err
			})
		},
	}
	command.ConfigFlags(cmd, config.ShopOverrides)
	by.flags(cmd)
	return cmd
}
