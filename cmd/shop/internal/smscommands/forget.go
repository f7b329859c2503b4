package smscommands

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/cmd/internal/terminal"
	"github.com/cronce/cronce/cmd/shop/internal/settings"
	"github.com/cronce/cronce/jobs/sms"
)

func forgetCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "forget NUMBER|PERSON",
		Short: "Delete all messages of a person, and print how many were deleted",
		Long: "Delete all messages of a person, in every state, and print how many were deleted. The argument is the phone\n" +
			"number, or the value of sms send --person. Their ids are deleted as well: a message with such an id\n" +
			"is new again. Exit code 3: a run has some of the messages, repeat the command.",
		Example: "  shop sms forget +12025550123",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return exit.Usagef("sms forget: got %s, want one number or person", terminal.Plural(len(args), "argument"))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return withOutbox(cmd, func(ctx context.Context, o *sms.Outbox) error {
				f, err := o.Forget(ctx, args[0])
				if _, ok := errors.AsType[*sms.FieldError](err); ok {
					return exit.Usage(err)
				}
				if err == nil || f.Deleted > 0 { // otherwise none may be deleted, or some
					fmt.Fprintf(cmd.OutOrStdout(), "%s deleted\n", terminal.Plural(f.Deleted, "message"))
				}
				if err == nil && f.Busy > 0 {
					err = exit.With(exit.Refused, fmt.Errorf("%s being sent: repeat the command", terminal.Plural(f.Busy, "message")))
				}
				return err
			})
		},
	}
	settings.StoreFlags(cmd)
	return cmd
}
