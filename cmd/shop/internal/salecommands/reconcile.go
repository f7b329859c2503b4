package salecommands

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/cmd/internal/terminal"
	"github.com/cronce/cronce/cmd/shop/internal/settings"
	"github.com/cronce/cronce/jobs/stock"
)

// ReconcileCommand is the command reconcile.
func ReconcileCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "reconcile",
		Short: "Compare Redis with the database order by order",
		Long: "Compare Redis with the database, order by order and product by product, also during a sale, and print the\n" +
			"differences. It changes nothing.\n\n" +
			"Exit codes: 0 nothing differs; 1 something differs; 3 another database keeps the shelf; 4 not known: Redis or\n" +
			"the database does not answer, or the sale is closed: see shop restore.",
		Example: "  shop reconcile --config config.yaml",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withSale(cmd, func(ctx context.Context, s *stock.Sale) error {
				found, err := s.Differences(ctx)
				if err != nil {
					return err
				}
				return printDifferences(cmd.OutOrStdout(), found)
			})
		},
	}
	settings.StoreFlags(cmd)
	return cmd
}

func printDifferences(w io.Writer, found []stock.Difference) error {
	for _, d := range found {
		fmt.Fprintln(w, terminal.Printable(d.String()))
	}
	if len(found) > 0 {
		return exit.Printed(exit.Failed, "Redis and the database differ")
	}
	_, err := fmt.Fprintln(w, "Redis and the database have the same.")
	return err
}
