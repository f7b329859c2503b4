package main

import (
	"github.com/spf13/cobra"
)

// rootCommand builds the tree of commands. Started becomes true once a command's
// flags and arguments were accepted: what fails before is wrong usage.
func rootCommand(started *bool) *cobra.Command {
	root := &cobra.Command{
		Use:   "cronce",
		Short: "Run cron jobs on N identical nodes, every tick on one of them",
		Long: "cronce runs cron jobs on N identical nodes, every tick on one of them, and proves it.\n\n" +
			"Start with:  cronce demo",
		SilenceErrors:    true,
		SilenceUsage:     true,
		PersistentPreRun: func(*cobra.Command, []string) { *started = true },
	}
	root.AddCommand(demoCommand(), nodeCommand(), verifyCommand(), journalCommand(), doctorCommand(), nextCommand(), lockCommand(), smsCommand(), shopCommand(),
		oversellCommand(), rewardCommand(), healthcheckCommand(), versionCommand())
	return root
}

// group makes a command that only has commands below it.
func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	parent := &cobra.Command{
		Use: use, Short: short,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			err := usagef("%s: unknown command %q", cmd.CommandPath(), args[0])
			if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
				err = usagef("%w, did you mean %q?", err, near[0])
			}
			return err
		},
		SuggestionsMinimumDistance: 2,
	}
	parent.AddCommand(commands...)
	return parent
}
