package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/jobs/sms"
)

const maxList = 10_000

type listFlags struct {
	state  string
	n      int
	output string
	broken bool
}

func smsListCommand() *cobra.Command {
	var f listFlags
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the messages of the outbox, recipients masked",
		Example: "  cronce sms list --state failed",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return err
			}
			return withOutbox(cmd, func(ctx context.Context, o *sms.Outbox) error { return smsList(ctx, cmd.OutOrStdout(), o, f) })
		},
	}
	configFlags(cmd, storeOverrides)
	cmd.Flags().StringVar(&f.state, "state", "", "queued, taken, failed, expired, cancelled or sent (default all)")
	cmd.Flags().IntVarP(&f.n, "count", "n", 50, "how many messages at most")
	cmd.Flags().BoolVar(&f.broken, "broken", false, "those that were put aside because they cannot be read")
	outputFlag(cmd, &f.output)
	return cmd
}

func (f *listFlags) check() error {
	if f.n < 1 || f.n > maxList {
		return usagef("sms list: -n is %d, allowed is 1 to %d", f.n, maxList)
	}
	if f.state == "" {
		return nil
	}
	if f.broken {
		return usagef("sms list: --state and --broken, allowed is one of them")
	}
	if _, err := sms.ParseState(f.state); err != nil {
		return usagef("sms list: --%w", err)
	}
	return nil
}

func smsList(ctx context.Context, w io.Writer, o *sms.Outbox, f listFlags) error {
	var records []sms.Record
	var err error
	if f.broken {
		records, err = o.Broken(ctx, f.n)
	} else {
		records, err = o.List(ctx, sms.State(f.state), f.n)
	}
	if err != nil {
		return err
	}
	pause, err := o.Paused(ctx)
	if err != nil {
		return err
	}
	counts, err := o.Counts(ctx)
	if err != nil {
		return err
	}
	if f.output == outputJSON {
		return printJSON(w, smsReportOf(counts, pause, records))
	}
	if err := printMessages(w, records); err != nil {
		return err
	}
	if counts.Broken > 0 {
		fmt.Fprintf(w, "%d put aside because they cannot be read: cronce sms list --broken\n", counts.Broken)
	}
	if counts.Expired > 0 {
		fmt.Fprintf(w, "%d expired before they could be sent\n", counts.Expired)
	}
	if counts.Cancelled > 0 {
		fmt.Fprintf(w, "%d cancelled\n", counts.Cancelled)
	}
	if pause.Pauses > 0 {
		fmt.Fprintf(w, "the gateway refuses us and is asked again at %s: %s\n", pause.Until.Format("2006-01-02 15:04:05"), printable(pause.Reason))
	}
	_, err = fmt.Fprintf(w, "%d queued (%d due), %d taken, %d failed, %d sent (%d maybe more than once)\n",
		counts.Queued, counts.Due, counts.Taken, counts.Failed, counts.Sent, counts.Repeated)
	return err
}

func printMessages(w io.Writer, records []sms.Record) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if len(records) > 0 {
		fmt.Fprintln(table, "ID\tTO\tSTATE\tDUE, UTC\tTRIED\tSENT\tREMARK")
	}
	for i := range records {
		r := &records[i]
		if r.Broken != "" {
			printRow(table, r.Message.ID, sms.Mask(r.Message.To), "broken", "-", "-", "-", r.Broken)
			continue
		}
		printRow(table, r.Message.ID, sms.Mask(r.Message.To), r.State,
			r.Due.UTC().Format("2006-01-02 15:04:05"), r.Attempts, r.Sends, dash(r.Reason))
	}
	return table.Flush()
}

type smsReport struct {
	Counts   sms.Counts  `json:"counts"`
	Gateway  *sms.Pause  `json:"gateway_paused,omitempty"`
	Messages []smsRecord `json:"messages"`
}

// smsRecord is a message for machines: its recipient is masked, its text left out.
type smsRecord struct {
	ID       string    `json:"id"`
	To       string    `json:"to"`
	State    sms.State `json:"state"`
	Due      time.Time `json:"due"`
	Attempts int       `json:"attempts"`
	Sends    int       `json:"sends"`
	Run      string    `json:"run,omitempty"`
	Fence    int64     `json:"fence,omitempty"`
	Changed  time.Time `json:"changed"`
	Reason   string    `json:"reason,omitempty"`
	Broken   string    `json:"broken,omitempty"`

	Priority sms.Priority `json:"priority"`
	Until    *time.Time   `json:"until,omitempty"`
}

func smsReportOf(counts sms.Counts, pause sms.Pause, records []sms.Record) smsReport {
	out := smsReport{Counts: counts, Messages: []smsRecord{}}
	if pause.Pauses > 0 {
		out.Gateway = &pause
	}
	for i := range records {
		out.Messages = append(out.Messages, smsRecordOf(&records[i]))
	}
	return out
}

func smsRecordOf(r *sms.Record) smsRecord {
	out := smsRecord{ID: r.Message.ID, To: sms.Mask(r.Message.To), State: r.State, Due: r.Due, Attempts: r.Attempts, Sends: r.Sends,
		Run: r.Run, Fence: r.Fence, Changed: r.Changed, Reason: r.Reason, Broken: r.Broken, Priority: r.Message.Priority}
	if !r.Message.Until.IsZero() {
		out.Until = &r.Message.Until
	}
	return out
}
