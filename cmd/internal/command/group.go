package command

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/cmd/internal/strictyaml"
)

// Group makes a command that only contains other commands. Its example has the first example of
// each.
func Group(use, short string, commands ...*cobra.Command) *cobra.Command {
	parent := &cobra.Command{
		Use: use, Short: short,
		Args: NoneBelow, RunE: help,
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

// help runs a command that only contains others.
func help(cmd *cobra.Command, _ []string) error { return cmd.Help() }

// NoneBelow accepts no arguments, for a command that contains others: an argument is the name of
// none of them.
func NoneBelow(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	err := exit.Usagef("unknown command %q", args[0])
	if cmd.HasParent() {
		err = exit.Usagef("%s: %w", cmd.CommandPath(), err)
	}
	var names []string
	for _, below := range cmd.Commands() {
		if below.IsAvailableCommand() {
			names = append(names, below.Name())
		}
	}
	switch near := strictyaml.Nearest(args[0], names); near {
	case "":
	case args[0]: // behind -- each word is an argument
		return exit.Usagef("-- may not stand before the command %q", near)
	default:
		err = exit.Usagef("%w, did you mean %q?", err, near)
	}
	return err
}
