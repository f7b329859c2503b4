package shopcommands

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/cronce/internal/clients"
	"github.com/cronce/cronce/cmd/cronce/internal/command"
	"github.com/cronce/cronce/cmd/cronce/internal/config"
	"github.com/cronce/cronce/cmd/cronce/internal/exit"
	"github.com/cronce/cronce/cmd/cronce/internal/shop"
	"github.com/cronce/cronce/jobs/stock"
)

// withSale calls f with the sale of a configuration, and gives its error an exit code.
func withSale(cmd *cobra.Command, f func(ctx context.Context, s *stock.Sale) error) error {
	return withOpenSale(cmd, func(ctx context.Context, s *stock.Sale) error { return saleFailed(f(ctx, s)) })
}

// withOpenSale calls f with the sale of a configuration, and returns its error.
func withOpenSale(cmd *cobra.Command, f func(ctx context.Context, s *stock.Sale) error) error {
	return WithClient(cmd, func(ctx context.Context, c *config.Config, client redis.UniversalClient) error {
		opened, err := shop.Open(c, client, false)
		if err != nil {
			return err
		}
		defer opened.Close()
		return f(ctx, opened.Sale)
	})
}

// WithClient calls f with the configuration of a shop and a client of its store, until a signal
// ends ctx, and returns its error.
func WithClient(cmd *cobra.Command, f func(ctx context.Context, c *config.Config, client redis.UniversalClient) error) error {
	c, err := loadShopConfig(cmd)
	if err != nil {
		return err
	}
	client, err := clients.Redis(c)
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, stop := command.WithSignals(cmd.Context())
	defer stop()
	return f(ctx, c, client)
}

// saleFailed gives an error of a sale its exit code: refused by state, wrong usage, or else doubt.
func saleFailed(err error) error {
	_, field := errors.AsType[*stock.FieldError](err)
	switch {
	case err == nil, exit.HasCode(err):
		return err
	case field:
		return exit.Usage(err)
	}
	if errors.Is(err, stock.ErrForeign) {
		return exit.With(exit.Refused, err)
	}
	return exit.Doubt(err)
}
