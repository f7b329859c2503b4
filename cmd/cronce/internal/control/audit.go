package control

import (
	"context"
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
	"github.com/cronce/cronce/scheduler/verify"
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
		Long: "Print the records of changes by operators: each pause, resume, cancel and retirement, with its number, the caller,\n" +
			"the reason and the state of the job before and after. A change and its record are one step of the store, which numbers them without\n" +
			"gaps and keeps the newest 10,000 of each of its shards.\n\n" +
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
	cmd.Flags().IntVarP(&f.n, "count", "n", 50, "number of records, the newest")
	command.OutputFlag(cmd, &f.output)
	return cmd
}

// A record is a record of the audit, for machines.
type record struct {
	Shard  int           `json:"shard"`
	Number int64         `json:"number"`
	At     time.Time     `json:"at,omitzero"`
	Who    string        `json:"who"`
	Action series.Action `json:"action"`
	Job    string        `json:"job"`
	Change int64         `json:"change"` // the number of the change in the job
	Before string        `json:"before"`
	After  string        `json:"after"`
	Reason string        `json:"reason,omitempty"`
	Op     string        `json:"op"`

	Unreadable string `json:"unreadable,omitempty"`
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
	if sharded, ok := s.Driver.(series.Sharded); f.job != "" || ok && sharded.Shards() > 1 {
		return nil // the numbers in between belong to other jobs
	}
	if gaps := verify.Gaps(found); len(gaps) > 0 {
		return exit.With(exit.Failed, fmt.Errorf("%s", gaps[0].Text))
	}
	return nil
}

func (f auditFlags) write(w io.Writer, found []series.AuditRecord) error {
	if f.output == command.OutputJSON {
		records := make([]record, len(found))
		for i, r := range found {
			records[i] = record{r.Shard, r.Number, time.Time{}, r.Who, r.Action, r.Key, r.Change, r.Before, r.After, r.Reason, r.Op, r.Unreadable}
			if r.At != 0 {
				records[i].At = time.UnixMicro(r.At).UTC()
			}
		}
		return terminal.PrintJSON(w, records)
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
			stateText(r.Before), stateText(r.After), terminal.Dash(r.Reason))
	}
	return table.Flush()
}

// stateText returns the state of a job in a record, with instants in a form for people.
func stateText(state string) string {
	if until := pausedUntil(state); until != 0 {
		return "paused until " + terminal.RFC3339(until)
	}
	if number := cancelledRun(state); number != 0 {
		return "cancelled the run of " + terminal.RFC3339(number)
	}
	return state
}

// cancelledRun returns the number of the run in the state of a job after a cancel, or 0.
func cancelledRun(state string) (number int64) {
	_, _ = fmt.Sscanf(state, "cancelled %d", &number)
	return number
}

// pausedUntil returns the end of the pause in the state of a job, Unix ms, or 0 if there is none.
func pausedUntil(state string) (ms int64) {
	_, _ = fmt.Sscanf(state, "paused until %d", &ms)
	return ms
}
