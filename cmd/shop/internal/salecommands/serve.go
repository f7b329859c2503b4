// Package salecommands has the commands that serve, restore and compare a sale, one file for each.
package salecommands

import (
	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/internal/command"
	"github.com/cronce/cronce/cmd/shop/internal/settings"
	"github.com/cronce/cronce/cmd/shop/internal/shop"
)

// ServeCommand is the command serve.
func ServeCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve a sale over HTTP, and run its jobs",
		Long: "Serve a sale over HTTP, and run its jobs (settleOrders, releaseExpired, reconcile; with the sections of\n" +
			"the file also deliverEvents and sendSms) as a node of the cluster, until SIGTERM, SIGINT or SIGHUP; then\n" +
			"finish the current requests. Any number may run side by side. Without a file, orders go to the SQLite\n" +
			"database " + settings.DefaultDatabase + " in this folder; another database is named by its DSN in $" + settings.DSNEnv + ", which is\n" +
			"never a flag.\n\n" +
			"See docs/stock.md and docs/sms.md.",
		Example: "  shop serve\n  shop serve --config shop.yaml --address 127.0.0.1:9000",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f, err := settings.Read(cmd)
			if err != nil {
				return err
			}
			ctx, stop := command.WithSignals(cmd.Context())
			defer stop()
			return shop.Serve(ctx, f, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	settings.Flags(cmd)
	return cmd
}
