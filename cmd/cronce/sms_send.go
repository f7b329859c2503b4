package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/cronce/cronce/jobs/sms"
)

type sendFlags struct{ to, text, at, id, zone string }

func smsSendCommand() *cobra.Command {
	var f sendFlags
	cmd := &cobra.Command{
		Use:     "send",
		Short:   "Put one message into the outbox",
		Example: `  cronce sms send --to +12025550123 --text "See you soon" --at 2026-12-24T18:00:00Z`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			m, err := f.message()
			if err != nil {
				return &usageError{fmt.Errorf("sms send:\n%w", err)}
			}
			return withOutbox(cmd, func(ctx context.Context, o *sms.Outbox) error { return smsSend(ctx, cmd.OutOrStdout(), o, m) })
		},
	}
	configFlags(cmd, storeOverrides)
	cmd.Flags().StringVar(&f.to, "to", "", "the recipient: + and 8 to 15 digits")
	cmd.Flags().StringVar(&f.text, "text", "", "the text, up to 1000 characters")
	cmd.Flags().StringVar(&f.at, "at", "", `when it is due: RFC 3339, or "2026-12-24 18:00:00" in the zone (default at once)`)
	cmd.Flags().StringVar(&f.id, "id", "", "its identity: the same id is accepted once (default a fresh one)")
	cmd.Flags().StringVar(&f.zone, "tz", "UTC", "zone of --at")
	return cmd
}

func smsSend(ctx context.Context, w io.Writer, o *sms.Outbox, m sms.Message) error {
	fresh, err := o.Accept(ctx, m)
	if err != nil {
		return err
	}
	said := "accepted"
	if !fresh {
		said = "known already, nothing changed:"
	}
	_, err = fmt.Fprintln(w, said, printable(m.String()))
	return err
}

// message reads the flags, and refuses what the outbox would.
func (f *sendFlags) message() (sms.Message, error) {
	zone, err := parseZone(f.zone)
	if err != nil {
		return sms.Message{}, fmt.Errorf("--tz %w", err)
	}
	at, err := sms.ParseTime(f.at, zone)
	if err != nil {
		return sms.Message{}, err
	}
	id := f.id
	if id == "" {
		id = uuid.Must(uuid.NewV7()).String()
	}
	m := sms.Message{ID: id, To: f.to, Text: f.text, At: at.Truncate(time.Millisecond)}
	return m, m.Validate()
}
