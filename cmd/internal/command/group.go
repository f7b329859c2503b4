package command

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/internal/exit"
)

// Group makes a command that only contains other commands. Its example has the first example of
// each.
func Group(use, short string, commands ...*cobra.Command) *cobra.Command {
	parent := &cobra.Command{
		Use: use, Short: short,
		RunE:                       UnknownBelow,
		SuggestionsMinimumDistance: 2,
	}
	var examples []string
	for _, cmd := range commands {
		first, _, _ := strings.Cut(cmd.Example, "\n")
		examples = append(examples, first)
	}
	parent.Example = strings.Join(examples, "\n")
	parent.AddCommand(commands...)
	return parent
}

// UnknownBelow runs a command that only contains others: it prints the help, or an error that names
// the unknown command.
func UnknownBelow(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	err := exit.Usagef("unknown command %q", args[0])
	if cmd.HasParent() {
		err = exit.Usagef("%s: %w", cmd.CommandPath(), err)
	}
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		err = exit.Usagef("%w, did you mean %q?", err, near[0])
	}
	return err
}
