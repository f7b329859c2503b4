package smscommands

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/cronce/internal/command"
	"github.com/cronce/cronce/cmd/cronce/internal/config"
	"github.com/cronce/cronce/cmd/cronce/internal/exit"
	"github.com/cronce/cronce/cmd/cronce/internal/terminal"
	"github.com/cronce/cronce/jobs/sms"
)

func getCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "get ID",
		Short: "Show one message, its recipient masked",
		Args:  oneMessage("get"),
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
	command.ConfigFlags(cmd, config.StoreOverrides)
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
	if err == nil && r.Broken != "" {
		return exit.Printed(exit.Failed, "the message cannot be read")
	}
	return err
}

func retryCommand() *cobra.Command {
	var failed bool
	cmd := &cobra.Command{
		Use:   "retry ID | --failed",
		Short: "Queue a message again that failed or was cancelled, or all that failed",
		Long: "Queue a message again that failed or was cancelled, or all that failed. One that waits after\n" +
			"a refusal is due at once. Exit code 3: a run has it, it was sent, has expired, or cannot be read.",
		Args: func(cmd *cobra.Command, args []string) error {
			if failed && len(args) > 0 {
				return exit.Usagef("sms retry: an id and --failed, give one of them")
			}
			if failed {
				return nil
			}
			return oneMessage("retry")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return withOutbox(cmd, func(ctx context.Context, o *sms.Outbox) error {
				if !failed {
					return smsAmended(cmd.OutOrStdout(), "queued", args[0], o.Retry(ctx, args[0]))
				}
				n, err := o.RetryFailed(ctx)
				fmt.Fprintf(cmd.OutOrStdout(), "%d messages queued again\n", n)
				return err
			})
		},
	}
	command.ConfigFlags(cmd, config.StoreOverrides)
	cmd.Flags().BoolVar(&failed, "failed", false, "all messages that failed")
	return cmd
}

func cancelCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cancel ID",
		Short: "End a message that waits, has failed, or was put aside: it is not sent",
		Long:  "End a message that waits, has failed, or was put aside: it is not sent.\nExit code 3: a run has it, it was sent, or it has expired.",
		Args:  oneMessage("cancel"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return withOutbox(cmd, func(ctx context.Context, o *sms.Outbox) error {
				return smsAmended(cmd.OutOrStdout(), "cancelled", args[0], o.Cancel(ctx, args[0]))
			})
		},
	}
	command.ConfigFlags(cmd, config.StoreOverrides)
	return cmd
}

// smsAmended prints the result, or gives a refusal by the message's state its exit code.
func smsAmended(w io.Writer, done, id string, err error) error {
	if errors.Is(err, sms.ErrState) {
		return exit.With(exit.Refused, err)
	}
	if err == nil {
		_, err = fmt.Fprintf(w, "%s message %q\n", done, id)
	}
	return err
}

func oneMessage(command string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return exit.Usagef("sms %s: got %d arguments, want one message's id", command, len(args))
		}
		return nil
	}
}
