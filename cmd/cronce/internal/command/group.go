package command

import (
	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/cronce/internal/exit"
)

// Group makes a command that only has commands below it.
func Group(use, short string, commands ...*cobra.Command) *cobra.Command {
	parent := &cobra.Command{
		Use: use, Short: short,
		RunE:                       UnknownBelow,
		SuggestionsMinimumDistance: 2,
	}
	parent.AddCommand(commands...)
	return parent
}

// UnknownBelow is what a command does that only has commands below it: it helps,
// or names the one that there is not.
func UnknownBelow(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	err := exit.Usagef("%s: unknown command %q", cmd.CommandPath(), args[0])
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		err = exit.Usagef("%w, did you mean %q?", err, near[0])
	}
	return err
}
