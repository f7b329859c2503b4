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
	var appendLog string
	cmd := &cobra.Command{
		Use:   "restore",
		Short: "Rebuild the shelf in Redis from the database, after Redis lost data",
		Long: "Rebuild stock, open orders and the ids of closed ones in Redis from the database, after Redis\n" +
			"lost data: until then the sale answers 503 stock-unknown. Accepted orders that are still in Redis\n" +
			"and not settled go into the database first, as far as there is room. The sale opens when the rebuild is\n" +
			"complete. An interrupted rebuild is begun again. A rebuild that has made a step within 5 s is under way and\n" +
			"continues, unless --take-over ends it. Run it with --dry-run first.\n\n" +
			"With durability: reserved Redis can lose orders that were acknowledged and not settled. Neither Redis nor\n" +
			"the database can name them: each shop that still runs lists those that it acknowledged itself (cronce shop lost).\n\n" +
			"With --append-log, orders of the append log of Redis that neither Redis nor the database has, or not in that\n" +
			"state, go into the database, too: FLUSHALL removes no order from the log. A snapshot in RDB form is not read,\n" +
			"but named (with aof-use-rdb-preamble no, Redis writes none). Orders from before the last rebuild are left out:\n" +
			"they were settled, or lost earlier. Give the folder (appenddirname) or one file, preferably a copy that was\n" +
			"made before Redis rewrites the log.\n\n" +
			"Exit codes: 0 rebuilt, or nothing to do; 1 some orders could not be taken over, or the append log was not read;\n" +
			"3 another database keeps the shelf, or another rebuild is under way; 4 not known: Redis or the database does not answer.",
		Example: "  cronce shop restore --config config.yaml --dry-run\n  cronce shop restore --config config.yaml\n" +
			"  cronce shop restore --config config.yaml --append-log /var/lib/redis/appendonlydir",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return restoreShop(cmd, appendLog, dry, takeOver) },
	}
	command.ConfigFlags(cmd, config.ShopOverrides)
	cmd.Flags().BoolVar(&dry, "dry-run", false, "print which orders would be taken over and which not, and change nothing")
	cmd.Flags().BoolVar(&takeOver, "take-over", false, "end another rebuild that is under way")
	cmd.Flags().StringVar(&appendLog, "append-log", "", "take orders over from this append log of Redis, too: its folder, or a file")
	return cmd
}

func restoreShop(cmd *cobra.Command, appendLog string, dry, takeOver bool) error {
	return withOpenSale(cmd, func(ctx context.Context, s *stock.Sale) error {
		var log *stock.AppendLog
		if appendLog != "" {
			var err error
			if log, err = s.ReadAppendLog(ctx, appendLog); err != nil {
				return exit.With(exit.Failed, err)
			}
			printAppendLog(cmd.OutOrStdout(), log)
		}
		act := func(ctx context.Context, log *stock.AppendLog) (stock.Restored, error) {
			return s.RestoreWith(ctx, stock.RestoreOptions{Log: log, TakeOver: takeOver})
		}
		if dry {
			act = s.WouldRestoreWith
		}
		return printRestored(ctx, cmd.OutOrStdout(), act, log, dry)
	})
}

// printAppendLog prints which files of an append log were read.
func printAppendLog(w io.Writer, log *stock.AppendLog) {
	for _, name := range log.Read {
		fmt.Fprintf(w, "read         %s\n", terminal.Printable(name))
	}
	for _, name := range log.NotRead {
		fmt.Fprintf(w, "not read     %s: a snapshot in RDB form (aof-use-rdb-preamble yes), whose orders are not known here\n", terminal.Printable(name))
	}
	fmt.Fprintf(w, "the append log has %d orders of this sale; %d from before the last rebuild are left out\n", log.Orders(), log.Earlier)
}

// A restoring runs, or previews, a rebuild with an append log, which may be nil.
type restoring func(context.Context, *stock.AppendLog) (stock.Restored, error)

func printRestored(ctx context.Context, w io.Writer, act restoring, log *stock.AppendLog, dry bool) error {
	r, err := act(ctx, log)
	_, underWay := errors.AsType[*stock.UnderWayError](err)
	switch {
	case underWay:
		return exit.With(exit.Refused, fmt.Errorf("%w: wait for its end, or end it with --take-over", err))
	case errors.Is(err, stock.ErrNothingToRestore) && log != nil:
		return exit.With(exit.Failed, fmt.Errorf("nothing was taken over from the append log: %w", err))
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
		printUnknown(w)
		return nil
	}
	defer printUnknown(w)
	return printRebuilt(w, &r)
}

// printUnknown prints which losses neither Redis nor the database can name.
func printUnknown(w io.Writer) {
	fmt.Fprintln(w, "not known here: orders that were acknowledged with durability: reserved and lost before they were settled; "+
		"each shop that still runs lists those that it acknowledged itself; see them, and those that were not taken over, with 'cronce shop lost'")
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
