package smscommands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/internal/boundedfile"
	"github.com/cronce/cronce/cmd/internal/command"
	"github.com/cronce/cronce/cmd/internal/config"
	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/cmd/internal/terminal"
	"github.com/cronce/cronce/cmd/shop/internal/settings"
	"github.com/cronce/cronce/jobs/sms"
)

type sendFlags struct{ to, text, at, until, id, person, zone, textFile string }

func sendCommand() *cobra.Command {
	var f sendFlags
	cmd := &cobra.Command{
		Use:     "send",
		Short:   "Put one message into the outbox",
		Example: `  shop sms send --to +12025550123 --text "See you soon" --at 2026-12-24T18:00:00Z`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			m, err := f.message(cmd.InOrStdin())
			if err != nil {
				return exit.Usagef("sms send:\n%w", err)
			}
			return withOutbox(cmd, func(ctx context.Context, o *sms.Outbox) error { return smsSend(ctx, cmd.OutOrStdout(), o, m) })
		},
	}
	settings.StoreFlags(cmd)
	cmd.Flags().StringVar(&f.to, "to", "", "the recipient: + and 8 to 15 digits")
	cmd.Flags().StringVar(&f.text, "text", "", "the text, up to 1000 characters; - reads it from standard input")
	cmd.Flags().StringVar(&f.textFile, "text-file", "", "a file with the text; one line break at its end is not part of it")
	cmd.Flags().StringVar(&f.at, "at", "", `when it is due: RFC 3339, or "2026-12-24 18:00:00" in the zone (default at once)`)
	cmd.Flags().StringVar(&f.id, "id", "", "its identity: the same id is accepted once (default a fresh one)")
	cmd.Flags().StringVar(&f.zone, "tz", "UTC", "zone of --at and --until")
	cmd.Flags().StringVar(&f.until, "until", "", "when it expires: it is not sent from then on (default never)")
	cmd.Flags().StringVar(&f.person, "person", "", "the person that it is for, so that sms forget finds it")
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
	_, err = fmt.Fprintln(w, said, terminal.Printable(m.String()))
	return err
}

// message builds the message from the flags, and refuses a message that the outbox would refuse.
func (f *sendFlags) message(in io.Reader) (sms.Message, error) {
	text, err := f.read(in)
	if err != nil {
		return sms.Message{}, err
	}
	zone, err := config.ParseZone(f.zone)
	if err != nil {
		return sms.Message{}, fmt.Errorf("--tz %w", err)
	}
	at, atErr := parseTime("at", f.at, zone)
	until, untilErr := parseTime("until", f.until, zone)
	if err := errors.Join(atErr, untilErr); err != nil {
		return sms.Message{}, err
	}
	id := f.id
	if id == "" {
		id = uuid.Must(uuid.NewV7()).String()
	}
	m := sms.Message{ID: id, To: f.to, Text: text, At: at.Truncate(time.Millisecond), Until: until.Truncate(time.Millisecond), Person: f.person}
	return m, m.Validate()
}

// read returns the text, from the flag, a file or standard input.
func (f *sendFlags) read(in io.Reader) (string, error) {
	const most = 4*sms.MaxText + 2 // bytes, with the line break
	var text []byte
	var err error
	switch {
	case f.textFile != "" && f.text != "":
		return "", errors.New("--text and --text-file are both set, give one of them")
	case f.textFile != "":
		text, err = boundedfile.Read(f.textFile, most)
	case f.text == "-":
		text, err = io.ReadAll(io.LimitReader(in, most+1))
	default:
		return f.text, nil
	}
	if err != nil {
		return "", fmt.Errorf("text: %w", err)
	}
	line, _ := strings.CutSuffix(string(text), "\n")
	return strings.TrimSuffix(strings.ReplaceAll(line, "\r\n", "\n"), "\r"), nil
}

// parseTime parses the time of a flag; empty is the zero time.
func parseTime(flag, text string, zone *time.Location) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	at, err := command.ParseTime(text, zone)
	if err != nil {
		err = fmt.Errorf("--%s %w", flag, err)
	}
	return at, err
}
