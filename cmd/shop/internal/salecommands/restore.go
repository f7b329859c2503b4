package salecommands

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/cmd/internal/terminal"
	"github.com/cronce/cronce/cmd/shop/internal/settings"
	"github.com/cronce/cronce/jobs/stock"
)

// RestoreCommand is the command restore.
func RestoreCommand() *cobra.Command {
	var takeOver bool
	cmd := &cobra.Command{
		Use:   "restore",
		Short: "Rebuild the shelf in Redis from the database, after Redis lost data",
		Long: "Rebuild stock, open orders and the ids of closed ones in Redis from the database, after Redis\n" +
			"lost data: until then the sale answers 503 stock-unknown. Nothing is taken over from Redis: orders that it\n" +
			"still has and that were not settled are dropped, and listed. The sale opens when the rebuild is complete. An\n" +
			"interrupted rebuild is begun again. A rebuild that made a step within the last 5 s counts as under way, and continues,\n" +
			"unless --take-over ends it.\n\n" +
			"Exit codes: 0 rebuilt, or nothing to do; 3 another database keeps the shelf, or another rebuild is under way;\n" +
			"4 not known: Redis or the database does not answer.",
		Example: "  shop restore --config config.yaml",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return restoreShop(cmd, takeOver) },
	}
	settings.StoreFlags(cmd)
	cmd.Flags().BoolVar(&takeOver, "take-over", false, "end another rebuild that is under way")
	return cmd
}

func restoreShop(cmd *cobra.Command, takeOver bool) error {
	return withOpenSale(cmd, func(ctx context.Context, s *stock.Sale) error {
		act := s.Restore
		if takeOver {
			act = s.RestoreNow
		}
		return printRestored(ctx, cmd.OutOrStdout(), act)
	})
}

// A restoring runs a rebuild.
type restoring func(context.Context) (stock.Restored, error)

func printRestored(ctx context.Context, w io.Writer, act restoring) error {
	r, err := act(ctx)
	switch {
	case errors.Is(err, stock.ErrUnderWay):
		return exit.With(exit.Refused, fmt.Errorf("%w: wait for its end, or end it with --take-over", err))
	case errors.Is(err, stock.ErrNothingToRestore):
		fmt.Fprintln(w, "Redis has all that the database has: nothing to restore.")
		return nil
	case errors.Is(err, stock.ErrForeign):
		return exit.With(exit.Refused, err)
	case err != nil:
		return exit.Doubt(err)
	}
	for _, id := range r.Dropped {
		fmt.Fprintf(w, "dropped      order %s\n", terminal.Printable(id))
	}
	_, err = fmt.Fprintf(w, "restored %d products, %d open orders, %d closed ones; %d dropped\n", r.Products, r.Open, r.Closed, len(r.Dropped))
	return err
}
