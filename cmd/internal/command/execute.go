package command

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/cmd/internal/terminal"
)

// Execute runs a program: it prints to stdout and stderr, and returns the exit code. NewRoot builds
// the tree of commands.
func Execute(ctx context.Context, newRoot func() *cobra.Command, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	started := false // once the flags and arguments of a command are accepted: an error before that is wrong usage
	root := newRoot()
	root.Args = NoneBelow
	if root.RunE == nil {
		root.RunE = help
	}
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetFlagErrorFunc(flagError)
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		err := checkFlags(cmd)
		started = err == nil
		return err
	}
	root.SetArgs(args)
	root.SetIn(stdin)
	out := terminal.NewOutput(stdout)
	root.SetOut(out)
	root.SetErr(stderr)
	addCompletion(root)
	knowHelp(root)
	unknown := refuseHelp(root)
	err := root.ExecuteContext(ctx)
	if err == nil {
		err = *unknown
	}
	err = unwritten(err, started, out)
	if err == nil {
		return exit.Fine
	}
	code, text := exit.Code(err, started), err.Error()
	if code == exit.WrongUsage {
		text = WithoutCredentials(text, args)
	}
	if !exit.IsPrinted(err) {
		printError(stderr, fmt.Sprintf("%s: %s\n", root.Name(), terminal.PrintableText(bounded(text))))
	}
	return code
}

// unwritten returns the error of a command some of whose output was not written: a caller must not
// take the rest for all of it. An error that says more stays, as does the exit code of a result that
// was to be printed.
func unwritten(err error, started bool, out *terminal.Output) error {
	lost := out.Err()
	if lost == nil || err != nil && !exit.IsPrinted(err) {
		return err
	}
	code := exit.Failed
	if err != nil {
		code = exit.Code(err, started)
	}
	return exit.With(code, fmt.Errorf("the command has ended, but its output is not complete: %w", lost))
}

// addCompletion adds the completion command that root would add by itself once its output is set.
// The default command prints its help for an unknown shell and exits with 0; this one fails.
func addCompletion(root *cobra.Command) {
	root.InitDefaultCompletionCmd()
	if completion, _, err := root.Find([]string{"completion"}); err == nil {
		completion.Args, completion.RunE = NoneBelow, help
	}
}

// knowHelp gives --help to all commands that contain others before the arguments are read: otherwise the argument behind it
// passes for its value, as in cronce --help next, and the command is not found.
func knowHelp(cmd *cobra.Command) {
	if !cmd.HasSubCommands() {
		return
	}
	cmd.InitDefaultHelpFlag()
	for _, c := range cmd.Commands() {
		knowHelp(c)
	}
}

// refuseHelp makes root print no help for an unknown command, neither with --help nor with the command
// help. It returns the error of --help, which cobra does not return.
func refuseHelp(root *cobra.Command) (unknown *error) {
	unknown = new(error)
	show := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		if cmd.HasSubCommands() {
			*unknown = cmd.ValidateArgs(cmd.Flags().Args())
		}
		if *unknown == nil {
			show(cmd, args)
		}
	})
	root.InitDefaultHelpCmd()
	if helper, _, err := root.Find([]string{"help"}); err == nil {
		helper.Args = func(_ *cobra.Command, args []string) error {
			cmd, rest, err := root.Find(args)
			if err != nil {
				return err
			}
			return NoneBelow(cmd, rest)
		}
	}
	return unknown
}

// errorTime is how long the process waits at its end for the reader of its error.
const errorTime = 2 * time.Second

// printError writes a text, and waits for errorTime at most: w may be a pipe that is not read.
func printError(w io.Writer, text string) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.WriteString(w, text)
	}()
	select {
	case <-done:
	case <-time.After(errorTime):
	}
}

// maxErrorLine bounds one line of an error, in bytes: a parser may quote an argument of any length.
const maxErrorLine = 1000

// bounded cuts the long lines of a text.
func bounded(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if len(line) > maxErrorLine {
			lines[i] = strings.ToValidUTF8(line[:maxErrorLine], "") + " …"
		}
	}
	return strings.Join(lines, "\n")
}
