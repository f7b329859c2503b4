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
			"Start with:  cronce demo\n\n" + exitTable,
		SilenceErrors:    true,
		SilenceUsage:     true,
		PersistentPreRun: func(*cobra.Command, []string) { *started = true },
	}
	root.AddCommand(demoCommand(), nodeCommand(), verifyCommand(), journalCommand(), doctorCommand(), pauseCommand(), resumeCommand(), nextCommand(), lockCommand(), smsCommand(), shopCommand(),
		oversellCommand(), rewardCommand(), healthcheckCommand(), versionCommand())
	return root
}

// addCompletion adds the command that root, once it knows where it prints, would
// add by itself. Of a shell that it does not know that would print help, and be fine.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	if completion, _, err := root.Find([]string{"completion"}); err == nil {
		completion.RunE = unknownBelow
	}
}

// group makes a command that only has commands below it.
func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	parent := &cobra.Command{
		Use: use, Short: short,
		RunE:                       unknownBelow,
		SuggestionsMinimumDistance: 2,
	}
	parent.AddCommand(commands...)
	return parent
}

// unknownBelow is what a command does that only has commands below it: it helps,
// or names the one that there is not.
func unknownBelow(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	err := usagef("%s: unknown command %q", cmd.CommandPath(), args[0])
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		err = usagef("%w, did you mean %q?", err, near[0])
	}
	return err
}
