// Package smscommands has the commands below sms, one file for each: the actions of an operator on
// the outbox of messages.
package smscommands

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/cronce/internal/clients"
	"github.com/cronce/cronce/cmd/cronce/internal/command"
	"github.com/cronce/cronce/cmd/cronce/internal/exit"
	"github.com/cronce/cronce/jobs/sms"
)

// Command is the command sms, with those below it.
func Command() *cobra.Command {
	return command.Group("sms", "Put messages into the outbox, and list and retry them",
		sendCommand(), listCommand(), getCommand(), retryCommand(), forgetCommand())
}

// withOutbox calls f with the outbox of the namespace.
func withOutbox(cmd *cobra.Command, f func(ctx context.Context, o *sms.Outbox) error) error {
	return clients.WithStore(cmd, func(ctx context.Context, s *clients.Store) error {
		o, err := sms.NewOutbox(s.Client, sms.Options{Namespace: s.Config.Namespace})
		if err != nil {
			return exit.Usage(err)
		}
		if err := f(ctx, o); err != nil {
			return fmt.Errorf("%s: %w", s.Config.RedisName(), err)
		}
		return nil
	})
}
