package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/cronce/internal/rewarddemo"
)

func rewardCommand() *cobra.Command {
	return group("reward", "Offer, claim, deliver and withdraw rewards that each family gets once", rewardDemoCommand(),
		rewardListCommand(), rewardOfferCommand(), rewardClaimCommand(), rewardDeliverCommand(), rewardWithdrawCommand())
}

func rewardDemoCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Let five members claim one reward at once: without a lock, and with package jobs/reward",
		Long: "Let five members of a family claim one reward at the same moment, each as from a pod of its own: first\n" +
			"with code that looks and then records, which leaves five records; then with package jobs/reward, which\n" +
			"leaves one, and answers the other four with the member that has it. Redis and an SQLite file are inside this process.\n\n" +
			"Exit code: 1 if it came out otherwise.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := withSignals(cmd.Context())
			defer stop()
			err := rewarddemo.Run(ctx, cmd.OutOrStdout(), output == outputJSON, openFile)
			if errors.Is(err, rewarddemo.ErrNotOnce) {
				return exitWith(exitFailed, err.Error())
			}
			return err
		},
	}
	outputFlag(cmd, &output)
	return cmd
}
