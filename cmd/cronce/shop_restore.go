package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/cronce/internal/config"
	"github.com/cronce/cronce/cmd/cronce/internal/terminal"
	"github.com/cronce/cronce/jobs/stock"
)

func shopRestoreCommand() *cobra.Command {
	var dry bool
	cmd := &cobra.Command{
		Use:   "restore",
		Short: "Rebuild the shelf in Redis from the database, after Redis lost data",
		Long: "Rebuild stock, open orders and the ids of closed ones in Redis from the database, after Redis\n" +
			"lost data: until then the sale answers 503 stock-unknown. What was accepted, not settled, and\n" +
			"is still in Redis goes into the database first, as far as there is room. The sale opens when all\n" +
			"of it is there; a rebuild that was interrupted is begun again. Do it with --dry-run first.\n\n" +
			"With durability: reserved Redis can lose orders that were acknowledged and not settled. Neither Redis nor\n" +
			"the database can name them: each shop that still runs logs those that it acknowledged itself (order lost).\n\n" +
			"Exit codes: 0 rebuilt, or nothing to do; 1 rebuilt, and some orders could not be taken over;\n" +
			"3 another database keeps the shelf; 4 not known: Redis or the database does not answer.",
		Example: "  cronce shop restore --config config.yaml --dry-run\n  cronce shop restore --config config.yaml",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return restoreShop(cmd, dry) },
	}
	configFlags(cmd, config.ShopOverrides)
	cmd.Flags().BoolVar(&dry, "dry-run", false, "print what would be taken over and what not, and change nothing")
	return cmd
}

func restoreShop(cmd *cobra.Command, dry bool) error {
	return withOpenSale(cmd, func(ctx context.Context, s *stock.Sale) error {
		act := s.Restore
		if dry {
			act = s.WouldRestore
		}
		return printRestored(ctx, cmd.OutOrStdout(), act, dry)
	})
}

func printRestored(ctx context.Context, w io.Writer, act func(context.Context) (stock.Restored, error), dry bool) error {
	r, err := act(ctx)
	switch {
	case errors.Is(err, stock.ErrNothingToRestore):
		fmt.Fprintln(w, "Redis has all that the database has: nothing to restore.")
		return nil
	case errors.Is(err, stock.ErrForeign):
		return &codedError{err: err, code: exitRefused}
	case err != nil:
		return &doubtError{err}
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
		fmt.Fprintf(w, "would restore %d products; %d orders would be taken over from Redis, %d entries not\n", r.Products, len(r.Taken), len(r.Lost))
		printUnknown(w)
		return nil
	}
	defer printUnknown(w)
	return printRebuilt(w, &r)
}

// printUnknown prints which losses neither Redis nor the database can name.
func printUnknown(w io.Writer) {
	fmt.Fprintln(w, "not known here: orders that were acknowledged with durability: reserved and lost before they were settled; "+
		"each shop that still runs logs those that it acknowledged itself (order lost)")
}

// printRebuilt prints what a rebuild has done.
func printRebuilt(w io.Writer, r *stock.Restored) error {
	fmt.Fprintf(w, "restored %d products, %d open orders, %d closed ones, %d disputed; %d taken over from Redis, %d entries not\n",
		r.Products, r.Open, r.Closed, r.Disputed, len(r.Taken), len(r.Lost))
	if len(r.Lost) > 0 {
		return exitWith(exitFailed, "some orders were not taken over")
	}
	return nil
}
