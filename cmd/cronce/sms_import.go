package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/jobs/sms"
)

func smsImportCommand() *cobra.Command {
	var zone string
	cmd := &cobra.Command{
		Use:   "import FILE.csv",
		Short: "Put the messages of a CSV file into the outbox; - is standard input",
		Long: "Put the messages of a CSV file into the outbox. Its first line names the columns id, to,\n" +
			"text and at, of which to and text are required. Bad rows are listed with their line, the\n" +
			"good ones kept. A file may be imported again.\n\nExit code 1: there were bad rows, or the rest was not imported.",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("sms import: got %d arguments, allowed is one file, or - for standard input", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return smsImport(cmd, args[0], zone) },
	}
	configFlags(cmd, storeOverrides)
	cmd.Flags().StringVar(&zone, "tz", "UTC", "zone of times that name none")
	return cmd
}

func smsImport(cmd *cobra.Command, name, zoneName string) error {
	zone, err := parseZone(zoneName)
	if err != nil {
		return usagef("sms import: --tz %w", err)
	}
	in := io.NopCloser(cmd.InOrStdin())
	if name != "-" {
		if in, err = os.Open(name); err != nil {
			return usagef("sms import: %w", err)
		}
	}
	defer in.Close()
	return withOutbox(cmd, func(ctx context.Context, o *sms.Outbox) error {
		r, err := sms.Import(ctx, o, in, zone)
		return printImport(cmd.OutOrStdout(), &r, err)
	})
}

// printImport prints what was done, also before an error.
func printImport(w io.Writer, r *sms.Report, err error) error {
	for _, bad := range r.Bad {
		fmt.Fprintln(w, printable(bad.String()))
	}
	if more := r.Refused - len(r.Bad); more > 0 {
		fmt.Fprintf(w, "and %d more bad rows\n", more)
	}
	fmt.Fprintf(w, "%d rows: %d accepted, %d known already, %d refused\n", r.Rows, r.Accepted, r.Known, r.Refused)
	if err == nil && r.Refused > 0 {
		return told(exitFailed, "there were bad rows")
	}
	return err
}
