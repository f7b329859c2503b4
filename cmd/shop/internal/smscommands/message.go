package smscommands

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/internal/command"
	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/cmd/internal/terminal"
	"github.com/cronce/cronce/cmd/shop/internal/settings"
	"github.com/cronce/cronce/jobs/sms"
)

func getCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:     "get ID",
		Short:   "Show one message, its recipient masked",
		Example: "  shop sms get order-17",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return exit.Usagef("sms get: got %s, want one message's id", terminal.Plural(len(args), "argument"))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return withOutbox(cmd, func(ctx context.Context, o *sms.Outbox) error {
				r, err := o.Get(ctx, args[0])
				if err != nil {
					return err
				}
				return smsShow(cmd.OutOrStdout(), &r, output)
			})
		},
	}
	settings.StoreFlags(cmd)
	command.OutputFlag(cmd, &output)
	return cmd
}

func smsShow(w io.Writer, r *sms.Record, output string) error {
	var err error
	if output == command.OutputJSON {
		err = terminal.PrintJSON(w, smsRecordOf(r))
	} else {
		err = printMessages(w, []sms.Record{*r})
	}
	if err == nil && r.State == sms.Broken {
		return exit.Printed(exit.Failed, "the message cannot be read")
	}
	return err
}

func retryCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "retry ID…",
		Short: "Queue failed messages again",
		Long: "Queue failed messages again, until the first that cannot be queued. A message that waits after a refusal\n" +
			"becomes due at once. Exit code 3: a run has it, it was sent, has expired, or cannot be read.",
		Example: "  shop sms retry order-17\n  shop sms list --state failed -o json | jq -r '.messages[].id' | xargs shop sms retry",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return exit.Usagef("sms retry: got 0 arguments, want the ids of messages")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return withOutbox(cmd, func(ctx context.Context, o *sms.Outbox) error {
				for _, id := range args {
					err := o.Retry(ctx, id)
					if errors.Is(err, sms.ErrState) {
						return exit.With(exit.Refused, err)
					}
					if err == nil {
						_, err = fmt.Fprintf(cmd.OutOrStdout(), "queued message %q\n", id)
					}
					if err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	settings.StoreFlags(cmd)
	return cmd
}
