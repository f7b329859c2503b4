package salecommands

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronce/cronce/cmd/internal/clients"
	"github.com/cronce/cronce/cmd/internal/command"
	"github.com/cronce/cronce/cmd/internal/exit"
	"github.com/cronce/cronce/cmd/shop/internal/settings"
	"github.com/cronce/cronce/cmd/shop/internal/shop"
	"github.com/cronce/cronce/jobs/stock"
)

// withSale calls f with the sale of a configuration, and gives its error an exit code.
func withSale(cmd *cobra.Command, f func(ctx context.Context, s *stock.Sale) error) error {
	return withOpenSale(cmd, func(ctx context.Context, s *stock.Sale) error { return saleFailed(f(ctx, s)) })
}

// withOpenSale calls f with the sale of a configuration, until a signal ends ctx, and returns its error.
func withOpenSale(cmd *cobra.Command, f func(ctx context.Context, s *stock.Sale) error) error {
	file, err := settings.Read(cmd)
	if err != nil {
		return err
	}
	client, err := clients.Redis(&file.Config)
	if err != nil {
		return err
	}
	defer client.Close()
	opened, err := shop.Open(file, client, false)
	if err != nil {
		return err
	}
	defer opened.Close()
	ctx, stop := command.WithSignals(cmd.Context())
	defer stop()
	if err := answers(ctx, opened.Ping); err != nil {
		return exit.Doubt(err)
	}
	return f(ctx, opened.Sale)
}

// firstAnswerTime bounds the first answer of the database.
const firstAnswerTime = 10 * time.Second

// answers fails if the database does not answer ping in time. A server that is stopped accepts connections and does not
// reply; a rebuild has no bound of its own, because a large one takes minutes.
func answers(ctx context.Context, ping func(context.Context) error) error {
	limited, stop := context.WithTimeout(ctx, firstAnswerTime)
	defer stop()
	err := ping(limited)
	switch {
	case err == nil:
		return nil
	case limited.Err() != nil && ctx.Err() == nil:
		return fmt.Errorf("shop.database: no answer within %v: %w", firstAnswerTime, err)
	}
	return fmt.Errorf("shop.database: %w", err)
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
