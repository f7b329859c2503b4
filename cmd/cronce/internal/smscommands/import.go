package smscommands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/cronce/internal/command"
	"github.com/cronce/cronce/cmd/cronce/internal/config"
	"github.com/cronce/cronce/cmd/cronce/internal/exit"
	"github.com/cronce/cronce/cmd/cronce/internal/terminal"
	"github.com/cronce/cronce/jobs/sms"
)

func importCommand() *cobra.Command {
	var f importFlags
	cmd := &cobra.Command{
		Use:   "import FILE.csv",
		Short: "Put the messages of a CSV file into the outbox; - is standard input",
		Long: "Put the messages of a CSV file into the outbox. Its first line names the columns id, to,\n" +
			"text, at, until, priority, zone and person, of which to and text are required. Bad rows are\n" +
			"listed with their line, the good ones accepted. A file may be imported again: known messages stay.\n" +
			"With --resume an interrupted import continues at its position, which is stored in FILE.csv.resume.\n\nExit code 1: there were bad rows, or the rest was not imported.",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return exit.Usagef("sms import: got %d arguments, want one file, or - for standard input", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return importFile(cmd, args[0], f) },
	}
	command.ConfigFlags(cmd, config.StoreOverrides)
	cmd.Flags().BoolVar(&f.resume, "resume", false, "store the position beside the file, and continue from there")
	cmd.Flags().StringVar(&f.zone, "tz", "UTC", "time zone of times without one")
	return cmd
}

type importFlags struct {
	zone   string
	resume bool
}

func importFile(cmd *cobra.Command, name string, f importFlags) error {
	zone, err := config.ParseZone(f.zone)
	if err != nil {
		return exit.Usagef("sms import: --tz %w", err)
	}
	if f.resume && name == "-" {
		return exit.Usagef("sms import: --resume and standard input, use --resume with a file")
	}
	in := io.NopCloser(cmd.InOrStdin())
	if name != "-" {
		if in, err = os.Open(name); err != nil {
			return exit.Usagef("sms import: %w", err)
		}
	}
	defer in.Close()
	p := importPlace{file: name + ".resume"}
	options := sms.ImportOptions{Zone: zone}
	bar := newProgress(cmd.ErrOrStderr(), in)
	options.Progress = func(c sms.Checkpoint) { bar.show(c.Rows) }
	if f.resume {
		if options.From, err = p.load(); err != nil {
			return exit.Usagef("sms import: %w", err)
		}
		options.Progress = func(c sms.Checkpoint) {
			bar.show(c.Rows)
			p.reached(c)
		}
	}
	return withOutbox(cmd, func(ctx context.Context, o *sms.Outbox) error {
		r, err := sms.ImportWith(ctx, o, bar, options)
		bar.end()
		if f.resume {
			err = errors.Join(err, p.leave(err == nil))
		}
		return printImport(cmd.OutOrStdout(), &r, err)
	})
}

// printImport prints the result, even before an error.
func printImport(w io.Writer, r *sms.Report, err error) error {
	for _, bad := range r.Bad {
		fmt.Fprintln(w, terminal.Printable(bad.String()))
	}
	if more := r.Refused - len(r.Bad); more > 0 {
		fmt.Fprintf(w, "and %d more bad rows\n", more)
	}
	fmt.Fprintf(w, "%d rows: %d accepted, %d known already, %d refused\n", r.Rows, r.Accepted, r.Known, r.Refused)
	if err == nil && r.Refused > 0 {
		return exit.Printed(exit.Failed, "there were bad rows")
	}
	return err
}
