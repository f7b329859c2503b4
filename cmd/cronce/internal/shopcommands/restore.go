package shopcommands

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/cronce/internal/command"
	"github.com/cronce/cronce/cmd/cronce/internal/config"
	"github.com/cronce/cronce/cmd/cronce/internal/exit"
	"github.com/cronce/cronce/cmd/cronce/internal/terminal"
	"github.com/cronce/cronce/jobs/stock"
)

func restoreCommand() *cobra.Command {
	var dry, takeOver bool
	cmd := &cobra.Command{
		Use:   "restore",
		Short: "Rebuild the shelf in Redis from the database, after Redis lost data",
		Long: "Rebuild stock, open orders and the ids of closed ones in Redis from the database, after Redis\n" +
			"lost data: until then the sale answers 503 stock-unknown. Accepted orders that are still in Redis\n" +
			"and not settled go into the database first, as far as there is room. The sale opens when the rebuild is\n" +
			"complete. An interrupted rebuild is begun again. A rebuild that has made a step within 5 s is under way and\n" +
			"continues, unless --take-over ends it. Run it with --dry-run first.\n\n" +
			"Exit codes: 0 rebuilt, or nothing to do; 1 some orders could not be taken over;\n" +
			"3 another database keeps the shelf, or another rebuild is under way; 4 not known: Redis or the database does not answer.",
		Example: "  cronce shop restore --config config.yaml --dry-run\n  cronce shop restore --config config.yaml",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return restoreShop(cmd, dry, takeOver) },
	}
	command.ConfigFlags(cmd, config.ShopOverrides)
	cmd.Flags().BoolVar(&dry, "dry-run", false, "print which orders would be taken over and which not, and change nothing")
	cmd.Flags().BoolVar(&takeOver, "take-over", false, "end another rebuild that is under way")
	return cmd
}

func restoreShop(cmd *cobra.Command, dry, takeOver bool) error {
	return withOpenSale(cmd, func(ctx context.Context, s *stock.Sale) error {
		act := s.Restore
		switch {
		case dry:
			act = s.WouldRestore
		case takeOver:
			act = s.RestoreNow
		}
		return printRestored(ctx, cmd.OutOrStdout(), act, dry)
	})
}

// A restoring runs, or previews, a rebuild.
type restoring func(context.Context) (stock.Restored, error)

func printRestored(ctx context.Context, w io.Writer, act restoring, dry bool) error {
	r, err := act(ctx)
	_, underWay := errors.AsType[*stock.UnderWayError](err)
	switch {
	case underWay:
		return exit.With(exit.Refused, fmt.Errorf("%w: wait for its end, or end it with --take-over", err))
	case errors.Is(err, stock.ErrNothingToRestore):
		fmt.Fprintln(w, "Redis has all that the database has: nothing to restore.")
		return nil
	case errors.Is(err, stock.ErrForeign):
		return exit.With(exit.Refused, err)
	case err != nil:
		return exit.Doubt(err)
	}
	for _, id := range r.Taken {
		fmt.Fprintf(w, "taken over   order %s\n", terminal.Printable(id))
	}
	for _, l := range r.Lost {
		what := "order " + terminal.Printable(l.ID)
		if l.ID == "" {
			what = "product " + terminal.Printable(l.SKU)
		}
		fmt.Fprintf(w, "not taken    %s: %s\n", what, terminal.Printable(l.Reason))
	}
	if dry {
		fmt.Fprintf(w, "would restore %d products; %d orders would be taken over, %d entries not\n", r.Products, len(r.Taken), len(r.Lost))
		return nil
	}
	return printRebuilt(w, &r)
}

// printRebuilt prints the result of a rebuild.
func printRebuilt(w io.Writer, r *stock.Restored) error {
	fmt.Fprintf(w, "restored %d products, %d open orders, %d closed ones, %d disputed; %d taken over, %d entries not\n",
		r.Products, r.Open, r.Closed, r.Disputed, len(r.Taken), len(r.Lost))
	if len(r.Lost) > 0 {
		return exit.Printed(exit.Failed, "some orders were not taken over")
	}
	return nil
}
