package control

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/internal/clients"
	"github.com/cronce/cronce/cmd/internal/command"
	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/cmd/internal/terminal"
	"github.com/cronce/cronce/lock/series"
	"github.com/cronce/cronce/ops"
)

type auditFlags struct {
	n           int
	job, output string
}

// AuditCommand returns the command audit.
func AuditCommand() *cobra.Command {
	var f auditFlags
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Print the changes by operators, with time and reason",
		Long: "Print the records of changes by operators: each pause, resume, run, cancel, skip, backfill and retirement,\n" +
			"with its number, the caller, the reason and the state of the job before and after. A change and its record are one step of the store, which numbers them without\n" +
			"gaps and keeps the newest 10,000 of each of its partitions. With --job the records that cannot be read are printed too, if\n" +
			"they may be of the job.\n\n" +
			"Exit code 1: a number is missing; 4: the store does not answer, or a record cannot be read.",
		Example: "  cronce audit\n  cronce audit --job sendSms -o json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.n < 1 || f.n > series.MaxAudit {
				return exit.Usagef("audit: -n is %d, must be 1 to %d", f.n, series.MaxAudit)
			}
			return clients.WithStore(cmd, func(ctx context.Context, s *clients.Store) error { return f.print(ctx, s, cmd.OutOrStdout()) })
		},
	}
	command.ConfigFlags(cmd, config.StoreOverrides)
	cmd.Flags().StringVar(&f.job, "job", "", "only this job")
	cmd.Flags().IntVarP(&f.n, "count", "n", 50, fmt.Sprintf("number of records, the newest, 1 to %d", series.MaxAudit))
	command.OutputFlag(cmd, &f.output)
	return cmd
}

func (f auditFlags) print(ctx context.Context, s *clients.Store, w io.Writer) error {
	if f.job != "" {
		if _, err := s.Jobs(ctx, f.job); err != nil {
			return err
		}
	}
	found, err := s.Front().Audit(ctx, f.job, f.n)
	if err != nil {
		return s.Failed(err)
	}
	if err := f.write(w, found); err != nil {
		return err
	}
	for i := range found {
		if found[i].Unreadable != "" {
			return exit.Printed(exit.NotKnown, "a record of the audit cannot be read")
		}
	}
	if gap := ops.AuditGaps(s.Driver, f.job, found); gap != "" {
		return exit.With(exit.Failed, errors.New(gap))
	}
	return nil
}

func (f auditFlags) write(w io.Writer, found []series.AuditRecord) error {
	if f.output == command.OutputJSON {
		return terminal.PrintJSON(w, ops.AuditViews(found))
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "NUMBER\tWRITTEN, UTC\tWHO\tACTION\tJOB\tBEFORE\tAFTER\tREASON")
	for i := range found {
		r := &found[i]
		if r.Unreadable != "" {
			terminal.PrintRow(table, "-", "-", "-", "-", "-", "-", "-", r.Unreadable)
			continue
		}
		terminal.PrintRow(table, r.Number, time.UnixMicro(r.At).UTC().Format("2006-01-02 15:04:05.000"), r.Who, r.Action, r.Key,
			ops.StateText(r.Before), ops.StateText(r.After), terminal.Dash(r.Reason))
	}
	return table.Flush()
}
