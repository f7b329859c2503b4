package rewardcommands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/cronce/internal/clients"
	"github.com/cronce/cronce/cmd/cronce/internal/command"
	"github.com/cronce/cronce/cmd/cronce/internal/config"
	"github.com/cronce/cronce/cmd/cronce/internal/exit"
	"github.com/cronce/cronce/cmd/cronce/internal/shop"
	"github.com/cronce/cronce/cmd/cronce/internal/shopcommands"
	"github.com/cronce/cronce/cmd/cronce/internal/terminal"
	"github.com/cronce/cronce/jobs/reward"
)

func offerCommand() *cobra.Command {
	return stepCommand("offer FAMILY REWARD", "Let a family claim a reward", func(ctx context.Context, d *reward.Desk, args []string) (reward.Record, error) {
		return d.Offer(ctx, args[0], args[1])
	})
}

func claimCommand() *cobra.Command {
	return stepCommand("claim FAMILY REWARD MEMBER", "Claim a reward for a family, through one of its members", func(ctx context.Context, d *reward.Desk, args []string) (reward.Record, error) {
		return d.Claim(ctx, reward.Claim{Family: args[0], Reward: args[1], Member: args[2]})
	})
}

func deliverCommand() *cobra.Command {
	return stepCommand("deliver FAMILY REWARD", "Record that a claimed reward was delivered", func(ctx context.Context, d *reward.Desk, args []string) (reward.Record, error) {
		return d.Deliver(ctx, args[0], args[1])
	})
}

func withdrawCommand() *cobra.Command {
	return stepCommand("withdraw FAMILY REWARD", "End a reward that was offered or claimed", func(ctx context.Context, d *reward.Desk, args []string) (reward.Record, error) {
		return d.Withdraw(ctx, args[0], args[1])
	})
}

// stepCommand makes a command for a step of a reward, whose arguments are the words of use.
func stepCommand(use, short string, do func(context.Context, *reward.Desk, []string) (reward.Record, error)) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   use,
		Short: short,
		Long: short + ". Rewards are in the shop's database, and the locks in its Redis: see cronce shop.\n" +
			"A repeated call changes nothing. Exit code 3: the reward's state does not allow it; 4: not known, repeat the command.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return withRewards(cmd, func(ctx context.Context, d *reward.Desk, _ *reward.Book) error {
				r, err := do(ctx, d, args)
				if err != nil {
					return rewardError(err)
				}
				return printRecords(cmd.OutOrStdout(), []reward.Record{r}, output)
			})
		},
	}
	wanted := len(strings.Fields(use)) - 1
	cmd.Args = func(_ *cobra.Command, args []string) error {
		if len(args) != wanted {
			return exit.Usagef("reward: got %d arguments, want %s", len(args), use)
		}
		return nil
	}
	command.ConfigFlags(cmd, config.ShopOverrides)
	command.OutputFlag(cmd, &output)
	return cmd
}

func listCommand() *cobra.Command {
	var output, after string
	var limit int
	cmd := &cobra.Command{
		Use:   "list FAMILY",
		Short: "List the rewards of a family and their states",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return exit.Usagef("reward list: got %d arguments, want one family", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return withRewards(cmd, func(ctx context.Context, _ *reward.Desk, b *reward.Book) error {
				records, err := b.List(ctx, args[0], after, limit)
				if err != nil {
					return rewardError(err)
				}
				return printRecords(cmd.OutOrStdout(), records, output)
			})
		},
	}
	command.ConfigFlags(cmd, config.ShopOverrides)
	cmd.Flags().IntVarP(&limit, "count", "n", 100, "how many at most")
	cmd.Flags().StringVar(&after, "after", "", "the last reward of the previous page")
	command.OutputFlag(cmd, &output)
	return cmd
}

// rewardError gives an error of a desk its exit code.
func rewardError(err error) error {
	if _, ok := errors.AsType[*reward.FieldError](err); ok {
		return exit.Usage(err)
	}
	_, taken := errors.AsType[*reward.TakenError](err)
	for _, refusal := range []error{reward.ErrNoReward, reward.ErrNotOffered, reward.ErrNotClaimed, reward.ErrWithdrawn, reward.ErrDelivered} {
		taken = taken || errors.Is(err, refusal)
	}
	if taken {
		return exit.With(exit.Refused, err)
	}
	return exit.Doubt(err)
}

// withRewards calls f with the rewards of the shop.
func withRewards(cmd *cobra.Command, f func(context.Context, *reward.Desk, *reward.Book) error) error {
	return shopcommands.WithClient(cmd, func(ctx context.Context, c *config.Config, client redis.UniversalClient) error {
		db, dialect, err := clients.Database(c, false)
		if err != nil {
			return exit.Usage(err)
		}
		defer db.Close()
		book, err := reward.Open(ctx, db, dialect)
		if err != nil {
			return exit.Doubt(err)
		}
		desk, done, err := shop.NewDesk(c, client, book, nil)
		if err != nil {
			return err
		}
		defer done()
		return f(ctx, desk, book)
	})
}

// RewardRow is the JSON of a record, with masked family and member.
type RewardRow struct {
	Family    string       `json:"family"`
	Reward    string       `json:"reward"`
	State     reward.State `json:"state"`
	Member    string       `json:"member,omitempty"`
	Offered   *time.Time   `json:"offered_at,omitempty"`
	Claimed   *time.Time   `json:"claimed_at,omitempty"`
	Delivered *time.Time   `json:"delivered_at,omitempty"`
	Withdrawn *time.Time   `json:"withdrawn_at,omitempty"`
}

func printRecords(w io.Writer, records []reward.Record, output string) error {
	at := func(t time.Time) *time.Time {
		if t.IsZero() {
			return nil
		}
		return &t
	}
	rows := make([]RewardRow, len(records))
	for i, r := range records {
		rows[i] = RewardRow{reward.Mask(r.Family), r.Reward, r.State, reward.Mask(r.Member), at(r.Offered), at(r.At), at(r.Delivered), at(r.Withdrawn)}
	}
	if output == command.OutputJSON {
		return terminal.PrintJSON(w, rows)
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if len(rows) > 0 {
		fmt.Fprintln(table, "REWARD\tSTATE\tMEMBER\tSINCE, UTC")
	}
	for i, r := range rows {
		since := map[reward.State]time.Time{reward.Offered: records[i].Offered, reward.Claimed: records[i].At,
			reward.Delivered: records[i].Delivered, reward.Withdrawn: records[i].Withdrawn}[r.State]
		terminal.PrintRow(table, r.Reward, r.State, terminal.Dash(r.Member), since.Format("2006-01-02 15:04:05"))
	}
	return table.Flush()
}
