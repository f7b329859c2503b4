package smscommands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/internal/command"
	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/cmd/internal/terminal"
	"github.com/cronce/cronce/cmd/shop/internal/settings"
	"github.com/cronce/cronce/jobs/sms"
)

type listFlags struct {
	state  string
	n      int
	output string
}

func listCommand() *cobra.Command {
	var f listFlags
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the messages of the outbox, recipients masked",
		Long: "List the messages of the outbox, recipients masked, state by state and the newest first: of queued\n" +
			"messages those that are due last.",
		Example: "  shop sms list --state failed -n 500",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return withOutbox(cmd, func(ctx context.Context, o *sms.Outbox) error { return smsList(ctx, cmd.OutOrStdout(), o, f) })
		},
	}
	settings.StoreFlags(cmd)
	cmd.Flags().StringVar(&f.state, "state", "", "queued, taken, failed, broken, expired or sent (default all)")
	cmd.Flags().IntVarP(&f.n, "count", "n", 50, "how many messages at most")
	command.OutputFlag(cmd, &f.output)
	return cmd
}

func smsList(ctx context.Context, w io.Writer, o *sms.Outbox, f listFlags) error {
	records, err := o.List(ctx, sms.State(f.state), f.n)
	if _, ok := errors.AsType[*sms.FieldError](err); ok {
		return exit.Usage(err)
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
	if f.output == command.OutputJSON {
		return terminal.PrintJSON(w, smsReportOf(counts, pause, records))
	}
	if err := printMessages(w, records); err != nil {
		return err
	}
	if counts.Broken > 0 {
		fmt.Fprintf(w, "%d put aside because they cannot be read: shop sms list --state broken\n", counts.Broken)
	}
	if counts.Expired > 0 {
		fmt.Fprintf(w, "%d expired before they could be sent\n", counts.Expired)
	}
	if pause.Pauses > 0 {
		fmt.Fprintf(w, "the gateway is paused until %s UTC: %s\n", pause.Until.UTC().Format("2006-01-02 15:04:05"), terminal.Printable(pause.Reason))
	}
	if counts.Delivered+counts.Undelivered > 0 {
		fmt.Fprintf(w, "%d delivered, %d undelivered, by their receipts\n", counts.Delivered, counts.Undelivered)
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
		if r.State == sms.Broken {
			terminal.PrintRow(table, r.Message.ID, sms.Mask(r.Message.To), r.State, "-", "-", "-", r.Reason)
			continue
		}
		terminal.PrintRow(table, r.Message.ID, sms.Mask(r.Message.To), r.State,
			r.Due.UTC().Format("2006-01-02 15:04:05"), r.Attempts, r.Sends, terminal.Dash(r.Reason))
	}
	return table.Flush()
}

// A Report is the JSON of a list of messages.
type Report struct {
	Counts   sms.Counts  `json:"counts"`
	Gateway  *sms.Pause  `json:"gateway_paused,omitempty"`
	Messages []smsRecord `json:"messages"`
}

// smsRecord is the JSON of a message, with a masked recipient and without its text.
type smsRecord struct {
	ID       string     `json:"id"`
	To       string     `json:"to"`
	State    sms.State  `json:"state"`
	Due      time.Time  `json:"due"`
	Attempts int        `json:"attempts"`
	Sends    int        `json:"sends"`
	Run      string     `json:"run,omitempty"`
	Fence    int64      `json:"fence,omitempty"`
	Changed  time.Time  `json:"changed"`
	Reason   string     `json:"reason,omitempty"`
	Until    *time.Time `json:"until,omitempty"`
}

func smsReportOf(counts sms.Counts, pause sms.Pause, records []sms.Record) Report {
	out := Report{Counts: counts, Messages: []smsRecord{}}
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
		Run: r.Run, Fence: r.Fence, Changed: r.Changed, Reason: r.Reason}
	if !r.Message.Until.IsZero() {
		out.Until = &r.Message.Until
	}
	return out
}
