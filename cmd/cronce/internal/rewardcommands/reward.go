// Package rewardcommands has the commands below reward: the demonstration, and the steps of a reward.
package rewardcommands

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/cronce/internal/clients"
	"github.com/cronce/cronce/cmd/cronce/internal/command"
	"github.com/cronce/cronce/cmd/cronce/internal/exit"
	"github.com/cronce/cronce/cmd/cronce/internal/rewarddemo"
)

// Command is the command reward, with those below it.
func Command() *cobra.Command {
	return command.Group("reward", "Offer, claim, deliver and withdraw rewards that each family gets once", demoCommand(),
		listCommand(), offerCommand(), claimCommand(), deliverCommand(), withdrawCommand())
}

func demoCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Let five members claim one reward at once: without a lock, and with package jobs/reward",
		Long: "Let five members of a family claim one reward at the same moment, each as from a pod of its own: first\n" +
			"with code that reads and then records, which leaves five records; then with package jobs/reward, which\n" +
			"leaves one, and answers the other four with the member that has it. Redis and an SQLite file are inside this process.\n\n" +
			"Exit code: 1 if it came out otherwise.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := command.WithSignals(cmd.Context())
			defer stop()
			err := rewarddemo.Run(ctx, cmd.OutOrStdout(), output == command.OutputJSON, clients.SQLiteFile)
			if errors.Is(err, rewarddemo.ErrNotOnce) {
				return exit.Printed(exit.Failed, err.Error())
			}
			return err
		},
	}
	command.OutputFlag(cmd, &output)
	return cmd
}
