// Package shopcommands has the command shop and the commands below it, one file for each: the
// actions of an operator on a sale.
package shopcommands

import (
	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/cronce/internal/command"
	"github.com/cronce/cronce/cmd/cronce/internal/config"
	"github.com/cronce/cronce/cmd/cronce/internal/node"
)

// Command is the command shop, with those below it.
func Command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "shop",
		Short: "Serve a sale over HTTP, and run its jobs",
		Long: "Serve a sale over HTTP, and run its jobs (settleOrders, releaseExpired, reconcile) as a\n" +
			"node of the cluster, until SIGTERM, SIGINT or SIGHUP; then finish the current requests. Any number may\n" +
			"run side by side. Without a file, orders go to the SQLite database " + config.DefaultDatabase + " in this\n" +
			"folder; another database is named by its DSN in $" + config.DSNEnv + ", which is never a flag.\n\n" +
			"See docs/stock.md.",
		Example: "  cronce shop\n  cronce shop --config config.yaml --address 127.0.0.1:9000",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := loadShopConfig(cmd)
			if err != nil {
				return err
			}
			ctx, stop := command.WithSignals(cmd.Context())
			defer stop()
			return node.Run(ctx, c, node.Flags{}, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	command.ConfigFlags(cmd, config.ShopOverrides)
	cmd.AddCommand(restoreCommand(), reconcileCommand())
	return cmd
}

// loadShopConfig reads the configuration of a node with the shop alone.
func loadShopConfig(cmd *cobra.Command) (*config.Config, error) {
	c, err := command.ReadConfigThen(cmd, config.ShopOverrides, (*config.Config).OnlyShop)
	return node.Checked(cmd, c, err)
}
