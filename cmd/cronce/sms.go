package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/jobs/sms"
)

func smsCommand() *cobra.Command {
	return group("sms", "Put messages into the outbox and see what became of them",
		smsSendCommand(), smsImportCommand(), smsListCommand(), smsGetCommand(), smsRetryCommand(), smsCancelCommand(), smsForgetCommand())
}

// withOutbox lets f use the outbox of the namespace.
func withOutbox(cmd *cobra.Command, f func(ctx context.Context, o *sms.Outbox) error) error {
	return withStore(cmd, func(ctx context.Context, s *store) error {
		o, err := sms.NewOutbox(s.client, sms.Options{Namespace: s.config.Namespace})
		if err != nil {
			return &usageError{err}
		}
		if err := f(ctx, o); err != nil {
			return fmt.Errorf("%s: %w", s.config.RedisName(), err)
		}
		return nil
	})
}
