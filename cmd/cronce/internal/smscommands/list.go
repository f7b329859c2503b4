package smscommands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/cronce/internal/command"
	"github.com/cronce/cronce/cmd/cronce/internal/config"
	"github.com/cronce/cronce/cmd/cronce/internal/exit"
	"github.com/cronce/cronce/cmd/cronce/internal/terminal"
	"github.com/cronce/cronce/jobs/sms"
)

type listFlags struct {
	newer  time.Duration
	older  time.Duration
	number string
	cursor string
	state  string
	n      int
	output string
	broken bool
}

func listCommand() *cobra.Command {
	var f listFlags
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the messages of the outbox, recipients masked",
		Long: "List the messages of the outbox, recipients masked: queued messages by due time, ended ones\n" +
			"newest first. If there are more than -n, a line has the --cursor of the next page.",
		Example: "  cronce sms list --state failed --newer 24h --number 4567",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return err
			}
			return withOutbox(cmd, func(ctx context.Context, o *sms.Outbox) error { return smsList(ctx, cmd.OutOrStdout(), o, f) })
		},
	}
	command.ConfigFlags(cmd, config.StoreOverrides)
	cmd.Flags().StringVar(&f.state, "state", "", "queued, taken, failed, expired, cancelled or sent (default all)")
	cmd.Flags().IntVarP(&f.n, "count", "n", 50, "how many messages at most")
	cmd.Flags().BoolVar(&f.broken, "broken", false, "messages that were put aside because they cannot be read")
	cmd.Flags().DurationVar(&f.newer, "newer", 0, "messages that came into their state within this time")
	cmd.Flags().DurationVar(&f.older, "older", 0, "messages that came into their state before this time")
	cmd.Flags().StringVar(&f.number, "number", "", "messages whose number has this suffix")
	cmd.Flags().StringVar(&f.cursor, "cursor", "", "the beginning of the page: the cursor that the previous page printed")
	command.OutputFlag(cmd, &f.output)
	return cmd
}

// query returns the query of the flags, at a time.
func (f *listFlags) query(now time.Time) sms.Query {
	q := sms.Query{State: sms.State(f.state), Broken: f.broken, Suffix: f.number, Cursor: f.cursor, Limit: f.n}
	if f.newer > 0 {
		q.Since = now.Add(-f.newer)
	}
	if f.older > 0 {
		q.Before = now.Add(-f.older)
	}
	return q
}

func (f *listFlags) check() error {
	if f.n < 1 || f.n > sms.MaxPage {
		return exit.Usagef("sms list: -n is %d, must be 1 to %d", f.n, sms.MaxPage)
	}
	if f.newer < 0 || f.older < 0 {
		return exit.Usagef("sms list: --newer or --older is negative, must be a duration such as 24h")
	}
	if f.state == "" {
		return nil
	}
	if f.broken {
		return exit.Usagef("sms list: --state and --broken, give one of them")
	}
	if _, err := sms.ParseState(f.state); err != nil {
		return exit.Usagef("sms list: --%w", err)
	}
	return nil
}

func smsList(ctx context.Context, w io.Writer, o *sms.Outbox, f listFlags) error {
	page, err := f.page(ctx, o)
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
		return terminal.PrintJSON(w, smsReportOf(counts, pause, page))
	}
	if err := printMessages(w, page.Records); err != nil {
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
		fmt.Fprintf(w, "the gateway is paused until %s: %s\n", pause.Until.Format("2006-01-02 15:04:05"), terminal.Printable(pause.Reason))
	}
	if counts.Delivered+counts.Undelivered > 0 {
		fmt.Fprintf(w, "%d delivered, %d undelivered, by their receipts\n", counts.Delivered, counts.Undelivered)
	}
	if page.Next != "" {
		fmt.Fprintf(w, "there are more: --cursor %s\n", terminal.Printable(page.Next))
	}
	_, err = fmt.Fprintf(w, "%d queued (%d due), %d taken, %d failed, %d sent (%d maybe more than once)\n",
		counts.Queued, counts.Due, counts.Taken, counts.Failed, counts.Sent, counts.Repeated)
	return err
}

// page reads further pages of the outbox if a filter matches so few messages that a page is not
// full.
func (f *listFlags) page(ctx context.Context, o *sms.Outbox) (sms.Page, error) {
	q := f.query(time.Now())
	var all sms.Page
	for {
		page, err := o.Page(ctx, q)
		if _, ok := errors.AsType[*sms.FieldError](err); ok {
			return all, exit.Usage(err)
		}
		all.Records, all.Next = append(all.Records, page.Records...), page.Next
		if err != nil || page.Next == "" || len(all.Records) == f.n {
			return all, err
		}
		q.Cursor, q.Limit = page.Next, f.n-len(all.Records)
	}
}

func printMessages(w io.Writer, records []sms.Record) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if len(records) > 0 {
		fmt.Fprintln(table, "ID\tTO\tSTATE\tDUE, UTC\tTRIED\tSENT\tREMARK")
	}
	for i := range records {
		r := &records[i]
		if r.Broken != "" {
			terminal.PrintRow(table, r.Message.ID, sms.Mask(r.Message.To), "broken", "-", "-", "-", r.Broken)
			continue
		}
		terminal.PrintRow(table, r.Message.ID, sms.Mask(r.Message.To), r.State,
			r.Due.UTC().Format("2006-01-02 15:04:05"), r.Attempts, r.Sends, terminal.Dash(r.Reason))
	}
	return table.Flush()
}

// A Report is the JSON of a page of the outbox.
type Report struct {
	Counts   sms.Counts  `json:"counts"`
	Gateway  *sms.Pause  `json:"gateway_paused,omitempty"`
	Messages []smsRecord `json:"messages"`
	Next     string      `json:"next,omitempty"`
}

// smsRecord is the JSON of a message, with a masked recipient and without its text.
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

	Until *time.Time `json:"until,omitempty"`
}

func smsReportOf(counts sms.Counts, pause sms.Pause, page sms.Page) Report {
	out := Report{Counts: counts, Messages: []smsRecord{}, Next: page.Next}
	if pause.Pauses > 0 {
		out.Gateway = &pause
	}
	for i := range page.Records {
		out.Messages = append(out.Messages, smsRecordOf(&page.Records[i]))
	}
	return out
}

func smsRecordOf(r *sms.Record) smsRecord {
	out := smsRecord{ID: r.Message.ID, To: sms.Mask(r.Message.To), State: r.State, Due: r.Due, Attempts: r.Attempts, Sends: r.Sends,
		Run: r.Run, Fence: r.Fence, Changed: r.Changed, Reason: r.Reason, Broken: r.Broken}
	if !r.Message.Until.IsZero() {
		out.Until = &r.Message.Until
	}
	return out
}
