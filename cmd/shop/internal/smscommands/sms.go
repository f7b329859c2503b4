// Package smscommands has the commands below sms, one file for each: the actions of an operator on
// the outbox of messages.
package smscommands

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/internal/clients"
	"github.com/cronce/cronce/cmd/internal/command"
	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/cmd/shop/internal/settings"
	"github.com/cronce/cronce/jobs/sms"
)

// Command is the command sms, with those below it.
func Command() *cobra.Command {
	return command.Group("sms", "Put messages into the outbox, and list and retry them",
		sendCommand(), listCommand(), getCommand(), retryCommand(), forgetCommand())
}

// timeout bounds a command.
const timeout = 2 * time.Minute

// withOutbox calls f with the outbox of the namespace.
func withOutbox(cmd *cobra.Command, f func(ctx context.Context, o *sms.Outbox) error) error {
	file, err := settings.Read(cmd)
	if err != nil {
		return err
	}
	client, err := clients.Redis(&file.Config)
	if err != nil {
		return err
	}
	defer client.Close()
	o, err := sms.NewOutbox(client, sms.Options{Namespace: file.Namespace})
	if err != nil {
		return exit.Usage(err)
	}
	ctx, stop := context.WithTimeout(cmd.Context(), timeout)
	defer stop()
	if err := f(ctx, o); err != nil {
		return fmt.Errorf("%s: %w", file.RedisName(), err)
	}
	return nil
}
